import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.Utils;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.FileRawSnapshotReader;
import org.apache.kafka.snapshot.FileRawSnapshotWriter;
import org.apache.kafka.snapshot.RecordsSnapshotReader;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;

/**
 * Writes a snapshot of many topics with Kafka's own writer, and measures Kafka's own image on it. For Kafka 4.4.
 *
 *   java ImageBenchmark gen DIR TOPICS PARTITIONS BROKERS [lived-in]
 *   java ImageBenchmark load DIR RUNS
 *
 * gen always makes the same file. A lived-in cluster has shuffled ISRs, some of them shrunk, any replica as leader,
 * large epochs and four log directories a broker; without it every value is as in a cluster just made, which flatters a
 * compact image. load prints one "name value unit" a line; values of several runs are in their order, the first one cold.
 */
public class ImageBenchmark {
    private static final OffsetAndEpoch SNAPSHOT = new OffsetAndEpoch(1_000_000_000L, 7);
    private static final int BATCH_BYTES = 8 << 20;
    private static final int REPLICAS = 3;

    public static void main(String[] args) throws Exception {
        Path dir = Path.of(args[1]);
        int n = Integer.parseInt(args[2]);
        switch (args[0]) {
            case "gen" -> new Generator(n, Integer.parseInt(args[3]), Integer.parseInt(args[4]), List.of(args).contains("lived-in")).write(dir);
            case "load" -> new Measurement(dir, n).run();
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static final class Generator {
        private final int topics;
        private final int partitions;
        private final int brokers;
        private final boolean livedIn;
        private final Random random = new Random(42);

        Generator(int topics, int partitions, int brokers, boolean livedIn) {
            this.topics = topics;
            this.partitions = partitions;
            this.brokers = brokers;
            this.livedIn = livedIn;
        }

        void write(Path dir) throws Exception {
            Files.createDirectories(dir);
            try (RecordsSnapshotWriter<ApiMessageAndVersion> writer = new RecordsSnapshotWriter.Builder().setKraftVersion(KRaftVersion.KRAFT_VERSION_0)
                    .setTime(new FixedClock()).setMaxBatchSizeBytes(BATCH_BYTES).setMemoryPool(MemoryPool.NONE).setLastContainedLogTimestamp(1L)
                    .setCompression(Compression.NONE).setRawSnapshotWriter(FileRawSnapshotWriter.create(dir, SNAPSHOT)).build(MetadataRecordSerde.INSTANCE)) {
                List<ApiMessageAndVersion> batch = cluster();
                for (int t = 0; t < topics; t++) {
                    if (t == 0 || batch.size() > 2000) {
                        writer.append(batch);
                        batch = new ArrayList<>();
                    }
                    addTopic(batch, t);
                }
                writer.append(batch);
                writer.freeze();
            }
        }

        private static ApiMessageAndVersion record(ApiMessage m, int version) {
            return new ApiMessageAndVersion(m, (short) version);
        }

        private List<ApiMessageAndVersion> cluster() {
            List<ApiMessageAndVersion> out = new ArrayList<>();
            out.add(record(new FeatureLevelRecord().setName("metadata.version").setFeatureLevel((short) 33), 0));
            for (int b = 0; b < brokers; b++) {
                int id = b;
                RegisterBrokerRecord r = new RegisterBrokerRecord().setBrokerId(id).setIncarnationId(new Uuid(5, id + 1)).setBrokerEpoch(id).setFenced(false)
                    .setRack("zone-" + "abc".charAt(id % 3)).setLogDirs(IntStream.range(0, directories()).mapToObj(slot -> directory(id, slot)).toList());
                r.endPoints().add(new RegisterBrokerRecord.BrokerEndpoint().setName("PLAINTEXT").setHost("broker-" + id).setPort(9092));
                out.add(record(r, 3));
            }
            return out;
        }

        private int directories() {
            return livedIn ? 4 : 1;
        }

        private static Uuid directory(int broker, int slot) {
            return new Uuid(9, 100 + broker * 4L + slot);
        }

        private void addTopic(List<ApiMessageAndVersion> batch, int t) {
            Uuid id = new Uuid(random.nextLong(), random.nextLong());
            batch.add(record(new TopicRecord().setName("topic-" + t + "-" + Integer.toHexString(random.nextInt())).setTopicId(id), 0));
            for (int p = 0; p < partitions; p++) {
                int first = random.nextInt(brokers);
                List<Integer> replicas = IntStream.range(0, REPLICAS).mapToObj(i -> (first + i) % brokers).toList();
                PartitionRecord r = new PartitionRecord().setTopicId(id).setPartitionId(p).setReplicas(replicas).setIsr(replicas)
                    .setLeader(first).setLeaderEpoch(3).setPartitionEpoch(5)
                    .setDirectories(replicas.stream().map(b -> directory(b, livedIn ? random.nextInt(4) : 0)).toList());
                if (livedIn) wear(r);
                batch.add(record(r, livedIn ? 2 : 1));
            }
        }

        private void wear(PartitionRecord r) {
            List<Integer> isr = new ArrayList<>(r.replicas());
            Collections.shuffle(isr, random);
            if (random.nextInt(100) == 0) {
                r.setEligibleLeaderReplicas(List.of(isr.remove(2)));
                if (random.nextInt(10) == 0) r.setLastKnownElr(List.of(isr.remove(1)));
            }
            r.setIsr(isr).setLeader(isr.get(random.nextInt(isr.size()))).setLeaderEpoch(random.nextInt(3000)).setPartitionEpoch(random.nextInt(30000));
        }
    }

    private static final class Measurement {
        private static final int CHANGES = 3000;

        private final Path dir;
        private final int runs;
        private MetadataImage image;

        Measurement(Path dir, int runs) {
            this.dir = dir;
            this.runs = runs;
        }

        void run() throws Exception {
            long empty = liveHeap();
            for (int i = 0; i < runs; i++) load();
            print("heap", (liveHeap() - empty) / 1e6, "MB");
            for (int i = 0; i < runs; i++) outage();
            oneChange();
            for (int i = 0; i < runs; i++) hashAll();
        }

        private static void print(String name, double value, String unit) {
            System.out.printf(Locale.ROOT, "%s %.3f %s%n", name, value, unit);
        }

        private void load() throws Exception {
            image = null;
            long begin = System.nanoTime();
            MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
            long records = 0;
            try (FileRawSnapshotReader raw = FileRawSnapshotReader.open(dir, SNAPSHOT);
                 RecordsSnapshotReader<ApiMessageAndVersion> reader =
                     RecordsSnapshotReader.of(raw, MetadataRecordSerde.INSTANCE, BufferSupplier.create(), BATCH_BYTES, true, new LogContext())) {
                while (reader.hasNext()) {
                    Batch<ApiMessageAndVersion> batch = reader.next();
                    for (ApiMessageAndVersion r : batch.records()) delta.replay(r.message());
                    records += batch.records().size();
                }
            }
            image = delta.apply(new MetadataProvenance(SNAPSHOT.offset(), SNAPSHOT.epoch(), 0, true));
            print("load", (System.nanoTime() - begin) / 1e6, "ms");
            print("records", records, "1");
        }

        /** Broker 0 leaves every ISR. Finding its partitions and making the records is not measured, as decoding is not. */
        private void outage() {
            List<PartitionChangeRecord> changes = new ArrayList<>();
            for (TopicImage t : image.topics().topicsByName().values())
                for (var p : t.partitions().entrySet()) {
                    List<Integer> left = IntStream.of(p.getValue().isr).filter(b -> b != 0).boxed().toList();
                    if (left.size() < p.getValue().isr.length)
                        changes.add(new PartitionChangeRecord().setTopicId(t.id()).setPartitionId(p.getKey()).setIsr(left).setLeader(left.isEmpty() ? -1 : left.get(0)));
                }
            long begin = System.nanoTime();
            MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
            changes.forEach(delta::replay);
            delta.apply(new MetadataProvenance(SNAPSHOT.offset() + 1, SNAPSHOT.epoch(), 0, true));
            print("outage", (System.nanoTime() - begin) / 1e6, "ms");
            print("outage-changes", changes.size(), "1");
        }

        /** The best of many: one replica stays in the ISR of a partition and leads it, to a delta and a new image. */
        private void oneChange() {
            TopicImage topic = image.topics().topicsByName().values().iterator().next();
            int stays = topic.partitions().get(0).isr[0];
            PartitionChangeRecord change = new PartitionChangeRecord().setTopicId(topic.id()).setPartitionId(0).setIsr(List.of(stays)).setLeader(stays);
            long best = Long.MAX_VALUE;
            for (int i = 0; i < CHANGES; i++) {
                long begin = System.nanoTime();
                MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
                delta.replay(change);
                delta.apply(new MetadataProvenance(SNAPSHOT.offset() + 1, SNAPSHOT.epoch(), 0, true));
                best = Math.min(best, System.nanoTime() - begin);
            }
            print("change", best / 1e3, "us");
        }

        private void hashAll() {
            KRaftCoordinatorMetadataImage view = new KRaftCoordinatorMetadataImage(image);
            long begin = System.nanoTime();
            long xor = 0;
            for (String name : image.topics().topicsByName().keySet()) xor ^= Utils.computeTopicHash(name, view);
            print("topic-hash", (System.nanoTime() - begin) / 1e3 / image.topics().topicsByName().size(), "us");
            System.out.println("topic-hash-xor " + xor + " 1");
        }

        private static long liveHeap() throws InterruptedException {
            for (int i = 0; i < 4; i++) {
                System.gc();
                Thread.sleep(50);
            }
            return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        }
    }
}
