import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.*;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/** What happened in an invented cluster: every type of metadata record, in an order that could be. Each list is a batch. */
final class ClusterHistory {
    private static final MetadataVersion VERSION = MetadataVersion.LATEST_PRODUCTION;
    private static final String[] RACKS = {"us-east-1a", "us-east-1b", "us-east-1c", null, "", "gone"};
    private static final byte UNFENCE = -1;

    private final List<List<ApiMessageAndVersion>> batches = new ArrayList<>();

    private ClusterHistory() { }

    static List<List<ApiMessageAndVersion>> batches() {
        ClusterHistory h = new ClusterHistory();
        h.bootstrap();
        h.controllers();
        h.brokers();
        h.topics();
        h.partitionChanges();
        h.abortedTransaction();
        h.configs();
        h.quotas();
        h.security();
        h.rest();
        return h.batches;
    }

    /** Adds a batch of records at their highest versions. */
    private void add(ApiMessage... records) {
        List<ApiMessageAndVersion> batch = new ArrayList<>();
        for (ApiMessage r : records) batch.add(Batches.record(r));
        batches.add(batch);
    }

    private void add(int version, ApiMessage record) {
        batches.add(List.of(Batches.record(record, version)));
    }

    private static FeatureLevelRecord feature(String name, int level) {
        return new FeatureLevelRecord().setName(name).setFeatureLevel((short) level);
    }

    private static ConfigRecord config(ConfigResource.Type type, String resource, String name, String value) {
        return new ConfigRecord().setResourceType(type.id()).setResourceName(resource).setName(name).setValue(value);
    }

    private void bootstrap() {
        add(new BeginTransactionRecord().setName("Bootstrap records"));
        add(feature(MetadataVersion.FEATURE_NAME, VERSION.featureLevel()), feature("group.version", 1), feature("transaction.version", 2),
            feature("eligible.leader.replicas.version", 1), config(ConfigResource.Type.BROKER, "", "min.insync.replicas", "1"));
        add(new EndTransactionRecord());
    }

    private static RegisterControllerRecord controller(int id) {
        return new RegisterControllerRecord().setControllerId(id).setIncarnationId(Batches.id(id));
    }

    private void controllers() {
        for (int id = Batches.FIRST_CONTROLLER; id < Batches.FIRST_CONTROLLER + 3; id++) {
            RegisterControllerRecord c = controller(id);
            c.endPoints().add(new RegisterControllerRecord.ControllerEndpoint().setName("CONTROLLER").setHost("controller-" + id).setPort(9093));
            c.features().add(new RegisterControllerRecord.ControllerFeature().setName("metadata.version").setMinSupportedVersion((short) 7)
                .setMaxSupportedVersion(VERSION.featureLevel()));
            add(0, c);
        }
        if (VERSION.isControllerUnregistrationSupported()) {
            add(0, controller(3009));
            add(new UnregisterControllerRecord().setControllerId(3009));
        }
    }

    private void brokers() {
        int version = VERSION.registerBrokerRecordVersion();
        int change = version >= 4 ? 3 : 2; // both gained cordoned log directories
        for (int id = 1; id <= RACKS.length; id++) {
            add(version, broker(id));
            if (id != 4) add(change, changed(id).setFenced(UNFENCE));
        }
        add(change, changed(5).setInControlledShutdown((byte) 1));
        add(change, changed(2).setLogDirs(List.of(Batches.id(902))));
        add(new UnregisterBrokerRecord().setBrokerId(6).setBrokerEpoch(1006));
        add(new ProducerIdsRecord().setBrokerId(1).setBrokerEpoch(1001).setNextProducerId(1000));
    }

    private static RegisterBrokerRecord broker(int id) {
        RegisterBrokerRecord b = new RegisterBrokerRecord().setBrokerId(id).setIncarnationId(Batches.id(100 + id)).setBrokerEpoch(1000 + id).setFenced(true)
            .setRack(RACKS[id - 1]).setLogDirs(List.of(Batches.id(900 + id), Batches.id(950 + id)));
        b.endPoints().add(endpoint(id, "PLAINTEXT", 9092, 0));
        b.endPoints().add(endpoint(id, "SASL", 9094, 3));
        b.features().add(supports("metadata.version", 7, VERSION.featureLevel()));
        b.features().add(supports("group.version", 0, 1));
        return b;
    }

    private static RegisterBrokerRecord.BrokerEndpoint endpoint(int broker, String name, int port, int protocol) {
        return new RegisterBrokerRecord.BrokerEndpoint().setName(name).setHost("broker-" + broker).setPort(port).setSecurityProtocol((short) protocol);
    }

    private static RegisterBrokerRecord.BrokerFeature supports(String name, int lowest, int highest) {
        return new RegisterBrokerRecord.BrokerFeature().setName(name).setMinSupportedVersion((short) lowest).setMaxSupportedVersion((short) highest);
    }

    private static BrokerRegistrationChangeRecord changed(int id) {
        return new BrokerRegistrationChangeRecord().setBrokerId(id).setBrokerEpoch(1000 + id);
    }

    private void topics() {
        for (int t = 0; t < 22; t++) {
            Uuid id = Batches.id(t + 1);
            String name = t == 3 ? "caf\u00e9" : t == 4 ? "__consumer_offsets" : "topic-" + t;
            List<ApiMessageAndVersion> batch = new ArrayList<>();
            batch.add(Batches.record(new TopicRecord().setName(name).setTopicId(id)));
            for (int p = 0; p <= t % 6; p++) {
                int first = t + p;
                List<Integer> replicas = IntStream.range(0, 3).mapToObj(i -> 1 + (first + i) % 5).toList();
                batch.add(Batches.record(new PartitionRecord().setTopicId(id).setPartitionId(p).setReplicas(replicas).setIsr(replicas).setLeader(replicas.get(0))
                    .setLeaderEpoch(0).setPartitionEpoch(0).setDirectories(replicas.stream().map(r -> Batches.id(900 + r)).toList()), 2));
            }
            batches.add(batch);
        }
    }

    private static PartitionChangeRecord change(int topic, int partition) {
        return new PartitionChangeRecord().setTopicId(Batches.id(topic)).setPartitionId(partition);
    }

    private void partitionChanges() {
        batches.add(List.of(
            Batches.record(change(1, 0).setIsr(List.of(2, 3)).setLeader(2).setEligibleLeaderReplicas(List.of(1)), 2),
            Batches.record(change(2, 1).setLeader(-1).setLastKnownElr(List.of(3)).setIsr(List.of()), 2),
            Batches.record(change(3, 2).setReplicas(List.of(1, 2, 3, 4)).setAddingReplicas(List.of(4)).setRemovingReplicas(List.of(1))
                .setDirectories(List.of(Batches.id(901), Batches.id(902), Batches.id(903), Batches.id(904))), 2),
            Batches.record(change(6, 0).setLeader(-2).setLeaderRecoveryState((byte) 1).setIsr(List.of(2)), 0)));
        add(new RemoveTopicRecord().setTopicId(Batches.id(21)));
    }

    private void abortedTransaction() {
        Uuid id = Batches.id(77);
        add(new BeginTransactionRecord().setName("create topic"), new TopicRecord().setName("aborted").setTopicId(id));
        add(2, new PartitionRecord().setTopicId(id).setPartitionId(0).setReplicas(List.of(1)).setIsr(List.of(1)).setLeader(1).setDirectories(List.of(Batches.id(901))));
        add(new AbortTransactionRecord().setReason("controller failed over"));
    }

    private void configs() {
        add(config(ConfigResource.Type.TOPIC, "topic-1", "retention.ms", "3600000"),
            config(ConfigResource.Type.TOPIC, "topic-1", "cleanup.policy", "compact"),
            config(ConfigResource.Type.TOPIC, "topic-2", "retention.ms", "1"),
            config(ConfigResource.Type.BROKER, "1", "log.cleaner.threads", "2"),
            config(ConfigResource.Type.BROKER, "", "log.retention.ms", "7"),
            config(ConfigResource.Type.CLIENT_METRICS, "sub-1", "interval.ms", "60000"),
            config(ConfigResource.Type.GROUP, "my-group", "consumer.session.timeout.ms", "50000"));
        add(config(ConfigResource.Type.TOPIC, "topic-2", "retention.ms", null));
    }

    private static ClientQuotaRecord.EntityData entity(String type, String name) {
        return new ClientQuotaRecord.EntityData().setEntityType(type).setEntityName(name);
    }

    private static ClientQuotaRecord quota(String key, double value, ClientQuotaRecord.EntityData... entity) {
        return new ClientQuotaRecord().setKey(key).setValue(value).setEntity(List.of(entity));
    }

    private void quotas() {
        add(quota("producer_byte_rate", 1048576.5, entity("user", "alice")),
            quota("consumer_byte_rate", 2e6, entity("user", "alice"), entity("client-id", "c1")),
            quota("request_percentage", 12.25, entity("user", null)),
            quota("connection_creation_rate", 5, entity("ip", "10.0.0.1")),
            quota("producer_byte_rate", 1, entity("user", "bob")));
        add(quota("producer_byte_rate", 0, entity("user", "bob")).setRemove(true));
    }

    private void security() {
        for (int i = 0; i < 4; i++)
            add(new AccessControlEntryRecord().setId(Batches.id(500 + i)).setResourceType((byte) (2 + i % 3)).setResourceName(i == 1 ? "*" : "res-" + i)
                .setPatternType((byte) (3 + i % 2)).setPrincipal("User:u" + i).setHost("*").setOperation((byte) (3 + i)).setPermissionType((byte) (2 + i % 2)));
        add(new RemoveAccessControlEntryRecord().setId(Batches.id(502)));
        for (int i = 0; i < 3; i++)
            add(new UserScramCredentialRecord().setName("user-" + i).setMechanism((byte) (1 + i % 2)).setSalt(new byte[]{1, 2, (byte) i})
                .setStoredKey(new byte[]{4, 5, 6}).setServerKey(new byte[]{(byte) 0xff, 0}).setIterations(8192));
        add(new RemoveUserScramCredentialRecord().setName("user-2").setMechanism((byte) 1));
        for (int i = 0; i < 2; i++)
            add(new DelegationTokenRecord().setOwner("User:alice").setRequester("User:bob").setRenewers(i == 0 ? List.of("User:carol", "User:dave") : List.of())
                .setIssueTimestamp(Batches.TIME).setMaxTimestamp(Batches.TIME + 100).setExpirationTimestamp(Batches.TIME + 50).setTokenId("token-" + i));
        add(new RemoveDelegationTokenRecord().setTokenId("token-1"));
    }

    private void rest() {
        add(new ProducerIdsRecord().setBrokerId(2).setBrokerEpoch(1002).setNextProducerId(2000));
        add(new NoOpRecord());
        add(feature("transaction.version", 0));
        add(new FenceBrokerRecord().setId(3).setEpoch(1003));
        add(new UnfenceBrokerRecord().setId(4).setEpoch(1004));
    }
}
