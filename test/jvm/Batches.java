import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.Endpoints;
import org.apache.kafka.raft.ReplicaKey;
import org.apache.kafka.raft.VoterSet;
import org.apache.kafka.raft.internals.BatchBuilder;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Record batches as the servers of Kafka 4.4 write them. */
final class Batches {
    /** The time of the first record of everything made here. */
    static final long TIME = 1_700_000_000_000L;
    static final int FIRST_CONTROLLER = 3000;

    private Batches() { }

    static ApiMessageAndVersion record(ApiMessage m) {
        return new ApiMessageAndVersion(m, m.highestSupportedVersion());
    }

    static ApiMessageAndVersion record(ApiMessage m, int version) {
        return new ApiMessageAndVersion(m, (short) version);
    }

    static Uuid id(int n) {
        return new Uuid(0x4b1d000000000000L + n, 0x8000000000000000L + 31L * n);
    }

    /** A batch of metadata records, as the leader of the quorum appends it. */
    static byte[] metadata(Compression compression, long baseOffset, long time, int epoch, List<ApiMessageAndVersion> records) {
        int most = 1 << 20;
        BatchBuilder<ApiMessageAndVersion> batch =
            new BatchBuilder<>(ByteBuffer.allocate(most), MetadataRecordSerde.INSTANCE, compression, baseOffset, time, epoch, most);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        for (ApiMessageAndVersion r : records) {
            batch.bytesNeeded(List.of(r), cache); // fills the cache that appendRecord reads
            batch.appendRecord(r, cache);
        }
        return bytes(batch.build());
    }

    static byte[] metadata(long baseOffset, long time, int epoch, ApiMessage... records) {
        List<ApiMessageAndVersion> list = new ArrayList<>();
        for (ApiMessage r : records) list.add(record(r));
        return metadata(Compression.NONE, baseOffset, time, epoch, list);
    }

    /** A control batch with more than one record. */
    static byte[] control(long baseOffset, long time, int epoch, Consumer<MemoryRecordsBuilder> records) {
        MemoryRecordsBuilder batch = new MemoryRecordsBuilder(buffer(), RecordBatch.MAGIC_VALUE_V2, Compression.NONE, TimestampType.CREATE_TIME, baseOffset, time,
            RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH, RecordBatch.NO_SEQUENCE, false, true, epoch, buffer().capacity());
        records.accept(batch);
        return bytes(batch.build());
    }

    /** A batch of group records of leader epoch 7, each a millisecond after the one before; a producer id of -1 means none. */
    static byte[] group(Compression compression, long baseOffset, long producerId, long[] offsets, CoordinatorRecord... records) {
        boolean transactional = producerId >= 0;
        MemoryRecordsBuilder batch = new MemoryRecordsBuilder(ByteBuffer.allocate(8192), RecordBatch.MAGIC_VALUE_V2, compression, TimestampType.CREATE_TIME,
            baseOffset, TIME, producerId, (short) (transactional ? 3 : -1), transactional ? 0 : -1, transactional, false, 7, 8192);
        GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
        for (int i = 0; i < records.length; i++) {
            long offset = offsets == null ? baseOffset + i : offsets[i];
            batch.appendWithOffset(offset, TIME + i, serde.serializeKey(records[i]), serde.serializeValue(records[i]));
        }
        return bytes(batch.build());
    }

    static ByteBuffer buffer() {
        return ByteBuffer.allocate(4096);
    }

    static byte[] bytes(MemoryRecords records) {
        ByteBuffer buffer = records.buffer().duplicate();
        byte[] out = new byte[buffer.remaining()];
        buffer.get(out);
        return out;
    }

    static LeaderChangeMessage leaderChange(int leader) {
        LeaderChangeMessage m = new LeaderChangeMessage().setLeaderId(leader);
        for (int i = 0; i < 3; i++) m.voters().add(voter(FIRST_CONTROLLER + i));
        return m.setGrantingVoters(List.of(voter(leader), voter(FIRST_CONTROLLER + 2)));
    }

    private static LeaderChangeMessage.Voter voter(int id) {
        return new LeaderChangeMessage.Voter().setVoterId(id);
    }

    static VoterSet voters() {
        Map<Integer, VoterSet.VoterNode> nodes = new TreeMap<>();
        for (int i = FIRST_CONTROLLER; i < FIRST_CONTROLLER + 3; i++) {
            InetSocketAddress address = InetSocketAddress.createUnresolved("controller-" + i, 9093);
            nodes.put(i, VoterSet.VoterNode.of(ReplicaKey.of(i, id(i)), Endpoints.fromInetSocketAddresses(Map.of(ListenerName.normalised("CONTROLLER"), address)),
                new SupportedVersionRange((short) 0, (short) 1)));
        }
        return VoterSet.fromMap(nodes);
    }
}
