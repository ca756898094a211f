import com.dynatrace.hash4j.hashing.Hashing;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The topic and group hashes that a release computes.
 *
 *   java TopicHashes TOPICS_OUT.jsonl GROUPS_OUT.jsonl
 */
public class TopicHashes {
    /** Longer streams are not printed. */
    static final int MOST_PRINTED = 700;

    public static void main(String[] args) throws Exception {
        Map<String, Long> hashes = new LinkedHashMap<>();
        List<ObjectNode> topics = new ArrayList<>();
        for (TopicCase c : TopicCases.all()) topics.add(topic(c, hashes));
        Json.writeLines(Path.of(args[0]), topics);
        List<ObjectNode> groups = new ArrayList<>();
        for (var c : GroupCases.all(hashes).entrySet()) groups.add(group(c.getKey(), c.getValue()));
        Json.writeLines(Path.of(args[1]), groups);
        System.out.println(topics.size() + " topics, " + groups.size() + " groups");
    }

    private static ObjectNode topic(TopicCase c, Map<String, Long> hashes) {
        ObjectNode out = c.json();
        long hash;
        try {
            hash = Hashes.topic(c.lookup(), c.image());
        } catch (Exception e) { // Kafka does not expect gaps between partition ids
            return out.putNull("hash").put("fails", true);
        }
        hashes.put(c.name(), hash);
        out.put("hash", hash);
        if (c.exists()) {
            byte[] stream = c.stream();
            if (Hashing.xxh3_64().hashBytesToLong(stream) != hash) throw new IllegalStateException("the stream of " + c.name() + " has another hash");
            putStream(out, stream);
        }
        return out;
    }

    static void putStream(ObjectNode out, byte[] stream) {
        out.put("streamLength", stream.length);
        if (stream.length <= MOST_PRINTED) out.put("streamHex", Json.hex(stream));
    }

    private static ObjectNode group(String name, List<GroupCases.Topic> topics) throws Exception {
        ObjectNode out = Json.object().put("case", name);
        ArrayNode list = out.putArray("topics");
        Map<String, Long> hashes = new HashMap<>();
        for (GroupCases.Topic t : topics) {
            hashes.put(t.name(), t.hash());
            ObjectNode line = list.addObject().put("name", t.name()).put("hash", t.hash());
            if (t.topicCase() != null) line.put("topicCase", t.topicCase());
        }
        return out.put("hash", Hashes.group(hashes));
    }
}
