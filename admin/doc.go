// Package admin answers the read-only requests of Kafka's protocol from what
// the sidecar knows, so that tools and dashboards ask it where they would ask
// brokers.
//
// There is one file for each API, named by its key: the directory is the list
// of what is served. A request is answered from one pipeline.View. What would
// need a broker's disk, and whatever changes something, is not advertised, and
// refused if somebody sends it all the same.
//
// # Non-obvious
//
//   - Clients follow the addresses that Metadata and FindCoordinator name. So
//     every broker has an address that leads to a sidecar: see Options.
//   - A connection stands for one broker, if it can be known for which, and
//     for the whole cluster otherwise: call.broker. What a broker answers of
//     itself alone (its groups, say) depends on that.
//   - kgo sends what is not advertised: it takes a server that does not
//     advertise Produce for one that said nothing of its versions. Hence refuse.
//   - What is as old as Options.MaxStaleness is refused with an error that
//     clients try again, as a broker does whose coordinator is loading.
package admin
