package config

import "errors"

// MetadataSource is where the metadata log is read.
type MetadataSource string

// The sources of the metadata log.
const (
	// SourceAuto is SourceDir where the directory is given and can be read,
	// else SourceQuorum.
	SourceAuto   MetadataSource = "auto"
	SourceQuorum MetadataSource = "quorum" // from the controllers
	SourceDir    MetadataSource = "dir"    // from the disk of the broker beside us
)

// UnknownPolicy is what happens at a metadata record that cannot be replayed.
type UnknownPolicy string

// The policies, as image/loader has them.
const (
	UnknownStop UnknownPolicy = "stop"
	UnknownSkip UnknownPolicy = "skip"
)

// Metadata is where the metadata log is read.
type Metadata struct {
	Source      MetadataSource
	Controllers []string // [ID@]HOST:PORT
	Dir         string
	Unknown     UnknownPolicy
}

func (m *Metadata) settings() []setting {
	return []setting{
		{"source", choice(&m.Source, SourceAuto, SourceQuorum, SourceDir),
			"quorum: from the controllers. dir: from the disk of the broker beside this process, up to what that broker says it has applied. " +
				"auto: dir if a directory is given and can be read, else quorum"},
		{"controllers", list(&m.Controllers, "[ID@]HOST:PORT", controllerAddress),
			"controllers' listeners; one that is up is enough to find the others. With ID@, the address is used for that controller " +
				"instead of the one it advertises, which may not be reachable from here"},
		{"dir", text(&m.Dir, "DIR"),
			"the broker's metadata.log.dir (by default the first of its log.dirs), or __cluster_metadata-0 in it; it is only read"},
		{"unknown", choice(&m.Unknown, UnknownStop, UnknownSkip),
			"what happens at a record that cannot be decoded or applied. stop: the metadata stays as it is before that record, and /readyz " +
				"says so. skip: it is left out, and what is shown may be wrong from then on"},
	}
}

func (c *Config) validateMetadata() error {
	m := &c.Metadata
	switch {
	case m.Source == SourceQuorum && len(m.Controllers) == 0:
		return errors.New("metadata.source is quorum and metadata.controllers is not set: give the address of at least one controller")
	case m.Source == SourceDir && m.Dir == "":
		return errors.New("metadata.source is dir and metadata.dir is not set: give the broker's metadata log directory")
	case len(m.Controllers) == 0 && m.Dir == "":
		return errors.New("neither metadata.controllers nor metadata.dir is set: there is nothing to read the metadata log from")
	case m.Source != SourceQuorum && m.Dir != "" && len(c.Kafka.Bootstrap) == 0:
		return errors.New("metadata.dir is set and kafka.bootstrap is not: only the broker can tell how much of its log directory " +
			"is committed")
	}
	return nil
}
