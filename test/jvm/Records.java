import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Encodes samples of every record type in every version, and prints them as Kafka's own JSON.
 *
 *   java Records make VERSION OUT.jsonl
 *   java Records merge OUT.jsonl NEWEST.jsonl OLDER.jsonl ...
 */
public class Records {
    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "make" -> Json.writeLines(Path.of(args[2]), make(args[1]));
            case "merge" -> Json.writeLines(Path.of(args[1]), merge(List.of(args).subList(2, args.length)));
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static List<ObjectNode> make(String kafka) throws Exception {
        List<ObjectNode> lines = new ArrayList<>();
        for (RecordType t : RecordType.all())
            for (short v = t.lowest(); v <= t.highest(); v++) {
                for (Sample.Sort sort : Sample.sorts()) {
                    ObjectNode line = line(kafka, t, v, sort);
                    if (line != null) lines.add(line);
                }
                if (t.key() != null && v == t.lowest()) lines.add(tombstone(kafka, t));
            }
        return lines;
    }

    private static ObjectNode start(String kafka, RecordType t, int version, String instance) {
        return Json.object().put("kafka", kafka).put("kind", t.kind()).put("name", t.name()).put("apiKey", t.id()).put("version", version).put("instance", instance);
    }

    /** Returns null for a sort that this version cannot have, or that it would encode like another. */
    private static ObjectNode line(String kafka, RecordType t, short version, Sample.Sort sort) throws Exception {
        Sample sample = new Sample(sort);
        ApiMessage m = sample.message(t.value(), t.schema(version));
        if (sort == Sample.Sort.NULLS && !sample.sawNullable()) return null;
        if (sort == Sample.Sort.UNKNOWN_TAG) {
            if (!sample.sawFlexible()) return null;
            m.unknownTaggedFields().add(new RawTaggedField(1000, new byte[]{1, 2, 3}));
            m.unknownTaggedFields().add(new RawTaggedField(1001, new byte[0]));
        }
        ObjectNode out = start(kafka, t, version, sort.name().toLowerCase(Locale.ROOT));
        out.set("json", json(m, version));
        encode(out, t, m, version, sample);
        if (sort != Sample.Sort.DEFAULT) requireSame(m, decode(t.value(), body(m, version), version));
        return out;
    }

    private static void encode(ObjectNode out, RecordType t, ApiMessage m, short version, Sample sample) throws Exception {
        switch (t.kind()) {
            case "metadata" -> out.put("hex", Json.hex(metadataFrame(m, version)));
            case "control" -> {
                out.put("keyHex", Json.hex(ByteBuffer.allocate(4).putShort((short) 0).putShort((short) t.id()).array()));
                // The raft records hold their version as a field; a transaction marker has it in front.
                out.put("hex", Json.hex(t.name().equals("EndTxnMarker") ? MessageUtil.toVersionPrefixedBytes(version, m) : body(m, version)));
            }
            case "consumer_protocol" -> out.put("hex", Json.hex(MessageUtil.toVersionPrefixedBytes(version, m)));
            default -> {
                putKey(out, t, new Sample(sample.sort()));
                out.put("hex", Json.hex(MessageUtil.toVersionPrefixedBytes(version, m)));
            }
        }
    }

    private static void putKey(ObjectNode out, RecordType t, Sample sample) throws Exception {
        ApiMessage key = sample.message(t.key(), t.keySchema());
        byte[] bytes = keyBytes(t, key);
        if (ByteBuffer.wrap(bytes).getShort() != t.id()) throw new IllegalStateException("prefix of the key of " + t);
        out.set("key", json(key, (short) t.keyVersion()));
        out.put("keyHex", Json.hex(bytes));
    }

    private static ObjectNode tombstone(String kafka, RecordType t) throws Exception {
        ObjectNode out = start(kafka, t, -1, "tombstone").putNull("json");
        putKey(out, t, new Sample(Sample.Sort.TYPICAL));
        return out.putNull("hex");
    }

    private static byte[] keyBytes(RecordType t, ApiMessage key) throws Exception {
        try {
            return (byte[]) MessageUtil.class.getMethod("toCoordinatorTypePrefixedBytes", ApiMessage.class).invoke(null, key);
        } catch (NoSuchMethodException e) { // before 4.1 the version is the type
            return MessageUtil.toVersionPrefixedBytes((short) t.keyVersion(), key);
        }
    }

    private static byte[] body(Message m, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer out = ByteBuffer.allocate(m.size(cache, version));
        m.write(new ByteBufferAccessor(out), cache, version);
        return out.array();
    }

    private static byte[] metadataFrame(ApiMessage m, short version) {
        ApiMessageAndVersion record = new ApiMessageAndVersion(m, version);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer out = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(record, cache));
        MetadataRecordSerde.INSTANCE.write(record, cache, new ByteBufferAccessor(out));
        requireSame(record, MetadataRecordSerde.INSTANCE.read(new ByteBufferAccessor(ByteBuffer.wrap(out.array())), out.capacity()));
        return out.array();
    }

    private static Message decode(Class<?> message, byte[] body, short version) throws Exception {
        Message m = MessageClass.create(message);
        m.read(new ByteBufferAccessor(ByteBuffer.wrap(body)), version);
        return m;
    }

    private static void requireSame(Object want, Object got) {
        if (!want.equals(got)) throw new IllegalStateException("reads back as " + got + ", was " + want);
    }

    private static JsonNode json(ApiMessage m, short version) throws Exception {
        Class<?> converter = Class.forName(m.getClass().getName() + "JsonConverter");
        return (JsonNode) converter.getMethod("write", m.getClass(), short.class, boolean.class).invoke(null, m, version, true);
    }

    /** Keeps the newest release's lines, and of each older one those whose bytes no newer one has; "also" names the rest. */
    private static Iterable<ObjectNode> merge(List<String> files) throws Exception {
        Map<String, ObjectNode> kept = new LinkedHashMap<>();
        for (String file : files)
            for (ObjectNode line : Json.readLines(Path.of(file))) {
                ObjectNode newer = kept.putIfAbsent(identity(line), line);
                if (newer == null) line.putArray("also");
                else ((ArrayNode) newer.get("also")).add(line.get("kafka"));
            }
        System.out.println(kept.size() + " records");
        return kept.values();
    }

    private static String identity(ObjectNode line) {
        String name = line.get("name").asText();
        if (name.startsWith("Legacy")) name = name.substring("Legacy".length()); // type 0 got a name of its own in 4.1
        return String.join("/", line.get("kind").asText(), name, line.get("apiKey").asText(), line.get("version").asText(), line.get("instance").asText(),
            String.valueOf(line.get("keyHex")), String.valueOf(line.get("hex")));
    }
}
