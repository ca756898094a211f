import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.loader.MetadataBatchLoader;
import org.apache.kafka.image.node.MetadataImageNode;
import org.apache.kafka.image.node.MetadataNode;
import org.apache.kafka.image.node.printer.MetadataNodePrinter;
import org.apache.kafka.image.node.printer.MetadataNodeRedactionCriteria;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RaftSnapshotWriter;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.SupportedConfigChecker;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.FileRawSnapshotWriter;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;

/**
 * A segment of a metadata log, the image that Kafka has after it, and its snapshots. For Kafka 4.4.
 *
 *   java MetadataLog OUT_DIR
 */
public class MetadataLog {
    private static final String SEGMENT = "00000000000000000000.log";
    /** The leader changes before this batch. */
    private static final int ELECTION = 30;

    private static final FixedClock CLOCK = new FixedClock();

    private final Path dir;
    private final ByteArrayOutputStream segment = new ByteArrayOutputStream();
    private long end;
    private int epoch = 1;
    private long time = Batches.TIME;
    private MetadataImage image;

    private MetadataLog(Path dir) {
        this.dir = dir;
    }

    public static void main(String[] args) throws Exception {
        MetadataLog log = new MetadataLog(Files.createDirectories(Path.of(args[0])));
        log.append();
        log.writeSegment();
        log.writeImage();
        log.writeSnapshot(KRaftVersion.KRAFT_VERSION_0);
        log.writeSnapshot(KRaftVersion.KRAFT_VERSION_1);
        System.out.println("log to offset " + (log.end - 1) + ", image of " + log.image.provenance());
    }

    /** Writes the segment and feeds the same batches to Kafka's loader. */
    private void append() {
        MetadataBatchLoader loader = new MetadataBatchLoader(new LogContext(), CLOCK, RuntimeException::new,
            (delta, published, manifest) -> image = published, SupportedConfigChecker.TRUE);
        loader.resetToImage(MetadataImage.EMPTY);
        LeaderAndEpoch leader = elect(Batches.FIRST_CONTROLLER);
        segment.writeBytes(Batches.bytes(MemoryRecords.withKRaftVersionRecord(end++, time, epoch, Batches.buffer(), new KRaftVersionRecord().setKRaftVersion((short) 1))));
        segment.writeBytes(Batches.bytes(MemoryRecords.withVotersRecord(end++, time, epoch, Batches.buffer(), Batches.voters().toVotersRecord((short) 0))));
        int count = 0;
        for (List<ApiMessageAndVersion> records : ClusterHistory.batches()) {
            time += 10;
            if (++count == ELECTION) {
                epoch++;
                leader = elect(Batches.FIRST_CONTROLLER + 1);
            }
            byte[] bytes = Batches.metadata(Compression.NONE, end, time, epoch, records);
            segment.writeBytes(bytes);
            loader.loadBatch(Batch.data(end, epoch, time, bytes.length, records), leader);
            loader.maybeFlushBatches(leader, true);
            end += records.size();
        }
    }

    private LeaderAndEpoch elect(int leader) {
        segment.writeBytes(Batches.bytes(MemoryRecords.withLeaderChangeMessage(end++, time, epoch, Batches.buffer(), Batches.leaderChange(leader))));
        return new LeaderAndEpoch(OptionalInt.of(leader), epoch);
    }

    private void writeSegment() throws IOException {
        Files.write(dir.resolve(SEGMENT), segment.toByteArray());
        Json.writeLines(dir.resolve(SEGMENT + ".jsonl"), BatchReader.read(segment.toByteArray(), false));
    }

    private ImageWriterOptions options() {
        return new ImageWriterOptions.Builder(image).setEligibleLeaderReplicasEnabled(image.features().isElrEnabled()).build();
    }

    /** The image as Kafka's metadata shell shows it, and as the records of a snapshot. */
    private void writeImage() throws IOException {
        ObjectNode tree = Json.object();
        putChildren(tree, new MetadataImageNode(image));
        Files.writeString(dir.resolve("image.tree.json"), Json.pretty(tree));
        RecordListWriter writer = new RecordListWriter();
        image.write(writer, options());
        List<JsonNode> lines = new ArrayList<>();
        for (ApiMessageAndVersion r : writer.records()) lines.add(BatchReader.putMetadata(Json.object(), r));
        Json.writeLines(dir.resolve("image.records.jsonl"), lines);
    }

    private static void putChildren(ObjectNode out, MetadataNode node) {
        for (String name : new TreeSet<>(node.childNames())) {
            MetadataNode child = node.child(name);
            if (child == null) continue;
            if (child.isDirectory()) putChildren(out.putObject(name), child);
            else out.put(name, text(child));
        }
    }

    private static String text(MetadataNode node) {
        StringBuilder out = new StringBuilder();
        node.print(new MetadataNodePrinter() {
            public MetadataNodeRedactionCriteria redactionCriteria() { return new MetadataNodeRedactionCriteria.Disabled(); }

            public void enterNode(String name) { out.append(name).append('{'); }

            public void leaveNode() { out.append('}'); }

            public void output(String s) { out.append(s); }
        });
        return out.toString();
    }

    private void writeSnapshot(KRaftVersion version) throws IOException {
        Path sub = Files.createDirectories(dir.resolve("snapshot-kraft-version-" + version.featureLevel()));
        for (Path old : files(sub)) Files.delete(old);
        RecordsSnapshotWriter.Builder builder = new RecordsSnapshotWriter.Builder().setRawSnapshotWriter(FileRawSnapshotWriter.create(sub, new OffsetAndEpoch(end, epoch)))
            .setKraftVersion(version).setTime(CLOCK).setLastContainedLogTimestamp(time).setMaxBatchSizeBytes(4096).setMemoryPool(MemoryPool.NONE);
        if (version == KRaftVersion.KRAFT_VERSION_1) builder.setVoterSet(Optional.of(Batches.voters()));
        RaftSnapshotWriter writer = new RaftSnapshotWriter(builder.build(MetadataRecordSerde.INSTANCE), 20);
        image.write(writer, options());
        writer.close(true);
        for (Path file : files(sub)) {
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--")); // Kafka leaves it to its own user
            Json.writeLines(sub.resolve(file.getFileName() + ".jsonl"), BatchReader.read(Files.readAllBytes(file), false));
        }
    }

    private static List<Path> files(Path dir) throws IOException {
        try (Stream<Path> list = Files.list(dir)) {
            return list.sorted().toList();
        }
    }
}
