package image

import (
	"cmp"
	"iter"
	"slices"
)

// ClientQuotasImage is the client quotas. It never changes after it is
// published.
type ClientQuotasImage struct {
	quotas table[ClientQuota]
}

// ClientQuota is one limit of an entity.
type ClientQuota struct {
	Entity []QuotaEntity // by type; shared: do not change it
	Key    string
	Value  float64
}

// QuotaEntity is a part of what a quota applies to: Type is user, client-id or
// ip; a nil Name is the default of the type.
type QuotaEntity struct {
	Type string
	Name *string
}

func newQuotas() *ClientQuotasImage {
	return &ClientQuotasImage{newTable(func(a, b ClientQuota) bool {
		return cmp.Or(slices.CompareFunc(a.Entity, b.Entity, compareEntities), cmp.Compare(a.Key, b.Key)) < 0
	})}
}

func compareEntities(a, b QuotaEntity) int {
	if c := cmp.Compare(a.Type, b.Type); c != 0 {
		return c
	}
	switch {
	case a.Name == nil && b.Name == nil:
		return 0
	case a.Name == nil:
		return -1
	case b.Name == nil:
		return 1
	}
	return cmp.Compare(*a.Name, *b.Name)
}

func (q *ClientQuotasImage) copy() *ClientQuotasImage { return &ClientQuotasImage{q.quotas.copy()} }

// All yields the quotas by entity and key.
func (q *ClientQuotasImage) All() iter.Seq[ClientQuota] { return q.quotas.all() }

// Equal compares every quota.
func (q *ClientQuotasImage) Equal(r *ClientQuotasImage) bool {
	return q.quotas.equal(r.quotas, func(a, b ClientQuota) bool {
		return a.Key == b.Key && a.Value == b.Value && slices.CompareFunc(a.Entity, b.Entity, compareEntities) == 0
	})
}
