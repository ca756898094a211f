import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Formats the storage of several servers in one virtual machine: each start of one costs about a second.
 *
 *   java Format FILE     where each line of FILE holds the arguments of one "kafka-storage" call, separated by tabs
 */
public class Format {
    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            int exit = kafka.tools.StorageTool.execute(line.split("\t"), System.out);
            if (exit != 0) throw new IllegalStateException("exit " + exit + " of " + List.of(line.split("\t")));
        }
    }
}
