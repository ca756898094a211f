import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;

/**
 * The topic and group hashes of the KIP-1101 text, which no release has, for what TopicHashes wrote.
 *
 *   java KipHashes TOPICS.jsonl GROUPS.jsonl TOPICS_OUT.jsonl GROUPS_OUT.jsonl
 */
public class KipHashes {
    public static void main(String[] args) throws Exception {
        Map<String, Long> hashes = new HashMap<>();
        List<ObjectNode> topics = Json.readLines(Path.of(args[0]));
        for (ObjectNode t : topics) hashes.put(t.get("case").asText(), topic(t));
        Json.writeLines(Path.of(args[2]), topics);
        List<ObjectNode> groups = Json.readLines(Path.of(args[1]));
        for (ObjectNode g : groups) group(g, hashes);
        Json.writeLines(Path.of(args[3]), groups);
    }

    private static long topic(ObjectNode t) {
        t.remove(List.of("hash", "fails", "streamLength", "streamHex"));
        if (!t.get("lookup").equals(t.get("name"))) { // no such topic
            t.put("hash", 0L);
            return 0;
        }
        Hasher hasher = Hashing.murmur3_128().newHasher();
        feed(t, new GuavaSink(hasher));
        long hash = hasher.hash().asLong();
        ByteSink bytes = new ByteSink();
        feed(t, bytes);
        byte[] stream = bytes.out.toByteArray();
        if (Hashing.murmur3_128().hashBytes(stream).asLong() != hash) throw new IllegalStateException("the stream of " + t.get("case") + " has another hash");
        t.put("hash", hash);
        TopicHashes.putStream(t, stream);
        return hash;
    }

    /** Each hash times its topic's position in the order of names, from 1. */
    private static void group(ObjectNode g, Map<String, Long> hashes) {
        TreeMap<String, Long> byName = new TreeMap<>();
        for (JsonNode t : g.get("topics")) {
            if (t.has("topicCase")) ((ObjectNode) t).put("hash", hashes.get(t.get("topicCase").asText()));
            byName.put(t.get("name").asText(), t.get("hash").asLong());
        }
        long sum = 0;
        long position = 0;
        for (long hash : byName.values()) sum += hash * ++position;
        g.put("hash", sum);
    }

    private static void feed(JsonNode t, Sink sink) {
        Map<Integer, String> racks = new HashMap<>();
        for (JsonNode b : t.get("brokers"))
            if (!b.get("unregistered").asBoolean() && !b.get("rack").isNull()) racks.put(b.get("id").asInt(), b.get("rack").asText());
        TreeMap<Integer, JsonNode> partitions = new TreeMap<>();
        for (JsonNode p : t.get("partitions")) partitions.put(p.get("id").asInt(), p.get("replicas"));
        sink.putByte(0);
        sink.putLong(Uuid.fromString(t.get("topicId").asText()).hashCode());
        sink.putText(t.get("name").asText());
        sink.putLong(partitions.size());
        for (var p : partitions.entrySet()) {
            sink.putInt(p.getKey());
            List<String> here = new ArrayList<>();
            for (JsonNode replica : p.getValue())
                if (racks.containsKey(replica.asInt())) here.add(racks.get(replica.asInt()));
            Collections.sort(here);
            here.forEach(sink::putText);
        }
    }

    private interface Sink {
        void putByte(int b);

        void putInt(int i);

        void putLong(long l);

        void putText(String s);
    }

    private record GuavaSink(Hasher hasher) implements Sink {
        public void putByte(int b) { hasher.putByte((byte) b); }

        public void putInt(int i) { hasher.putInt(i); }

        public void putLong(long l) { hasher.putLong(l); }

        public void putText(String s) { hasher.putString(s, StandardCharsets.UTF_8); }
    }

    /** The same as bytes: little-endian integers, bare UTF-8 text. */
    private static final class ByteSink implements Sink {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();

        private void put(long value, int bytes) {
            for (int i = 0; i < bytes; i++) out.write((int) (value >>> (8 * i)));
        }

        public void putByte(int b) { put(b, 1); }

        public void putInt(int i) { put(i, 4); }

        public void putLong(long l) { put(l, 8); }

        public void putText(String s) { out.writeBytes(s.getBytes(StandardCharsets.UTF_8)); }
    }
}
