package image

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"github.com/kraftside/kraftside/internal/kafka"
)

// AclsImage is the access control entries. It never changes after it is
// published.
type AclsImage struct {
	entries table[Acl]
}

// Acl is an access control entry. The numbers are the codes of Kafka's
// ResourceType, PatternType, AclOperation and AclPermissionType.
type Acl struct {
	ID             kafka.UUID
	ResourceType   int8
	ResourceName   string
	PatternType    int8
	Principal      string
	Host           string
	Operation      int8
	PermissionType int8
}

func newAcls() *AclsImage {
	return &AclsImage{newTable(func(a, b Acl) bool { return bytes.Compare(a.ID[:], b.ID[:]) < 0 })}
}

func (a *AclsImage) copy() *AclsImage { return &AclsImage{a.entries.copy()} }

// All yields the entries by id.
func (a *AclsImage) All() iter.Seq[Acl] { return a.entries.all() }

// Equal compares every entry.
func (a *AclsImage) Equal(b *AclsImage) bool {
	return a.entries.equal(b.entries, func(x, y Acl) bool { return x == y })
}

// ScramImage is the SCRAM credentials of users. It never changes after it is
// published. Its keys are secrets: no output may show them.
type ScramImage struct {
	credentials table[ScramCredential]
}

// ScramCredential is a user's credential for a mechanism (1 SCRAM-SHA-256, 2
// SCRAM-SHA-512). The byte slices are shared: do not change them.
type ScramCredential struct {
	User                       string
	Mechanism                  int8
	Salt, StoredKey, ServerKey []byte
	Iterations                 int32
}

func newScram() *ScramImage {
	return &ScramImage{newTable(func(a, b ScramCredential) bool {
		return cmp.Or(cmp.Compare(a.Mechanism, b.Mechanism), cmp.Compare(a.User, b.User)) < 0
	})}
}

func (s *ScramImage) copy() *ScramImage { return &ScramImage{s.credentials.copy()} }

// All yields the credentials by mechanism and user.
func (s *ScramImage) All() iter.Seq[ScramCredential] { return s.credentials.all() }

// Equal compares every credential.
func (s *ScramImage) Equal(t *ScramImage) bool {
	return s.credentials.equal(t.credentials, func(a, b ScramCredential) bool {
		return a.User == b.User && a.Mechanism == b.Mechanism && a.Iterations == b.Iterations &&
			bytes.Equal(a.Salt, b.Salt) && bytes.Equal(a.StoredKey, b.StoredKey) && bytes.Equal(a.ServerKey, b.ServerKey)
	})
}

// DelegationTokensImage is the delegation tokens. It never changes after it
// is published.
type DelegationTokensImage struct {
	tokens table[DelegationToken]
}

// DelegationToken describes a token; times are milliseconds since 1970. The
// token's HMAC is not in the log.
type DelegationToken struct {
	ID               string
	Owner, Requester string
	Renewers         []string
	IssuedAt         int64
	MaxAt            int64
	ExpiresAt        int64
}

func newTokens() *DelegationTokensImage {
	return &DelegationTokensImage{newTable(func(a, b DelegationToken) bool { return a.ID < b.ID })}
}

func (d *DelegationTokensImage) copy() *DelegationTokensImage {
	return &DelegationTokensImage{d.tokens.copy()}
}

// All yields the tokens by id.
func (d *DelegationTokensImage) All() iter.Seq[DelegationToken] { return d.tokens.all() }

// Equal compares every token.
func (d *DelegationTokensImage) Equal(e *DelegationTokensImage) bool {
	return d.tokens.equal(e.tokens, func(a, b DelegationToken) bool {
		return a.ID == b.ID && a.Owner == b.Owner && a.Requester == b.Requester && slices.Equal(a.Renewers, b.Renewers) &&
			a.IssuedAt == b.IssuedAt && a.MaxAt == b.MaxAt && a.ExpiresAt == b.ExpiresAt
	})
}
