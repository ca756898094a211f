import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * The configurations that there are: what they belong to, their names and types, and of topics and
 * groups which configurations of a broker stand in for them, in the order in which they are looked at, with the factor
 * that makes of their value the topic's.
 *
 *   java Configs OUT.tsv
 */
public class Configs {
    public static void main(String[] args) throws IOException {
        List<String> lines = new ArrayList<>();
        lines.addAll(lines("topic", LogConfig.configKeys()));
        lines.addAll(lines("broker", AbstractKafkaConfig.CONFIG_DEF.configKeys()));
        lines.addAll(lines("broker", QuotaConfig.brokerQuotaConfigs().configKeys()));
        for (String name : GroupConfig.configNames()) {
            String synonym = GroupConfig.brokerSynonym(name).map(s -> "\t" + s + "=1").orElse("");
            lines.add("group\t" + name + "\t" + GroupConfig.configType(name).orElseThrow() + synonym);
        }
        lines.addAll(lines("client-metrics", ClientMetricsConfigs.configDef().configKeys()));
        Collections.sort(lines);
        Files.write(Path.of(args[0]), lines);
    }

    private static List<String> lines(String owner, Map<String, ConfigDef.ConfigKey> keys) {
        List<String> lines = new ArrayList<>();
        keys.forEach((name, key) -> {
            StringBuilder line = new StringBuilder(owner + "\t" + name + "\t" + key.type());
            if (owner.equals("topic")) {
                for (ConfigSynonym s : ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.getOrDefault(name, List.of())) {
                    line.append("\t").append(s.name()).append("=").append(s.converter().apply("1"));
                }
            }
            lines.add(line.toString());
        });
        Collections.sort(lines);
        return lines;
    }
}
