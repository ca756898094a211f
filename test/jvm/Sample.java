import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Type;

/** Fills a message with values of one sort. Each value that it makes is another, so that swapped fields are noticed. */
final class Sample {
    enum Sort { DEFAULT, TYPICAL, NULLS, EDGE_MAX, EDGE_MIN, UNKNOWN_TAG }

    private static final String[] ENDINGS = {"", "-\u00e9\u00fc\u4e2d", "-\ud83d\ude00\ue000"};

    private final Sort sort;
    private int made;
    private boolean nullable;
    private boolean flexible;

    /** A sample with unknown tags holds typical values; the tags are for the caller to add. */
    Sample(Sort sort) {
        this.sort = sort == Sort.UNKNOWN_TAG ? Sort.TYPICAL : sort;
    }

    Sort sort() { return sort; }

    /** Whether any field so far could be null. */
    boolean sawNullable() { return nullable; }

    /** Whether any struct so far can carry tagged fields. */
    boolean sawFlexible() { return flexible; }

    <T> T message(Class<?> message, Schema schema) throws Exception {
        T out = MessageClass.create(message);
        if (sort == Sort.DEFAULT) return out;
        for (Field f : MessageClass.untagged(schema)) fill(out, message, f);
        TreeMap<Integer, Field> tagged = MessageClass.tagged(schema);
        if (tagged != null) {
            flexible = true;
            for (Field f : tagged.values()) fill(out, message, f);
        }
        return out;
    }

    private void fill(Object out, Class<?> message, Field f) throws Exception {
        Method getter = MessageClass.getter(message, f);
        Class<?> element = f.type.isArray() ? MessageClass.element(getter) : null;
        MessageClass.setter(message, f).invoke(out, value(f.type, f.name, getter.getReturnType(), element));
    }

    private Object value(Type type, String name, Class<?> javaClass, Class<?> element) throws Exception {
        made++;
        nullable |= type.isNullable();
        if (type.isNullable() && sort == Sort.NULLS) return null;
        if (type.isArray()) return array(type.arrayElementType().orElseThrow(), name, javaClass, element);
        if (type instanceof Schema schema) return message(javaClass, schema);
        String wire = ((Type.DocumentedType) type).typeName().replace("COMPACT_", "").replace("NULLABLE_", "");
        return switch (sort) {
            case EDGE_MAX -> largest(wire, javaClass);
            case EDGE_MIN -> smallest(wire, javaClass);
            default -> typical(wire, name, javaClass);
        };
    }

    private Object array(Type type, String name, Class<?> javaClass, Class<?> element) throws Exception {
        Collection<Object> list = javaClass.isInterface() ? new ArrayList<>() : MessageClass.create(javaClass);
        int size = switch (sort) {
            case EDGE_MAX -> 0;
            case EDGE_MIN -> 1;
            default -> type instanceof Schema ? 2 : 3;
        };
        for (int i = 0; i < size; i++) list.add(value(type, name, element, null));
        return list;
    }

    private Object typical(String wire, String name, Class<?> javaClass) {
        return switch (wire) {
            case "BOOLEAN" -> true;
            case "INT8" -> (byte) (1 + made % 100);
            case "INT16" -> (short) (1000 + made);
            case "UINT16" -> 9092 + made;
            case "INT32" -> 100_000 + made;
            case "INT64" -> 1_700_000_000_000L + made;
            case "FLOAT64" -> 1234.5 + made;
            case "UUID" -> new Uuid(0x0123456789abcdefL + made, 0xfedcba9876543210L - made);
            case "STRING" -> name + "-" + made + ENDINGS[made % ENDINGS.length];
            case "BYTES" -> bytes(javaClass, (byte) made, (byte) 0, (byte) 0xff, (byte) 0x80, (byte) 10);
            default -> throw new IllegalStateException("type " + wire);
        };
    }

    private static Object largest(String wire, Class<?> javaClass) {
        return switch (wire) {
            case "BOOLEAN" -> true;
            case "INT8" -> Byte.MAX_VALUE;
            case "INT16" -> Short.MAX_VALUE;
            case "UINT16" -> 0xffff;
            case "INT32" -> Integer.MAX_VALUE;
            case "INT64" -> Long.MAX_VALUE;
            case "FLOAT64" -> Double.MAX_VALUE;
            case "UUID" -> new Uuid(Long.MAX_VALUE, Long.MAX_VALUE);
            case "STRING" -> "z".repeat(130);
            case "BYTES" -> {
                byte[] all = new byte[200];
                Arrays.fill(all, (byte) 0xff);
                yield bytes(javaClass, all);
            }
            default -> throw new IllegalStateException("type " + wire);
        };
    }

    private static Object smallest(String wire, Class<?> javaClass) {
        return switch (wire) {
            case "BOOLEAN" -> false;
            case "INT8" -> Byte.MIN_VALUE;
            case "INT16" -> Short.MIN_VALUE;
            case "UINT16" -> 0;
            case "INT32" -> Integer.MIN_VALUE;
            case "INT64" -> Long.MIN_VALUE;
            case "FLOAT64" -> -Double.MIN_VALUE;
            case "UUID" -> new Uuid(Long.MIN_VALUE, Long.MIN_VALUE);
            case "STRING" -> "";
            case "BYTES" -> bytes(javaClass);
            default -> throw new IllegalStateException("type " + wire);
        };
    }

    private static Object bytes(Class<?> javaClass, byte... bytes) {
        return javaClass == ByteBuffer.class ? ByteBuffer.wrap(bytes) : bytes;
    }

    static List<Sort> sorts() { return List.of(Sort.values()); }
}
