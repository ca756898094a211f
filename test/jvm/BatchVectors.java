import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.metadata.AbortTransactionRecord;
import org.apache.kafka.common.metadata.BeginTransactionRecord;
import org.apache.kafka.common.metadata.EndTransactionRecord;
import org.apache.kafka.common.metadata.NoOpRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupMetadataKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupMetadataValue;
import org.apache.kafka.coordinator.group.generated.OffsetCommitKey;
import org.apache.kafka.coordinator.group.generated.OffsetCommitValue;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Record batches of every form that a metadata or group log holds, with what Kafka reads in them. For Kafka 4.4.
 *
 *   java BatchVectors OUT.jsonl
 */
public class BatchVectors {
    private static final long T = Batches.TIME;
    private static final long PRODUCER = 4000;
    private static final short ZERO = 0;

    private final List<ObjectNode> lines = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        BatchVectors v = new BatchVectors();
        v.control();
        v.metadata();
        v.transactions();
        v.compressed();
        v.group();
        Json.writeLines(Path.of(args[0]), v.lines);
        System.out.println(v.lines.size() + " batches");
    }

    private void add(String name, String log, byte[] bytes) {
        ObjectNode line = Json.object().put("kafka", "4.4.0").put("name", name).put("log", log).put("hex", Json.hex(bytes));
        line.set("batches", BatchReader.read(bytes, log.equals("group")));
        lines.add(line);
    }

    private void control() {
        KRaftVersionRecord one = new KRaftVersionRecord().setKRaftVersion((short) 1);
        var voters = Batches.voters().toVotersRecord(ZERO);
        addMetadata("leader_change", bytes(MemoryRecords.withLeaderChangeMessage(0, T, 1, Batches.buffer(), Batches.leaderChange(3000))));
        addMetadata("leader_change_no_granting_voters",
            bytes(MemoryRecords.withLeaderChangeMessage(77, T, 9, Batches.buffer(), Batches.leaderChange(3001).setGrantingVoters(List.of()))));
        addMetadata("kraft_version", bytes(MemoryRecords.withKRaftVersionRecord(1, T, 1, Batches.buffer(), one)));
        addMetadata("voters", bytes(MemoryRecords.withVotersRecord(2, T, 1, Batches.buffer(), voters)));
        addMetadata("snapshot_header", bytes(MemoryRecords.withSnapshotHeaderRecord(0, T, 1, Batches.buffer(), header(T - 5))));
        addMetadata("snapshot_footer", bytes(MemoryRecords.withSnapshotFooterRecord(9, T, 1, Batches.buffer(), new SnapshotFooterRecord())));
        addMetadata("header_version_voters_in_one_batch", Batches.control(0, T, 1, b -> {
            b.appendSnapshotHeaderMessage(T, header(T));
            b.appendKRaftVersionMessage(T, one);
            b.appendVotersMessage(T, voters);
        }));
    }

    private static SnapshotHeaderRecord header(long time) {
        return new SnapshotHeaderRecord().setLastContainedLogTimestamp(time);
    }

    private static TopicRecord oddTopic() {
        return new TopicRecord().setName("caf\u00e9-\ud83d\ude00").setTopicId(Batches.id(1));
    }

    private void metadata() {
        addMetadata("one_record", Batches.metadata(3, T, 1, oddTopic()));
        addMetadata("no_op", Batches.metadata(4, T + 1, 1, new NoOpRecord()));
        addMetadata("many_records", Batches.metadata(Compression.NONE, 100, T + 2, 2, topics(3, 4)));
        addMetadata("very_many_records", Batches.metadata(Compression.NONE, 1000, T + 2, 2, topics(2, 70)));
    }

    private static List<ApiMessageAndVersion> topics(int count, int partitions) {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        for (int t = 0; t < count; t++) {
            records.add(Batches.record(new TopicRecord().setName("topic-" + t).setTopicId(Batches.id(t))));
            for (int p = 0; p < partitions; p++) {
                PartitionRecord r = new PartitionRecord().setTopicId(Batches.id(t)).setPartitionId(p).setReplicas(List.of(1, 2, 3)).setIsr(List.of(1, 2)).setLeader(1)
                    .setDirectories(List.of(Batches.id(901), Batches.id(902), Batches.id(903)));
                if (p % 2 == 0) r.setEligibleLeaderReplicas(List.of(3));
                records.add(Batches.record(r, 2));
            }
        }
        return records;
    }

    private void transactions() {
        addMetadata("begin_transaction", Batches.metadata(200, T, 2, new BeginTransactionRecord().setName("bootstrap records"), oddTopic()));
        addMetadata("inside_transaction", Batches.metadata(Compression.NONE, 202, T, 2, topics(1, 2)));
        addMetadata("end_transaction", Batches.metadata(205, T, 2, new EndTransactionRecord()));
        addMetadata("abort_transaction", Batches.metadata(206, T, 2, new AbortTransactionRecord().setReason("because")));
        List<ApiMessageAndVersion> whole = topics(1, 1);
        whole.add(0, Batches.record(new BeginTransactionRecord()));
        whole.add(Batches.record(new EndTransactionRecord()));
        addMetadata("whole_transaction_in_one_batch", Batches.metadata(Compression.NONE, 300, T, 3, whole));
    }

    private void compressed() {
        addMetadata("gzip", Batches.metadata(Compression.gzip().build(), 400, T, 3, topics(1, 6)));
        addMetadata("snappy", Batches.metadata(Compression.snappy().build(), 410, T, 3, topics(1, 6)));
        addMetadata("lz4", Batches.metadata(Compression.lz4().build(), 420, T, 3, topics(1, 6)));
        addMetadata("zstd", Batches.metadata(Compression.zstd().build(), 430, T, 3, topics(1, 6)));
        ByteArrayOutputStream two = new ByteArrayOutputStream();
        two.writeBytes(bytes(MemoryRecords.withLeaderChangeMessage(500, T, 4, Batches.buffer(), Batches.leaderChange(3002))));
        two.writeBytes(Batches.metadata(Compression.NONE, 501, T, 4, topics(1, 1)));
        addMetadata("two_batches_back_to_back", two.toByteArray());
    }

    private void group() {
        CoordinatorRecord epoch = CoordinatorRecord.record(new ConsumerGroupMetadataKey().setGroupId("g"),
            Batches.record(new ConsumerGroupMetadataValue().setEpoch(5).setMetadataHash(-42L)));
        CoordinatorRecord tombstone = CoordinatorRecord.tombstone(new OffsetCommitKey().setGroup("g").setTopic("t").setPartition(1));
        addGroup("group_commits_and_tombstone", Batches.group(Compression.NONE, 10, -1, null, epoch, commit(0, 100), tombstone));
        addGroup("group_offset_gaps", Batches.group(Compression.NONE, 20, -1, new long[]{21, 25, 400}, commit(0, 1), commit(1, 2), commit(2, 3)));
        addGroup("group_zstd", Batches.group(Compression.zstd().build(), 500, -1, null, commit(0, 5), commit(1, 6)));
        addGroup("group_log_append_time", logAppendTime(epoch, tombstone));
        addGroup("group_transactional", Batches.group(Compression.NONE, 600, PRODUCER, null, commit(0, 7), commit(1, 8)));
        addGroup("group_txn_commit_marker", marker(602, ControlRecordType.COMMIT));
        addGroup("group_txn_abort_marker", marker(603, ControlRecordType.ABORT));
        ByteBuffer empty = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        DefaultRecordBatch.writeEmptyHeader(empty, RecordBatch.MAGIC_VALUE_V2, PRODUCER, (short) 3, 1, 610, 619, 7, TimestampType.CREATE_TIME, T, true, false);
        addGroup("group_empty_batch_left_by_compaction", empty.array());
    }

    private static CoordinatorRecord commit(int partition, long offset) {
        OffsetCommitValue value = new OffsetCommitValue().setOffset(offset).setLeaderEpoch(4).setMetadata("m\u00e9ta").setCommitTimestamp(T + 5);
        return CoordinatorRecord.record(new OffsetCommitKey().setGroup("g").setTopic("t").setPartition(partition), Batches.record(value, 3));
    }

    private static byte[] marker(long offset, ControlRecordType type) {
        return bytes(MemoryRecords.withEndTransactionMarker(offset, T, 7, PRODUCER, (short) 3, new EndTransactionMarker(type, 12)));
    }

    private static byte[] logAppendTime(CoordinatorRecord value, CoordinatorRecord tombstone) {
        MemoryRecordsBuilder batch = new MemoryRecordsBuilder(ByteBuffer.allocate(8192), RecordBatch.MAGIC_VALUE_V2, Compression.NONE, TimestampType.LOG_APPEND_TIME,
            510, T + 99, RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH, RecordBatch.NO_SEQUENCE, false, false, 7, 8192);
        GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
        batch.append(T, serde.serializeKey(value), serde.serializeValue(value));
        batch.append(T + 1, serde.serializeKey(tombstone), null);
        return bytes(batch.build());
    }

    private void addMetadata(String name, byte[] bytes) { add(name, "metadata", bytes); }

    private void addGroup(String name, byte[] bytes) { add(name, "group", bytes); }

    private static byte[] bytes(MemoryRecords records) { return Batches.bytes(records); }
}
