import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import java.util.jar.JarFile;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.types.Schema;

/**
 * A type of record of the Kafka release on the class path.
 *
 * @param kind       the log or the place it is found in
 * @param enumName   the constant that Kafka lists it under, or empty
 * @param id         its api key, control type or, for group records, the prefix of its key; -1 where it has none
 * @param key        the class of the key, or null
 * @param keyVersion the version under which the key's schema is found
 */
record RecordType(String kind, String name, String enumName, int id, Class<?> key, int keyVersion, Class<?> value, short lowest, short highest) {
    private static final String[] COORDINATORS = {"group", "transaction", "share"};

    /** Every record type of the release, in the order of its kinds and ids. */
    static List<RecordType> all() throws Exception {
        List<RecordType> types = new ArrayList<>();
        for (MetadataRecordType t : MetadataRecordType.values()) {
            Class<?> value = t.newMetadataRecord().getClass();
            types.add(new RecordType("metadata", value.getSimpleName(), t.name(), t.id(), null, 0, value, t.lowestSupportedVersion(), t.highestSupportedVersion()));
        }
        for (String kind : COORDINATORS) types.addAll(coordinator(kind));
        addMessage(types, "control", "EndTxnMarker", 0);
        addMessage(types, "control", "LeaderChangeMessage", 2);
        addMessage(types, "control", "SnapshotHeaderRecord", 3);
        addMessage(types, "control", "SnapshotFooterRecord", 4);
        addMessage(types, "control", "KRaftVersionRecord", 5);
        addMessage(types, "control", "VotersRecord", 6);
        addMessage(types, "consumer_protocol", "ConsumerProtocolSubscription", -1);
        addMessage(types, "consumer_protocol", "ConsumerProtocolAssignment", -1);
        return types;
    }

    private static List<RecordType> coordinator(String kind) throws Exception {
        String pkg = "org.apache.kafka.coordinator." + kind + ".generated";
        Class<?> constants = classOrNull(pkg + ".CoordinatorRecordType");
        List<RecordType> types = constants != null ? fromConstants(kind, constants) : fromKeyVersions(kind, pkg);
        types.sort(Comparator.comparingInt(RecordType::id));
        return types;
    }

    /** From 4.1 on an enum lists the types. */
    private static List<RecordType> fromConstants(String kind, Class<?> constants) throws Exception {
        List<RecordType> types = new ArrayList<>();
        for (Object c : constants.getEnumConstants()) {
            Class<?> key = constants.getMethod("newRecordKey").invoke(c).getClass();
            Class<?> value = constants.getMethod("newRecordValue").invoke(c).getClass();
            types.add(new RecordType(kind, withoutKey(key.getSimpleName()), ((Enum<?>) c).name(), (Short) constants.getMethod("id").invoke(c), key, 0, value,
                (Short) constants.getMethod("lowestSupportedVersion").invoke(c), (Short) constants.getMethod("highestSupportedVersion").invoke(c)));
        }
        return types;
    }

    /** In 4.0 the version of a key is the type. */
    private static List<RecordType> fromKeyVersions(String kind, String pkg) throws Exception {
        List<RecordType> types = new ArrayList<>();
        for (String name : classNames(pkg)) {
            if (!name.endsWith("Key")) continue;
            Class<?> key = Class.forName(pkg + "." + name);
            Class<?> value = Class.forName(pkg + "." + withoutKey(name) + "Value");
            ApiMessage k = MessageClass.create(key);
            ApiMessage v = MessageClass.create(value);
            for (int id = k.lowestSupportedVersion(); id <= k.highestSupportedVersion(); id++)
                types.add(new RecordType(kind, withoutKey(name), "", id, key, id, value, v.lowestSupportedVersion(), v.highestSupportedVersion()));
        }
        return types;
    }

    private static String withoutKey(String name) {
        return name.endsWith("Key") ? name.substring(0, name.length() - 3) : name;
    }

    /** Old releases lack some of these messages. */
    private static void addMessage(List<RecordType> types, String kind, String name, int id) throws Exception {
        Class<?> value = classOrNull("org.apache.kafka.common.message." + name);
        if (value == null) return;
        ApiMessage m = MessageClass.create(value);
        types.add(new RecordType(kind, name, "", id, null, 0, value, m.lowestSupportedVersion(), m.highestSupportedVersion()));
    }

    private static Class<?> classOrNull(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException e) {
            return null;
        }
    }

    private static TreeSet<String> classNames(String pkg) throws IOException {
        String dir = pkg.replace('.', '/') + "/";
        TreeSet<String> names = new TreeSet<>();
        for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!new File(path).getName().startsWith("kafka")) continue;
            try (JarFile jar = new JarFile(path)) {
                jar.stream().map(e -> e.getName()).filter(n -> n.startsWith(dir) && n.endsWith(".class") && n.indexOf('$') < 0)
                    .forEach(n -> names.add(n.substring(dir.length(), n.length() - ".class".length())));
            }
        }
        return names;
    }

    Schema schema(int version) throws Exception {
        return MessageClass.schema(value, version);
    }

    Schema keySchema() throws Exception {
        return MessageClass.schema(key, keyVersion);
    }
}
