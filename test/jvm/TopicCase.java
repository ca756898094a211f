import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;

/**
 * A topic, the brokers of its cluster, and the name of the topic whose hash is asked for.
 *
 * @param partitions in the order of their records
 */
record TopicCase(String name, List<Broker> brokers, String topic, Uuid id, List<Partition> partitions, String lookup) {
    /** An unregistered broker was registered before. */
    record Broker(int id, String rack, boolean fenced, boolean unregistered) {
        Broker(int id, String rack) {
            this(id, rack, false, false);
        }
    }

    record Partition(int id, int... replicas) { }

    /** Whether the topic that is asked for exists. */
    boolean exists() {
        return lookup.equals(topic);
    }

    MetadataImage image() {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        for (Broker b : brokers) {
            long epoch = 100 + (b.id & 0xff);
            RegisterBrokerRecord record = new RegisterBrokerRecord().setBrokerId(b.id).setBrokerEpoch(epoch).setIncarnationId(new Uuid(1, b.id))
                .setRack(b.rack).setFenced(b.fenced);
            record.endPoints().add(new RegisterBrokerRecord.BrokerEndpoint().setName("PLAINTEXT").setHost("h").setPort(9092));
            delta.replay(record);
            if (b.unregistered) delta.replay(new UnregisterBrokerRecord().setBrokerId(b.id).setBrokerEpoch(epoch));
        }
        delta.replay(new TopicRecord().setName(topic).setTopicId(id));
        for (Partition p : partitions) {
            List<Integer> replicas = Arrays.stream(p.replicas).boxed().toList();
            delta.replay(new PartitionRecord().setTopicId(id).setPartitionId(p.id).setReplicas(replicas).setIsr(replicas)
                .setLeader(replicas.isEmpty() ? -1 : replicas.get(0)));
        }
        return delta.apply(new MetadataProvenance(1, 1, 1, true));
    }

    /** The racks of a partition's replicas as the hash takes them: of registered brokers that have one, sorted, repeated ones kept. */
    private List<String> racks(Partition p) {
        Map<Integer, String> known = new HashMap<>();
        for (Broker b : brokers)
            if (!b.unregistered && b.rack != null) known.put(b.id, b.rack);
        List<String> racks = new ArrayList<>();
        for (int replica : p.replicas)
            if (known.containsKey(replica)) racks.add(known.get(replica));
        Collections.sort(racks);
        return racks;
    }

    /** What Kafka feeds to its hash, said independently of Kafka: little-endian integers, UTF-16 text with its length behind it. */
    byte[] stream() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(0);
        littleEndian(out, id.getMostSignificantBits(), 8);
        littleEndian(out, id.getLeastSignificantBits(), 8);
        text(out, topic);
        littleEndian(out, partitions.size(), 4);
        List<Partition> sorted = new ArrayList<>(partitions);
        sorted.sort(Comparator.comparingInt(Partition::id));
        for (Partition p : sorted) {
            littleEndian(out, p.id, 4);
            for (String rack : racks(p)) {
                littleEndian(out, rack.length(), 4);
                text(out, rack);
            }
        }
        return out.toByteArray();
    }

    private static void text(ByteArrayOutputStream out, String s) {
        for (int i = 0; i < s.length(); i++) littleEndian(out, s.charAt(i), 2);
        littleEndian(out, s.length(), 4);
    }

    private static void littleEndian(ByteArrayOutputStream out, long value, int bytes) {
        for (int i = 0; i < bytes; i++) out.write((int) (value >>> (8 * i)));
    }

    ObjectNode json() {
        byte[] idBytes = ByteBuffer.allocate(16).putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()).array();
        ObjectNode out = Json.object().put("case", name).put("topicIdHex", Json.hex(idBytes)).put("topicId", id.toString())
            .put("topicIdHashCode", id.hashCode()).put("name", topic).put("lookup", lookup);
        ArrayNode b = out.putArray("brokers");
        for (Broker x : brokers) b.addObject().put("id", x.id).put("rack", x.rack).put("fenced", x.fenced).put("unregistered", x.unregistered);
        ArrayNode p = out.putArray("partitions");
        for (Partition x : partitions) {
            ArrayNode replicas = p.addObject().put("id", x.id).putArray("replicas");
            for (int r : x.replicas) replicas.add(r);
        }
        return out;
    }
}
