import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Describes every record type of a release: the fields of each version in the order of the encoding, and the tagged ones.
 *
 *   java Schemas VERSION OUT.json
 */
public class Schemas {
    public static void main(String[] args) throws Exception {
        ObjectNode root = Json.object().put("kafka", args[0]);
        for (RecordType t : RecordType.all()) {
            if (!root.has(t.kind())) root.putArray(t.kind());
            describe(((ArrayNode) root.get(t.kind())).addObject(), t);
        }
        ArrayNode versions = root.putArray("metadataVersions");
        for (MetadataVersion v : MetadataVersion.values())
            versions.addObject().put("name", v.name()).put("level", v.featureLevel()).put("version", v.toString());
        root.put("latestProductionMetadataVersion", MetadataVersion.LATEST_PRODUCTION.name());
        Files.writeString(Path.of(args[1]), Json.pretty(root));
    }

    private static void describe(ObjectNode out, RecordType t) throws Exception {
        out.put("name", t.name());
        if (!t.enumName().isEmpty()) out.put("enum", t.enumName());
        out.put(t.kind().equals("control") ? "controlType" : "apiKey", t.id());
        out.put("lowest", t.lowest()).put("highest", t.highest());
        if (t.key() != null) {
            ObjectNode key = out.putObject("key").put("class", t.key().getSimpleName()).put("schemaVersion", t.keyVersion());
            fields(key, t.key(), t.keySchema());
            out.put("valueClass", t.value().getSimpleName());
        }
        ObjectNode versions = out.putObject("versions");
        for (int v = t.lowest(); v <= t.highest(); v++) fields(versions.putObject(Integer.toString(v)), t.value(), t.schema(v));
    }

    private static void fields(ObjectNode out, Class<?> message, Schema schema) throws Exception {
        TreeMap<Integer, Field> tagged = MessageClass.tagged(schema);
        out.put("flexible", tagged != null);
        Object fresh = MessageClass.create(message);
        ArrayNode fields = out.putArray("fields");
        for (Field f : MessageClass.untagged(schema)) fields.add(field(message, fresh, f));
        if (tagged == null) return;
        ArrayNode tags = out.putArray("tagged");
        for (var e : tagged.entrySet()) tags.add(field(message, fresh, e.getValue()).put("tag", e.getKey()));
    }

    private static ObjectNode field(Class<?> message, Object fresh, Field f) throws Exception {
        Method getter = MessageClass.getter(message, f);
        ObjectNode out = Json.object().put("name", getter.getName()).put("wire", f.name);
        type(out, f.type, f.type.isArray() ? MessageClass.element(getter) : getter.getReturnType());
        Object value = getter.invoke(fresh);
        if (value == null) out.putNull("default");
        else if (value instanceof Uuid id && !id.equals(Uuid.ZERO_UUID)) out.put("default", id.toString());
        else if (isPlain(value) && !isZero(value)) out.set("default", Json.MAPPER.valueToTree(value));
        return out;
    }

    private static boolean isPlain(Object value) {
        return value instanceof Number || value instanceof Boolean || value instanceof String;
    }

    private static boolean isZero(Object value) {
        if (value instanceof Number n) return n.doubleValue() == 0;
        return value.equals(false) || value.equals("");
    }

    private static void type(ObjectNode out, Type t, Class<?> javaClass) throws Exception {
        if (t.isArray()) {
            boolean compact = t.toString().startsWith("COMPACT") || documented(t).startsWith("compact");
            out.put("type", compact ? "compact_array" : "array").put("nullable", t.isNullable());
            type(out.putObject("elem"), t.arrayElementType().orElseThrow(), javaClass);
        } else if (t instanceof Schema s) {
            out.put("type", "struct").put("nullable", t.isNullable()).put("struct", javaClass.getSimpleName());
            fields(out, javaClass, s);
        } else {
            out.put("type", documented(t)).put("nullable", t.isNullable());
        }
    }

    private static String documented(Type t) {
        return ((Type.DocumentedType) t).typeName().toLowerCase(Locale.ROOT);
    }
}
