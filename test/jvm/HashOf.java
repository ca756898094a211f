import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;

/**
 * Says what a release's own classes compute for topics, one answer line a request line, until the input ends. For 4.1 and newer.
 *
 *   topic NAME ID RACKS...     the topic's hash. RACKS is an argument a partition, in the order of their ids: the racks of its
 *                              replicas in replica order, separated by commas; "-" for a replica without one, "." for a
 *                              partition without replicas
 *   group NAME=HASH...         the hash of a group of these topics
 *
 * Arguments are separated by one blank and may hold no other. An answer is a decimal number, or "error" and a text.
 */
public class HashOf {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                System.out.println(answer(line.split(" ")));
            } catch (Exception e) {
                System.out.println("error " + e);
            }
        }
    }

    private static long answer(String[] words) throws Exception {
        return switch (words[0]) {
            case "topic" -> topic(words);
            case "group" -> group(words);
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    /** Gives every replica a broker of its own, so that each can have any rack. */
    private static long topic(String[] words) throws Exception {
        List<TopicCase.Broker> brokers = new ArrayList<>();
        List<TopicCase.Partition> partitions = new ArrayList<>();
        for (int i = 3; i < words.length; i++) {
            String[] racks = words[i].equals(".") ? new String[0] : words[i].split(",", -1);
            int[] replicas = new int[racks.length];
            for (int r = 0; r < racks.length; r++) {
                replicas[r] = brokers.size();
                brokers.add(new TopicCase.Broker(brokers.size(), racks[r].equals("-") ? null : racks[r]));
            }
            partitions.add(new TopicCase.Partition(i - 3, replicas));
        }
        return Hashes.topic(words[1], new TopicCase("", brokers, words[1], Uuid.fromString(words[2]), partitions, words[1]).image());
    }

    private static long group(String[] words) throws Exception {
        Map<String, Long> topics = new TreeMap<>();
        for (int i = 1; i < words.length; i++) {
            int at = words[i].lastIndexOf('=');
            topics.put(words[i].substring(0, at), Long.parseLong(words[i].substring(at + 1)));
        }
        return Hashes.group(topics);
    }
}
