import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.Uuid;

/** Topics that tell two hash functions apart, or that a careless one gets wrong. */
final class TopicCases {
    private static final String E_ACUTE = "\u00e9";
    private static final String GRIN = "\ud83d\ude00";           // outside the basic plane: sorts before U+E000 in UTF-16, after it in UTF-8
    private static final String PRIVATE_USE = "\ue000";
    private static final String[] RACK_POOL = {"a", "b", "us-east-1a", "us-east-1b", "", null, E_ACUTE, GRIN, PRIVATE_USE, "rack-10", "rack-9"};

    private final List<TopicCase> cases = new ArrayList<>();
    private final Random random = new Random(1101);

    private TopicCases() { }

    static List<TopicCase> all() {
        TopicCases c = new TopicCases();
        List<TopicCase.Broker> five = racks("a", "b", "c", "d", "e");
        c.counts(five);
        c.brokers();
        c.rackText();
        c.replicas(five);
        c.ids(five);
        c.names(five);
        c.oddPartitions(five);
        c.random();
        return c.cases;
    }

    private void counts(List<TopicCase.Broker> five) {
        for (int n : new int[]{0, 1, 2, 3, 100}) add("partitions_" + n, five, "t" + n, partitions(n, n == 0 ? 0 : 3, 5));
        for (int rf = 1; rf <= 5; rf++) add("rf_" + rf, five, "rf", id(1000), partitions(3, rf, 5));
    }

    private void brokers() {
        List<TopicCase.Partition> three = partitions(3, 3, 3);
        add("no_racks", racks(null, null, null), "t", three);
        add("no_brokers", List.of(), "t", three);
        add("some_racks_missing", racks("a", null, "c"), "t", three);
        add("broker_not_registered", racks("a", "b"), "t", three);
        add("broker_registered_then_unregistered",
            List.of(new TopicCase.Broker(0, "a"), new TopicCase.Broker(1, "b", false, true), new TopicCase.Broker(2, "c")), "t", three);
        add("fenced_brokers",
            List.of(new TopicCase.Broker(0, "a", true, false), new TopicCase.Broker(1, "b", true, false), new TopicCase.Broker(2, "c")), "t", three);
    }

    private void rackText() {
        List<TopicCase.Partition> three = partitions(3, 3, 3);
        List<TopicCase.Partition> one = partitions(1, 3, 3);
        add("duplicate_racks", racks("a", "a", "a"), "t", three);
        add("duplicate_racks_two", racks("a", "b", "a", "b", "a"), "t", partitions(5, 4, 5));
        add("empty_rack", racks("", "", ""), "t", three);
        add("empty_rack_and_null", racks("", null, "b"), "t", three);
        add("one_partition_no_rack", racks((String) null), "t", partitions(1, 1, 1));
        add("rack_sort_utf16_vs_utf8", racks(PRIVATE_USE, GRIN, "a"), "t", one);
        add("rack_sort_utf16_vs_utf8_swapped", racks(GRIN, PRIVATE_USE, "a"), "t", one);
        add("rack_sort_uffff_vs_astral", racks("\uffef", "\ud800\udc00", "\udbff\udffd"), "t", three);
        add("rack_non_ascii", racks("z\u00fcrich-1", "\u6771\u4eac-a", "\ud83c\uddeb\ud83c\uddf7"), "t", three);
        add("rack_case", racks("B", "a", "A"), "t", three);
        add("rack_prefix", racks("rack", "rack1", "rac"), "t", three);
        add("rack_composed_vs_decomposed", racks(E_ACUTE, "e\u0301", "e"), "t", three);
        add("rack_long", racks("r".repeat(300), "s".repeat(1000)), "t", partitions(2, 2, 2));
        add("rack_with_nul", racks("a\u0000b", "a"), "t", partitions(2, 2, 2));
        // One topic, three racks that read the same when their lengths are not hashed.
        add("rack_ambiguous_ab_c", racks("ab", "c"), "t", id(2000), partitions(1, 2, 2));
        add("rack_ambiguous_a_bc", racks("a", "bc"), "t", id(2000), partitions(1, 2, 2));
        add("rack_ambiguous_abc", racks("abc", null), "t", id(2000), partitions(1, 2, 2));
        add("rack_looks_like_number", racks("1", "10", "2"), "t", three);
    }

    private void replicas(List<TopicCase.Broker> five) {
        int[][] orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        for (int[] o : orders)
            add("replica_order_" + o[0] + o[1] + o[2], racks("c", "a", "b"), "order", id(3000), List.of(new TopicCase.Partition(0, o)));
        add("replica_twice", racks("a", "b"), "t", List.of(new TopicCase.Partition(0, 0, 0, 1)));
        Uuid rf = id(1000);
        add("same_but_id_plus_one", five, "rf", new Uuid(rf.getMostSignificantBits(), rf.getLeastSignificantBits() + 1), partitions(3, 3, 5));
    }

    private void ids(List<TopicCase.Broker> five) {
        List<TopicCase.Partition> two = partitions(2, 2, 5);
        add("id_zero", five, "t", Uuid.ZERO_UUID, two);
        add("id_max", five, "t", new Uuid(Long.MAX_VALUE, Long.MAX_VALUE), two);
        add("id_min", five, "t", new Uuid(Long.MIN_VALUE, Long.MIN_VALUE), two);
        add("id_minus_one", five, "t", new Uuid(-1L, -1L), two);
        add("id_negative_hashcode", five, "t", new Uuid(0L, 0x80000000L), two);
        add("id_positive_hashcode", five, "t", new Uuid(0L, 0x7fffffffL), two);
    }

    private void names(List<TopicCase.Broker> five) {
        for (int length : new int[]{1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127, 128, 200, 249})
            add("name_length_" + length, racks("a"), "n".repeat(length), id(4000), partitions(1, 1, 1));
        add("name_ascii_all", five, "a.B_c-9", partitions(1, 1, 5));
        add("name_non_ascii", five, "caf" + E_ACUTE + "-\u4e2d\u6587", partitions(2, 2, 5));
        add("name_emoji", five, "t-" + GRIN, partitions(2, 2, 5));
        add("name_ue000", five, "t-" + PRIVATE_USE, partitions(2, 2, 5));
        add("name_internal", five, "__consumer_offsets", partitions(50, 3, 5));
    }

    private void oddPartitions(List<TopicCase.Broker> five) {
        int most = Integer.MAX_VALUE;
        add("broker_ids_large", List.of(new TopicCase.Broker(most, "a"), new TopicCase.Broker(1000, "b")), "t",
            List.of(new TopicCase.Partition(0, most, 1000), new TopicCase.Partition(1, 1000)));
        add("partition_without_replicas", racks("a"), "t", List.of(new TopicCase.Partition(0), new TopicCase.Partition(1, 0)));
        add("partition_records_out_of_order", five, "t",
            List.of(new TopicCase.Partition(2, 0, 1), new TopicCase.Partition(0, 1, 2), new TopicCase.Partition(1, 2, 3)));
        add("partitions_not_contiguous", five, "t", List.of(new TopicCase.Partition(0, 0, 1), new TopicCase.Partition(2, 1, 2)));
        add("partitions_start_at_one", five, "t", List.of(new TopicCase.Partition(1, 0, 1), new TopicCase.Partition(2, 1, 2)));
        cases.add(new TopicCase("topic_missing", five, "t", id(7), partitions(1, 1, 5), "other"));
        add("many_partitions_1000", five, "big", partitions(1000, 3, 5));
    }

    private void random() {
        for (int i = 0; i < 40; i++) {
            int count = 1 + random.nextInt(8);
            List<TopicCase.Broker> brokers = new ArrayList<>();
            for (int b = 0; b < count; b++)
                if (random.nextInt(10) > 0) brokers.add(new TopicCase.Broker(b, RACK_POOL[random.nextInt(RACK_POOL.length)], random.nextInt(4) == 0, false));
            int partitions = 1 + random.nextInt(20);
            int rf = 1 + random.nextInt(Math.min(5, count));
            List<TopicCase.Partition> list = new ArrayList<>();
            for (int p = 0; p < partitions; p++) {
                List<Integer> ids = new ArrayList<>();
                for (int b = 0; b < count; b++) ids.add(b);
                Collections.shuffle(ids, random);
                list.add(new TopicCase.Partition(p, ids.subList(0, rf).stream().mapToInt(Integer::intValue).toArray()));
            }
            String name = "random-" + random.nextInt(1_000_000);
            add("random_" + i, brokers, name, new Uuid(random.nextLong(), random.nextLong()), list);
        }
    }

    private void add(String name, List<TopicCase.Broker> brokers, String topic, List<TopicCase.Partition> partitions) {
        add(name, brokers, topic, id(cases.size()), partitions);
    }

    private void add(String name, List<TopicCase.Broker> brokers, String topic, Uuid id, List<TopicCase.Partition> partitions) {
        cases.add(new TopicCase(name, brokers, topic, id, partitions, topic));
    }

    private static Uuid id(int n) {
        return new Uuid(0x1122334455667788L * (n + 1), 0x99aabbccddeeff01L * (n + 3));
    }

    /** Brokers 0, 1, 2 and so on in these racks. */
    private static List<TopicCase.Broker> racks(String... racks) {
        List<TopicCase.Broker> brokers = new ArrayList<>();
        for (String rack : racks) brokers.add(new TopicCase.Broker(brokers.size(), rack));
        return brokers;
    }

    /** Partition p has the replicas p, p+1 and so on, modulo the number of brokers. */
    private static List<TopicCase.Partition> partitions(int count, int rf, int brokers) {
        List<TopicCase.Partition> list = new ArrayList<>();
        for (int p = 0; p < count; p++) {
            int[] replicas = new int[rf];
            int first = p;
            Arrays.setAll(replicas, i -> (first + i) % brokers);
            list.add(new TopicCase.Partition(p, replicas));
        }
        return list;
    }
}
