package rebalance

import "github.com/kraftside/kraftside/internal/rowvalue"

// whole is a rebalance in one piece, but for its identity.
type whole struct {
	Rebalance
	Members []Member
}

// Encode returns all of a rebalance but its identity, as CBOR like that of a
// Row: for a store that is to keep what it was at some time.
func (r *Rebalance) Encode() []byte { return rowvalue.Encode(&whole{*r, r.Members}) }

// Decode returns the rebalance of an identity that Encode was called of. The
// error wraps ErrRow.
func Decode(id ID, encoded []byte) (*Rebalance, error) {
	var w whole
	if err := read(encoded, &w); err != nil {
		return nil, err
	}
	r := &w.Rebalance
	r.ID, r.Members = id, w.Members
	return r, nil
}
