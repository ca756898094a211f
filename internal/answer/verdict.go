package answer

import (
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/topichash"
	"github.com/kraftside/kraftside/web/api"
)

// colored is a verdict in its colour.
func colored(t *cli.Text, v topichash.Verdict) string {
	switch v {
	case topichash.Match:
		return t.Green(string(v))
	case topichash.Pending, topichash.Stale:
		return t.Yellow(string(v))
	case topichash.Drift:
		return t.Red(string(v))
	}
	return t.Dim(string(v))
}

// dated is a verdict with the time since when it holds, where there is one.
func dated(t *cli.Text, h *api.MetadataHash) string {
	if h.Since == nil {
		return colored(t, h.Verdict)
	}
	return colored(t, h.Verdict) + " since " + t.Format(int64(*h.Since))
}

// short is a verdict with the reason or the time that belongs to it.
func short(t *cli.Text, h *api.MetadataHash) string {
	if h.Reason != nil {
		return colored(t, h.Verdict) + " (" + cli.Escape(*h.Reason) + ")"
	}
	return dated(t, h)
}

// meaning says in plain words what the verdict on a group means that
// subscribes to topics, and outcome what will settle it; "" if nothing is open.
func meaning(h *api.MetadataHash, topics string) (meaning, outcome string) {
	switch h.Verdict {
	case topichash.Match:
		return "what the coordinator stored is what the metadata log gives", ""
	case topichash.Pending:
		return "a record touched " + topics + ", and nothing shows yet that the coordinator has compared since",
			"the next heartbeat of a member makes it compare; if the hash is another one then, the group rebalances"
	case topichash.Stale:
		return "the coordinator stored a hash of older metadata, and will not notice by itself",
			"the group will rebalance when a record touches " + topics + ", or the coordinator moves"
	case topichash.Drift:
		return "no state of the metadata log explains the stored hash: the coordinator and the log disagree",
			"a move of the coordinator makes it compute anew; before that, keep the logs of both and report it"
	}
	if h.Reason == nil {
		return "it cannot be told", ""
	}
	return unknown(*h.Reason)
}

func unknown(reason string) (meaning, outcome string) {
	switch reason {
	case topichash.OlderThanHistory:
		return "the stored hash may rest on metadata from before what is known here",
			"it can be told after the next change of its topics, or when the coordinator moves"
	case topichash.BehindCoordinator:
		return "it was stored after the last metadata record that was read here", "it can be told once more of the metadata log is read"
	case topichash.NotStoredYet:
		return "no hash was stored since members joined", "the coordinator stores one with the group's next epoch"
	case topichash.NoMembers:
		return "the group has no members, and the coordinator compares only for a member", "a member that joins makes it compare"
	case topichash.TooManyMixes:
		return "its topics changed so often that not every combination of their states was tried", ""
	}
	return "it cannot be told: " + cli.Escape(reason), ""
}

// noHash says why there is none.
func noHash(g *api.Group) string {
	switch {
	case g.Type == "classic":
		return "classic groups have no hash"
	case g.MetadataHash.Stored != nil:
		return "the coordinator is of a version that writes a zero here whatever the metadata are"
	}
	return "the coordinator is of a version that stores no hash"
}
