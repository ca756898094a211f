import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import org.apache.kafka.image.MetadataImage;

/** The hash functions of the Kafka release on the class path, which has them from 4.1 on. */
final class Hashes {
    private static final Method TOPIC = method("computeTopicHash");
    private static final Method GROUP = method("computeGroupHash");

    private Hashes() { }

    private static Method method(String name) {
        try {
            Class<?> utils = Class.forName("org.apache.kafka.coordinator.group.Utils");
            return Arrays.stream(utils.getMethods()).filter(m -> m.getName().equals(name)).findFirst().orElseThrow();
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Throws what Kafka throws. */
    static long topic(String name, MetadataImage image) throws Exception {
        Object view = image;
        if (TOPIC.getParameterTypes()[1] != MetadataImage.class) // from 4.2 on an interface stands in between
            view = Class.forName("org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage").getConstructor(MetadataImage.class).newInstance(image);
        return invoke(TOPIC, name, view);
    }

    static long group(Map<String, Long> topicHashes) throws Exception {
        return invoke(GROUP, topicHashes);
    }

    private static long invoke(Method m, Object... args) throws Exception {
        try {
            return (Long) m.invoke(null, args);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Exception cause) throw cause;
            throw e;
        }
    }
}
