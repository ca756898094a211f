import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;

/** Reads and writes the fields of Kafka's generated message classes by their names in the schema. */
final class MessageClass {
    private MessageClass() { }

    @SuppressWarnings("unchecked")
    static <T> T create(Class<?> message) throws Exception {
        return (T) message.getDeclaredConstructor().newInstance();
    }

    /** The schema of a version, or null if the class has none for it. */
    static Schema schema(Class<?> message, int version) throws Exception {
        Schema[] schemas = (Schema[]) message.getField("SCHEMAS").get(null);
        return version < schemas.length ? schemas[version] : null;
    }

    /** The tagged fields of a schema by tag, or null if the version is not flexible. */
    static TreeMap<Integer, Field> tagged(Schema schema) {
        for (BoundField b : schema.fields())
            if (b.def.type instanceof TaggedFields t) return new TreeMap<>(t.fields());
        return null;
    }

    /** The fields outside the tagged section, in the order of the encoding. */
    static List<Field> untagged(Schema schema) {
        List<Field> fields = new ArrayList<>();
        for (BoundField b : schema.fields())
            if (!(b.def.type instanceof TaggedFields)) fields.add(b.def);
        return fields;
    }

    static Method getter(Class<?> message, Field field) {
        return method(message, field.name.replace("_", ""), 0);
    }

    static Method setter(Class<?> message, Field field) {
        return method(message, "set" + field.name.replace("_", ""), 1);
    }

    private static Method method(Class<?> message, String name, int parameters) {
        for (Method m : message.getDeclaredMethods())
            if (m.getParameterCount() == parameters && !Modifier.isStatic(m.getModifiers()) && m.getName().equalsIgnoreCase(name)) return m;
        throw new IllegalStateException(message + " has no method " + name);
    }

    /** The class of the elements of an array field: a list's type argument, or that of the collection it extends. */
    static Class<?> element(Method getter) {
        Type t = getter.getGenericReturnType();
        while (t instanceof Class<?> c) t = c.getGenericSuperclass();
        return (Class<?>) ((ParameterizedType) t).getActualTypeArguments()[0];
    }
}
