import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * What the standard authorizer decides: sets of access control entries, and for each what many principals may do.
 *
 *   java AclDecisions OUT.jsonl
 */
public class AclDecisions {
    private static final String[] PRINCIPALS = {"User:alice", "User:bob", "User:*", "User:admin", "Group:alice"};
    private static final String[] HOSTS = {"*", "10.0.0.1", "10.0.0.2"};
    private static final String[] NAMES = {"*", "a", "ab", "abc", "abd", "b", "kafka-cluster"};
    private static final ResourceType[] TYPES = {
        ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID, ResourceType.DELEGATION_TOKEN, ResourceType.USER
    };

    public static void main(String[] args) throws Exception {
        List<ObjectNode> lines = new ArrayList<>();
        Random random = new Random(1);
        for (int i = 0; i < 60; i++) lines.add(one(random, i % 2 == 1, i / 6));
        Json.writeLines(Path.of(args[0]), lines);
    }

    private static ObjectNode one(Random random, boolean allowIfNone, int entries) throws Exception {
        Map<Uuid, StandardAcl> acls = new HashMap<>();
        ObjectNode line = Json.object();
        line.put("allowIfNoAcl", allowIfNone);
        ArrayNode shown = line.putArray("acls");
        for (int i = 0; i < entries; i++) {
            StandardAcl acl = entry(random);
            acls.put(new Uuid(1, i), acl);
            shown.add(show(acl));
        }
        try (StandardAuthorizer authorizer = new StandardAuthorizer()) {
            authorizer.configure(Map.of("super.users", "User:admin", "allow.everyone.if.no.acl.found", Boolean.toString(allowIfNone), "node.id", "1"));
            authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
            authorizer.loadSnapshot(acls);
            authorizer.completeInitialLoad();
            ArrayNode decisions = line.putArray("decisions");
            for (int i = 0; i < 80; i++) decisions.add(decide(authorizer, random));
        }
        return line;
    }

    private static StandardAcl entry(Random random) {
        ResourceType type = TYPES[random.nextInt(random.nextInt(TYPES.length) + 1)];
        PatternType pattern = random.nextInt(3) == 0 ? PatternType.PREFIXED : PatternType.LITERAL;
        String name = NAMES[random.nextInt(NAMES.length)];
        AclPermissionType permission = random.nextInt(4) == 0 ? AclPermissionType.DENY : AclPermissionType.ALLOW;
        return new StandardAcl(type, name, pattern, PRINCIPALS[random.nextInt(PRINCIPALS.length)], HOSTS[random.nextInt(HOSTS.length)], operation(random, true), permission);
    }

    private static AclOperation operation(Random random, boolean all) {
        int first = all ? AclOperation.ALL.code() : AclOperation.READ.code();
        return AclOperation.fromCode((byte) (first + random.nextInt(AclOperation.DESCRIBE_TOKENS.code() - first + 1)));
    }

    private static ArrayNode show(StandardAcl acl) {
        ArrayNode a = Json.array();
        a.add(acl.resourceType().code()).add(acl.resourceName()).add(acl.patternType().code());
        a.add(acl.principal()).add(acl.host()).add(acl.operation().code()).add(acl.permissionType().code());
        return a;
    }

    private static ArrayNode decide(StandardAuthorizer authorizer, Random random) throws Exception {
        String principal = random.nextInt(12) == 0 ? "User:admin" : PRINCIPALS[random.nextInt(2)];
        if (random.nextInt(12) == 0) principal = "Group:alice";
        String host = HOSTS[1 + random.nextInt(2)];
        ResourceType type = TYPES[random.nextInt(random.nextInt(TYPES.length) + 1)];
        String name = NAMES[1 + random.nextInt(NAMES.length - 1)];
        AclOperation operation = operation(random, false);
        Action action = new Action(operation, new ResourcePattern(type, name, PatternType.LITERAL), 1, true, true);
        AuthorizationResult result = authorizer.authorize(new Context(principal, host), List.of(action)).get(0);
        ArrayNode a = Json.array();
        a.add(principal).add(host).add(type.code()).add(name).add(operation.code());
        return a.add(result == AuthorizationResult.ALLOWED);
    }

    /** A request of somebody from somewhere. */
    private record Context(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        Context(String principal, String host) throws Exception {
            this(new KafkaPrincipal(principal.substring(0, principal.indexOf(':')), principal.substring(principal.indexOf(':') + 1)), InetAddress.getByName(host));
        }

        @Override
        public String listenerName() {
            return "INTERNAL";
        }

        @Override
        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        @Override
        public int requestType() {
            return 3;
        }

        @Override
        public int requestVersion() {
            return 12;
        }

        @Override
        public String clientId() {
            return "client";
        }

        @Override
        public int correlationId() {
            return 1;
        }
    }
}
