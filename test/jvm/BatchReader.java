import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.message.KRaftVersionRecordJsonConverter;
import org.apache.kafka.common.message.LeaderChangeMessageJsonConverter;
import org.apache.kafka.common.message.SnapshotFooterRecordJsonConverter;
import org.apache.kafka.common.message.SnapshotHeaderRecordJsonConverter;
import org.apache.kafka.common.message.VotersRecordJsonConverter;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.ControlRecordUtils;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordJsonConverters;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** What Kafka's own reader sees in record batches, as JSON. */
final class BatchReader {
    private BatchReader() { }

    /** Reads batches that follow each other; group says whether their records are those of the group coordinator. */
    static ArrayNode read(byte[] bytes, boolean group) {
        ArrayNode out = Json.array();
        for (RecordBatch b : MemoryRecords.readableRecords(ByteBuffer.wrap(bytes)).batches()) {
            b.ensureValid();
            ObjectNode batch = header((DefaultRecordBatch) b);
            ArrayNode records = batch.putArray("records");
            for (Record r : b) records.add(record(r, b.isControlBatch(), group));
            out.add(batch);
        }
        return out;
    }

    private static ObjectNode header(DefaultRecordBatch b) {
        ObjectNode out = Json.object().put("baseOffset", b.baseOffset()).put("lastOffset", b.lastOffset()).put("sizeInBytes", b.sizeInBytes())
            .put("partitionLeaderEpoch", b.partitionLeaderEpoch()).put("magic", b.magic()).put("crc", b.checksum())
            .put("compression", b.compressionType().name).put("timestampType", b.timestampType().name).put("control", b.isControlBatch())
            .put("transactional", b.isTransactional()).put("baseTimestamp", b.baseTimestamp()).put("maxTimestamp", b.maxTimestamp())
            .put("producerId", b.producerId()).put("producerEpoch", b.producerEpoch()).put("baseSequence", b.baseSequence()).put("count", b.countOrNull());
        b.deleteHorizonMs().ifPresent(ms -> out.put("deleteHorizonMs", ms));
        return out;
    }

    private static ObjectNode record(Record r, boolean control, boolean group) {
        ObjectNode out = Json.object().put("offset", r.offset()).put("timestamp", r.timestamp()).put("keyHex", Json.hex(r.key())).put("valueHex", Json.hex(r.value()));
        if (r.headers().length > 0) {
            ArrayNode headers = out.putArray("headers");
            for (Header h : r.headers()) headers.addObject().put("key", h.key()).put("valueHex", Json.hex(h.value()));
        }
        if (control) control(out, r);
        else if (group) group(out, r);
        else metadata(out, r);
        return out;
    }

    private static void metadata(ObjectNode out, Record r) {
        ApiMessageAndVersion m = MetadataRecordSerde.INSTANCE.read(new ByteBufferAccessor(r.value()), r.valueSize());
        putMetadata(out, m);
    }

    static ObjectNode putMetadata(ObjectNode out, ApiMessageAndVersion m) {
        out.put("name", m.message().getClass().getSimpleName()).put("apiKey", m.message().apiKey()).put("version", m.version());
        return out.set("json", MetadataJsonConverters.writeJson(m.message(), m.version()));
    }

    private static void group(ObjectNode out, Record r) {
        CoordinatorRecord c = new GroupCoordinatorRecordSerde().deserialize(r.key(), r.value());
        out.put("name", c.key().getClass().getSimpleName().replaceFirst("Key$", "")).put("apiKey", c.key().apiKey());
        out.set("key", CoordinatorRecordJsonConverters.writeRecordKeyAsJson(c.key()));
        if (c.value() == null) {
            out.putNull("json");
            return;
        }
        out.put("version", c.value().version());
        out.set("json", CoordinatorRecordJsonConverters.writeRecordValueAsJson(c.value().message(), c.value().version()));
    }

    private static void control(ObjectNode out, Record r) {
        ControlRecordType type = ControlRecordType.parse(r.key());
        short version = 0;
        JsonNode json = switch (type) {
            case LEADER_CHANGE -> LeaderChangeMessageJsonConverter.write(ControlRecordUtils.deserializeLeaderChangeMessage(r), version);
            case SNAPSHOT_HEADER -> SnapshotHeaderRecordJsonConverter.write(ControlRecordUtils.deserializeSnapshotHeaderRecord(r), version);
            case SNAPSHOT_FOOTER -> SnapshotFooterRecordJsonConverter.write(ControlRecordUtils.deserializeSnapshotFooterRecord(r), version);
            case KRAFT_VERSION -> KRaftVersionRecordJsonConverter.write(ControlRecordUtils.deserializeKRaftVersionRecord(r), version);
            case KRAFT_VOTERS -> VotersRecordJsonConverter.write(ControlRecordUtils.deserializeVotersRecord(r), version);
            case ABORT, COMMIT -> Json.object().put("coordinatorEpoch", EndTransactionMarker.deserialize(r).coordinatorEpoch());
            default -> throw new IllegalStateException("control record " + type);
        };
        out.put("controlType", type.type()).put("name", type.name()).set("json", json);
    }
}
