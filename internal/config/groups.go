package config

import (
	"errors"

	"github.com/kraftside/kraftside/internal/kafka"
)

// Scope is which groups are followed.
type Scope string

// The scopes.
const (
	// ScopeAuto is ScopeLocal with a neighbour broker, else ScopeAll. Whether
	// there is one, a log directory may have to tell first.
	ScopeAuto  Scope = ""
	ScopeLocal Scope = "local"
	ScopeAll   Scope = "all"
)

// Groups is which groups are followed, and how fast.
type Groups struct {
	Scope             Scope
	MaxBytesPerSecond Bytes // 0 is no limit
}

func (g *Groups) settings() []setting {
	return []setting{
		{"scope", choice(&g.Scope, ScopeLocal, ScopeAll),
			"local: follow the groups whose log the broker beside this process has a replica of, and answer for those it coordinates. " +
				"all: follow and answer for all groups. Default: local with a broker beside, else all"},
		{"max-bytes-per-second", size(&g.MaxBytesPerSecond), "how fast partitions that are behind are read, all together; 0 is no limit"},
	}
}

// OffsetsSource is where __consumer_offsets is read.
type OffsetsSource string

// The sources of __consumer_offsets.
const (
	OffsetsKafka OffsetsSource = "kafka" // from the leaders of the partitions
	OffsetsDir   OffsetsSource = "dir"   // from the disk of the broker beside us
)

// Offsets is where __consumer_offsets is read.
type Offsets struct {
	Source OffsetsSource
	Dirs   []string
}

func (o *Offsets) settings() []setting {
	return []setting{
		{"source", choice(&o.Source, OffsetsKafka, OffsetsDir),
			"kafka: from the leaders of its partitions. dir: from the disk of the broker beside this process, about 5 s late; it needs no credential"},
		{"dirs", list(&o.Dirs, "DIR", nil), "the broker's log.dirs, all of them, for the source dir; default: metadata.dir"},
	}
}

func (c *Config) validateGroups() error {
	dirs := c.Metadata.Dir != "" || len(c.Offsets.Dirs) > 0
	return errors.Join(
		c.validateScope(dirs),
		c.validateOffsets(dirs),
	)
}

func (c *Config) validateScope(dirs bool) error {
	switch {
	case c.Groups.Scope == ScopeLocal && c.NodeID == kafka.NoNode && !dirs:
		return errors.New("groups.scope is local and node-id is not set: which broker is the neighbour?")
	case c.Groups.Scope == ScopeAll && c.Offsets.Source == OffsetsDir:
		return errors.New("groups.scope is all and offsets.source is dir: a broker's disk holds the groups of some partitions only; " +
			"use the scope local or the source kafka")
	}
	return nil
}

func (c *Config) validateOffsets(dirs bool) error {
	switch {
	case c.Offsets.Source == OffsetsDir && !dirs:
		return errors.New("offsets.source is dir, and neither offsets.dirs nor metadata.dir is set: give the broker's log directories")
	case c.Offsets.Source == OffsetsKafka && len(c.Kafka.Bootstrap) == 0:
		return errors.New("offsets.source is kafka and kafka.bootstrap is not set: give the address of at least one broker")
	}
	return nil
}
