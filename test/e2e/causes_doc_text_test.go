//go:build e2e && unix

package e2e

const causesIntroduction = `# Why groups rebalance

What raises the epoch of a group, one cause after the other, as ` + "`kraftside explain`" + ` says it. Each was brought about on released Kafka
by real members and real changes, explained by a running sidecar, and explained once more from copies of the logs, with the same
result. The lines that name releases are checked by the tests (` + "`make e2e`, `make e2e-older`" + `); the examples are what was printed
when this file was last written by them (` + "`-rewrite`" + `).

How to read them: *certain* means that records prove it, and the records are named. *likely* means that Kafka does not record it, and the
reason says what speaks for it. *set off by* is the event that made the coordinator look, where that is another one than the cause:
it may come minutes or days later. "no rebalance" is listed where one might expect one.

The codes count the causes: C of consumer groups, S of share groups, T of streams groups.
`

func chapters() []chapter {
	return []chapter{
		{"Members of consumer groups", []story{
			{"consumer-first-member", "the first member joins (C1, C7)", "A client of the new protocol joins a group that is not there yet. The first epoch is 1 up to Kafka 4.2, and 2 since."},
			{"consumer-member-joined", "another member joins (C1)", "A second client joins."},
			{"consumer-subscription-changed", "a member subscribes to another topic (C1)", "A client adds a topic to its subscription."},
			{"consumer-member-left", "a member leaves (C5)", "A client closes. Kafka records that the member is gone, and not why."},
			{"consumer-session-timeout", "a member falls silent (C5)", "A member sends no more heartbeats. Only the time that passed speaks for a timeout."},
			{"consumer-rebalance-timeout", "a member does not give up its partitions (C5)", "A member is to give up a partition and goes on without doing so, until its rebalance timeout is over."},
			{"consumer-static-away", "a static member goes and comes back", "A static member leaves with epoch -2 and returns under another member id."},
			{"consumer-static-timeout", "a static member does not come back (C5)", "A static member leaves with epoch -2, and its session timeout passes."},
			{"consumer-assignor-changed", "a member prefers another assignor (C6)", "The only member of a group asks for the assignor range instead of uniform. Before Kafka 4.4 that changes nothing until something else does."},
			{"consumer-never-reconciles", "a member that keeps the others waiting", "A member joins and is to get a partition that another one does not give up. The rebalance stays open, and names who is waited for."},
			{"consumer-target-later", "the target assignment comes later", "A second member joins within group.consumer.assignment.interval.ms of the last assignment (KIP-1263): the epoch is raised at once, and the members learn of it later."},
			{"consumer-shared-batch", "two groups in one batch", "Members of two groups join at the same coordinator at once, and the records of both are in one batch of the log."},
		}},
		{"Topics of consumer groups", []story{
			{"consumer-topic-created", "a subscribed topic appears (C4)", "A member waits for a topic that does not exist, and it is created."},
			{"consumer-topic-deleted", "a subscribed topic disappears (C4)", "A topic is deleted."},
			{"consumer-topic-recreated", "a topic is deleted and created again (C4)", "Both happen between two heartbeats: the coordinator finds a topic of the same name and another id."},
			{"consumer-partitions-added", "a topic gets more partitions (C4)", "A partition is added."},
			{"consumer-reassigned", "a partition gets other replicas (C4)", "A partition is reassigned from brokers 1 and 2 to 1 and 3. Both steps, with the old and the new replicas and with the new ones alone, happen between two heartbeats."},
			{"consumer-several-causes", "a member joins while a topic changes (C1, C4)", "A partition is added, and a new member joins before any other heartbeat: one rebalance has both causes."},
			{"consumer-regex-resolved", "a regular expression matches a new topic (C3)", "A topic is created that the expression of a member matches."},
			{"consumer-regex-unchanged", "a regular expression matches what it did", "A topic is created that no expression matches. The coordinator resolves them again and writes down the same topics."},
			{"consumer-regex-topic-deleted", "a matched topic is deleted (C3, C4)", "The deletion changes the hash at once. What the expression matches is looked up only when some topic is created later: a second rebalance, whose cause is the deletion."},
			{"consumer-regex-changed", "a member changes its regular expression (C2)", "A member takes over the expression of another one, which is resolved already."},
		}},
		{"Share groups", []story{
			{"share-first-member", "the first member joins (S1, S3)", "Once the state of the share partitions is initialized they can be given out, which is a second rebalance."},
			{"share-member-joined", "another member joins (S1)", "A second client joins."},
			{"share-subscription-changed", "a member subscribes to another topic (S1, S3)", "A client adds a topic to its subscription."},
			{"share-partitions-added", "a topic gets more partitions (S2, S3)", "A partition is added."},
			{"share-member-left", "a member leaves (S4)", "A client closes. Up to Kafka 4.2 its partitions, which nobody has for a moment, make a second rebalance (S3)."},
		}},
		{"Streams groups", []story{
			{"streams-first-member", "the first member joins (T1, T2, T3, T7)", "A Kafka Streams program that counts joins. Its internal topics are created then, with which its topology is valid."},
			{"streams-member-joined", "another member joins (T1)", "A second program joins."},
			{"streams-member-changed", "a member is another process (T1)", "A program with a group.instance.id is closed and started again."},
			{"streams-partitions-added", "a source topic gets more partitions (T2)", "A partition is added to the source of a topology without a state."},
			{"streams-topology-invalid", "the topics do not fit the topology (T2, T3)", "A partition is added to the source of the program that counts: its internal topics have fewer. The group stands until they are mended; a program of Kafka 4.2 or newer ends itself then, that of 4.4 without leaving the group."},
			{"streams-configuration-changed", "the group gets standby replicas (T4)", "streams.num.standby.replicas is set for the group."},
			{"streams-member-left", "a member leaves (T6)", "A program is closed."},
		}},
		{"Classic groups, and conversions", []story{
			{"classic-first-member", "the first member joins", "Of a classic group Kafka records each generation once it is complete. Why it began is told by comparing it with the one before."},
			{"classic-member-joined", "another member joins", "A second client joins."},
			{"classic-member-left", "a member leaves", "A client closes."},
			{"classic-partitions-added", "a topic gets more partitions", "A partition is added, and the leader of the group asks for a rebalance."},
			{"classic-member-asked", "a member asks for a rebalance", "A client rejoins although nothing has changed."},
			{"conversion-to-consumer", "a classic group becomes a consumer group", "A member of the new protocol joins a classic group."},
			{"conversion-to-classic", "a consumer group becomes a classic group", "The last member of the new protocol leaves a group that has one of the old."},
		}},
		{"Brokers", []story{
			{"broker-away", "a broker stops", "Leaders, ISRs and coordinators move. No hash depends on them."},
			{"broker-in-another-rack", "a broker comes back in another rack (C4, S2, T2)", "It registers with the rack rack-9. Its groups notice when it is in the ISR of a topic again."},
			{"broker-unregistered", "a broker is unregistered", "Broker 1 stops and is unregistered, so that its rack is in no hash any more. Coordinators do not notice: `kraftside verify` lists all three groups as `stale`."},
			{"stale-set-off", "another broker restarts (C4, S2, T2)", "Broker 3 restarts, which has nothing to do with it. It is in the ISR of the topic of the share group and of the streams group, and it is the coordinator of the consumer group. All three rebalance now, and the cause is broker 1."},
		}},
		{"Upgrades", []story{
			{"upgraded", "the first start of a release with hashes (C8)", "A cluster of Kafka 4.0.2, which stores no hash, is started with Kafka 4.4.0."},
		}},
	}
}

const notProduced = `
## What was not brought about

* **A warm-up task that caught up (T5, ` + "`warmupRefined`" + `).** Kafka 4.4.0 has the rebalance for it, but the step that would refine an assignment
  (AssignmentRefiner) returns it unchanged, so that no member can cause one. rebalance/testdata/streams tells it from records as the
  coordinator would write them.
* **Tags for rack-aware assignment (T4).** A second configuration that is compared as the number of standby replicas is.
* **Members that an administrator removes, and classic members of a consumer group that time out (C5).** The records are those of any member
  that is gone.
* **Share groups of Kafka 4.0.** They are an early access whose records later releases do not read.
* **The resolution of regular expressions that runs every 10 minutes (C3).** It is the one that the creation of a topic sets off, later.
`
