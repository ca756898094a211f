"""Asks a cluster what librdkafka can ask one, and prints the answers as JSON.

python3 librdkafka.py BOOTSTRAP GROUP...
"""

import json
import sys

from confluent_kafka import ConsumerGroupTopicPartitions, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)

WAIT = 20  # seconds

# Groups whose offsets have no metadata: the binding reads beyond the end of such.
READABLE = ("plain", "absent")


def main(bootstrap, groups):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    answers = {
        "metadata": metadata(admin),
        "topics": outcomes(admin.describe_topics(TopicCollection(["orders", "absent"])), topic),
        "cluster": cluster(admin.describe_cluster(request_timeout=WAIT).result()),
        "groups": sorted(listed(admin.list_consumer_groups(request_timeout=WAIT).result())),
        "described": outcomes(admin.describe_consumer_groups(groups, request_timeout=WAIT), group),
        "offsets": {g: offsets(admin, g) for g in groups if g in READABLE},
        "configurations": outcomes(
            admin.describe_configs([ConfigResource(ResourceType.TOPIC, "orders"), ConfigResource(ResourceType.BROKER, "1")]),
            configurations,
        ),
        "entries": entries(admin),
        "users": outcomes(admin.describe_user_scram_credentials(["alice", "nobody"], request_timeout=WAIT), credentials),
    }
    json.dump(answers, sys.stdout, indent=1, sort_keys=True)


def outcomes(futures, show):
    """What each of some futures gave, or the error that it had."""
    return {str(key): outcome(future, show) for key, future in futures.items()}


def outcome(future, show):
    try:
        return show(future.result(WAIT))
    except Exception as failed:
        return str(failed)


def metadata(admin):
    m = admin.list_topics(timeout=WAIT)
    return {
        "cluster": m.cluster_id,
        "brokers": sorted(m.brokers),
        "topics": {
            t.topic: {p.id: [p.leader, p.replicas, p.isrs, str(p.error)] for p in t.partitions.values()}
            for t in m.topics.values()
        },
    }


def topic(t):
    return [t.name, str(t.topic_id), t.is_internal, [[p.id, p.leader.id, nodes(p.replicas), nodes(p.isr)] for p in t.partitions]]


def nodes(all):
    return [[n.id, n.rack] for n in all]


def cluster(c):
    return [c.cluster_id, sorted(nodes(c.nodes))]


def listed(result):
    return [[g.group_id, str(g.state), str(g.type), g.is_simple_consumer_group] for g in result.valid] + [str(e) for e in result.errors]


def group(g):
    return {
        "state": str(g.state),
        "type": str(g.type),
        "assignor": g.partition_assignor,
        "coordinator": g.coordinator.id,
        "members": sorted(
            [m.member_id, m.client_id, m.host, m.group_instance_id, places(m.assignment), places(m.target_assignment)]
            for m in g.members
        ),
    }


def places(assignment):
    return sorted([p.topic, p.partition] for p in assignment.topic_partitions) if assignment else None


def offsets(admin, name):
    future = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)], request_timeout=WAIT)[name]
    return outcome(future, lambda r: sorted([p.topic, p.partition, p.offset, p.leader_epoch, p.metadata, str(p.error)] for p in r.topic_partitions))


def configurations(entries):
    return {e.name: [e.value, e.source, e.is_sensitive] for e in entries.values() if e.source in (1, 2, 3)}


def entries(admin):
    anything = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    return sorted(str(entry) for entry in admin.describe_acls(anything, request_timeout=WAIT).result())


def credentials(c):
    return sorted([str(i.mechanism), i.iterations] for i in c.scram_credential_infos)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
