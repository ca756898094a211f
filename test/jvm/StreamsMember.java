import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;

/**
 * A member of a streams group (KIP-1071), told what to do on standard input: one answer line a request line.
 *
 *   java StreamsMember BOOTSTRAP GROUP CLIENT_ID STATE_DIR
 *
 *   set KEY VALUE             a property of the next start
 *   start pass OUT IN...      joins the group with a topology that copies its sources
 *   start count OUT IN...     the same with one that counts: it has a repartition topic and a changelog
 *   state                     what the client says of itself: REBALANCING, RUNNING and so on; NONE before the first start
 *   stop                      leaves the group
 *
 * When the input ends the program ends at once, as if it crashed: the group learns of it by the session timeout.
 */
public class StreamsMember {
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);

    private final Properties properties = new Properties();
    private KafkaStreams streams;

    private StreamsMember(String bootstrap, String group, String client, String stateDir) {
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, group);
        properties.put(StreamsConfig.CLIENT_ID_CONFIG, client);
        properties.put(StreamsConfig.STATE_DIR_CONFIG, stateDir);
        properties.put("group.protocol", "streams");
        properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
        properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.METADATA_MAX_AGE_CONFIG, 1000);
        properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1000);
        properties.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, -1); // the broker's default
    }

    public static void main(String[] args) throws Exception {
        StreamsMember member = new StreamsMember(args[0], args[1], args[2], args[3]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                System.out.println(member.answer(Arrays.asList(line.split(" "))));
            } catch (Exception e) {
                System.out.println("error " + e);
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private String answer(List<String> words) {
        switch (words.get(0)) {
            case "set" -> properties.put(words.get(1), words.get(2));
            case "start" -> start(words.get(1), words.get(2), words.subList(3, words.size()));
            case "stop" -> {
                if (!streams.close(CLOSE_TIMEOUT)) throw new IllegalStateException("not closed within " + CLOSE_TIMEOUT);
            }
            case "state" -> {
                return streams == null ? "NONE" : streams.state().name();
            }
            default -> throw new IllegalArgumentException(words.get(0));
        }
        return "ok";
    }

    private void start(String kind, String out, List<String> in) {
        streams = new KafkaStreams(topology(kind, out, in), properties);
        streams.start();
    }

    private static Topology topology(String kind, String out, List<String> in) {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> source = builder.stream(in);
        switch (kind) {
            case "pass" -> source.to(out);
            case "count" -> source.groupBy((key, value) -> value, Grouped.as("by-value")).count(Materialized.as("count"))
                .toStream().mapValues(String::valueOf).to(out);
            default -> throw new IllegalArgumentException(kind);
        }
        return builder.build();
    }
}
