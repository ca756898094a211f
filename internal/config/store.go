package config

// OnMismatch is what happens at a store of another cluster or a newer format.
type OnMismatch string

// The answers to a mismatch, as package store has them.
const (
	SetAside OnMismatch = "set-aside"
	Fail     OnMismatch = "fail"
)

// Store is what is kept on disk. Its limits are checked by package store,
// which knows what it can do with.
type Store struct {
	Dir        string
	MaxBytes   Bytes
	MinFree    Bytes
	OnMismatch OnMismatch
}

func (s *Store) settings() []setting {
	return []setting{
		{"dir", text(&s.Dir, "DIR"), "directory of the store, for this process alone; without it nothing outlives a restart"},
		{"max-bytes", size(&s.MaxBytes), "how much disk the store may take, space not given back yet included"},
		{"min-free", size(&s.MinFree), "how much of the disk must stay free; below it nothing more is kept, and /readyz says so"},
		{"on-mismatch", choice(&s.OnMismatch, SetAside, Fail),
			"what happens if the store is another cluster's or of a newer format. set-aside: it is renamed and a new one begun. fail: it is left as it is and not used"},
	}
}

// Log is what the process says of itself.
type Log struct {
	Level  string // debug, info, warn or error, as slog has them
	Format string // text or json
}

func (l *Log) settings() []setting {
	return []setting{
		{"level", choice(&l.Level, "debug", "info", "warn", "error"), "the least level that is logged"},
		{"format", choice(&l.Format, "text", "json"), "how lines are written"},
	}
}
