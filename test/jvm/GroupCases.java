import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Sets of topic hashes that a group hash is computed of. */
final class GroupCases {
    /** A topic's name with its hash; topicCase names the case that the hash is of, or is null. */
    record Topic(String name, long hash, String topicCase) { }

    private final Map<String, List<Topic>> cases = new LinkedHashMap<>();
    private final Random random = new Random(77);

    private GroupCases() { }

    static Map<String, List<Topic>> all(Map<String, Long> topicHashes) {
        GroupCases c = new GroupCases();
        c.small();
        c.order();
        c.random();
        c.ofTopicCases(topicHashes);
        return c.cases;
    }

    private void small() {
        add("empty");
        add("one", "a", 1);
        add("one_other_name_same_hash", "zzz", 1);
        add("one_zero", "a", 0);
        add("one_min", "a", Long.MIN_VALUE);
        add("one_max", "a", Long.MAX_VALUE);
        add("two", "a", 1, "b", 2);
        add("two_given_in_reverse", "b", 2, "a", 1);
        add("two_swapped_hashes", "a", 2, "b", 1);
        add("missing_topic_as_zero", "a", 1, "b", 0, "c", 3);
        add("missing_topic_left_out", "a", 1, "c", 3);
    }

    private void order() {
        add("names_utf16_vs_utf8", "\ue000", 11, "\ud83d\ude00", 22, "a", 33);
        add("names_uffef_vs_astral", "t\uffef", 11, "t\ud800\udc00", 22);
        add("names_case", "B", 1, "a", 2, "A", 3);
        add("names_prefix", "ab", 1, "a", 2, "abc", 3, "", 4);
        add("names_punctuation", "a.b", 1, "a-b", 2, "a_b", 3, "a0b", 4);
        add("names_numbers", "t10", 1, "t9", 2, "t1", 3);
        add("overflow", "a", Long.MAX_VALUE, "b", Long.MAX_VALUE, "c", Long.MIN_VALUE);
    }

    private void random() {
        for (int size : new int[]{3, 5, 8, 10, 16, 17, 30, 31, 32, 33, 64, 100, 129, 300}) {
            List<Topic> topics = new ArrayList<>();
            for (int i = 0; i < size; i++) topics.add(new Topic("topic-" + random.nextInt(1_000_000), random.nextLong(), null));
            cases.put("random_" + size, topics);
        }
    }

    private void ofTopicCases(Map<String, Long> topicHashes) {
        List<String> names = new ArrayList<>(topicHashes.keySet());
        List<Topic> all = new ArrayList<>();
        for (String name : names) all.add(new Topic("t-" + name, topicHashes.get(name), name));
        cases.put("all_topic_cases", all);
        for (int size = 1; size <= 8; size++) {
            List<Topic> topics = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                String name = names.get(random.nextInt(names.size()));
                topics.add(new Topic("g" + i + "-" + name, topicHashes.get(name), name));
            }
            cases.put("topic_cases_" + size, topics);
        }
    }

    /** Takes names and hashes in turn. */
    private void add(String name, Object... topics) {
        List<Topic> list = new ArrayList<>();
        for (int i = 0; i < topics.length; i += 2) list.add(new Topic((String) topics[i], ((Number) topics[i + 1]).longValue(), null));
        cases.put(name, list);
    }
}
