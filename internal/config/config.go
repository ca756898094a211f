// Package config is the configuration of `kraftside run`, so that every setting
// is known by one name, wherever it is given.
//
// A setting is at once a flag (--store.max-bytes), a key of a YAML file (store:
// {max-bytes: …}) and an environment variable (KRAFTSIDE_STORE_MAX_BYTES). The
// later of defaults, file, environment and flags wins. What is not known or
// not understood is an error that says where it stands and what was meant.
// Secrets are read from files that settings name; the few that may be given as
// they are come from the environment alone.
//
// A setting stands in one place: the structure of its subsystem, with its name,
// its form and its help beside the field. docs/configuration.md is made of that.
package config

import (
	"errors"
	"time"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Config is what `run` is told. A Config that Load returned is complete and
// consistent, and is not changed afterwards.
type Config struct {
	// NodeID is the neighbour broker, or kafka.NoNode: there is none, or the
	// log directory says which.
	NodeID      kafka.NodeID
	ClusterName string
	Metadata    Metadata
	Kafka       Kafka
	// Controllers is how to talk to controllers; it has taken over what was
	// set for brokers only.
	Controllers Security
	Groups      Groups
	Offsets     Offsets
	Store       Store
	History     History
	HTTP        HTTP
	Admin       Admin
	Peers       Peers
	Telemetry   Telemetry
	Log         Log
}

// Default is the configuration of which nothing was set.
func Default() *Config {
	return &Config{
		NodeID:   kafka.NoNode,
		Metadata: Metadata{Source: SourceAuto, Unknown: UnknownStop},
		Kafka:    Kafka{Security: Security{TLS: TLS{Enabled: Auto}, SASL: SASL{Mechanism: NoSASL}}},
		Controllers: Security{
			TLS: TLS{Enabled: Auto}, SASL: SASL{Mechanism: Inherit},
		},
		Groups:    Groups{MaxBytesPerSecond: 10 * MiB},
		Offsets:   Offsets{Source: OffsetsKafka},
		Store:     Store{MaxBytes: 512 * MiB, MinFree: 64 * MiB, OnMismatch: SetAside},
		History:   History{MaxAge: 30 * 24 * time.Hour},
		HTTP:      HTTP{Listen: ":9464"},
		Admin:     Admin{Listen: "127.0.0.1:9192", SASL: AdminSASL{Tokens: AdminTokens{Claim: "sub"}}, MaxStaleness: 5 * time.Second},
		Telemetry: Telemetry{SlowAfter: time.Minute, OTLP: OTLP{MaxAge: time.Hour}},
		Log:       Log{Level: "info", Format: "text"},
	}
}

// section is the settings under one key of the file.
type section struct {
	name     string // "" for those that are under none
	about    string
	settings []setting
}

// sections are all settings, in the order in which they are shown.
func (c *Config) sections() []section {
	return []section{
		{"", "", []setting{
			{"node-id", node(&c.NodeID), "the broker beside this process, as its node.id (0 is one, too); default: the one whose log directory is read, or none"},
			{"cluster-name", text(&c.ClusterName, "NAME"), "what people call the cluster; it is shown beside the cluster id"},
		}},
		{"metadata", "Where the metadata log is read.", c.Metadata.settings()},
		{"kafka", "How to talk to brokers.", c.Kafka.settings()},
		{"controllers", "How to talk to controllers. What is not set here is as under `kafka`; a user and its password, and a " +
			"certificate and its key, are taken over together or not at all.", c.Controllers.settings()},
		{"groups", "Which groups to follow.", c.Groups.settings()},
		{"offsets", "Where the group coordinators' log, `__consumer_offsets`, is read.", c.Offsets.settings()},
		{"store", "What is kept on disk across restarts.", c.Store.settings()},
		{"history", "What is kept of what happened, in the store if there is one.", c.History.settings()},
		{"http", "The HTTP server. `/healthz`, `/readyz` and `/metrics` are for anyone who can reach it. The rest is for the same " +
			"host, unless one of the settings below opens it.", c.HTTP.settings()},
		{"admin", "The endpoint for Kafka's protocol, which kadm, Kafka's own tools and dashboards can ask in the place of brokers: " +
			"see [admin.md](admin.md).", c.Admin.settings()},
		{"peers", "The other sidecars of the cluster, which are asked so that one answer is the whole cluster's.", c.Peers.settings()},
		{"telemetry", "What is told of rebalances: see [metrics.md](metrics.md) and [traces.md](traces.md).", c.Telemetry.settings()},
		{"log", "What the process says of itself, on standard error.", c.Log.settings()},
	}
}

// settings are all settings by their full keys.
func (c *Config) settings() []setting {
	var all []setting
	for _, s := range c.sections() {
		for _, one := range s.settings {
			if s.name != "" {
				one.key = s.name + "." + one.key
			}
			all = append(all, one)
		}
	}
	return all
}

// complete fills in what depends on other settings.
func (c *Config) complete() {
	c.Kafka.TLS.decide()
	c.Controllers.inherit(&c.Kafka.Security)
}

// Validate says what does not go together, and why, all of it at once. What
// one setting may be by itself was checked when it was read.
func (c *Config) Validate() error {
	return errors.Join(
		c.validateMetadata(),
		c.Kafka.validate("kafka"),
		c.Controllers.validate("controllers"),
		c.validateGroups(),
		c.History.validate(),
		c.HTTP.validate(),
		c.validateAdmin(),
	)
}
