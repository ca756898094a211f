package admin

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/image"
)

// DescribeClientQuotas v0-1 (ClientQuotasImage.describe):
//
//   - An entity is listed if it has every type that the filter names, and with
//     Strict no other.
func (c *call) describeClientQuotas(q *kmsg.DescribeClientQuotasRequest) *kmsg.DescribeClientQuotasResponse {
	r := reply[*kmsg.DescribeClientQuotasResponse](q)
	r.ErrorMessage = new("")
	switch wrong := wrongFilter(q.Components); {
	case !c.may(opDescribeConfigs, clusterResource, clusterName):
		r.ErrorCode, r.ErrorMessage = codeClusterAuthorizationFailed, nil
		return r
	case !c.fresh.metadata:
		r.ErrorCode, r.ErrorMessage = codeRequestTimedOut, errorMessage(codeRequestTimedOut)
		return r
	case wrong != "":
		r.ErrorCode, r.ErrorMessage = codeInvalidRequest, &wrong
		return r
	}
	for i := range q.Components {
		if !slices.Contains([]string{"user", "client-id", "ip"}, q.Components[i].EntityType) {
			r.ErrorCode, r.ErrorMessage = codeUnsupportedVersion, new("Unsupported entity type "+q.Components[i].EntityType)
			return r
		}
	}
	r.Entries = []kmsg.DescribeClientQuotasResponseEntry{}
	var last []image.QuotaEntity
	for quota := range c.view.Image.ClientQuotas().All() {
		if !matchesQuota(q, quota.Entity) {
			continue
		}
		if len(r.Entries) == 0 || !sameEntity(last, quota.Entity) {
			r.Entries = append(r.Entries, quotaEntry(quota.Entity))
			last = quota.Entity
		}
		e := &r.Entries[len(r.Entries)-1]
		e.Values = append(e.Values, kmsg.DescribeClientQuotasResponseEntryValue{Key: quota.Key, Value: quota.Value})
	}
	return r
}

func quotaEntry(entity []image.QuotaEntity) (e kmsg.DescribeClientQuotasResponseEntry) {
	for _, part := range entity {
		e.Entity = append(e.Entity, kmsg.DescribeClientQuotasResponseEntryEntity{Type: part.Type, Name: part.Name})
	}
	return e
}

func sameEntity(a, b []image.QuotaEntity) bool {
	return slices.EqualFunc(a, b, func(p, q image.QuotaEntity) bool { return p.Type == q.Type && sameName(p.Name, q.Name) })
}

func sameName(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// wrongFilter says what is wrong with a filter.
func wrongFilter(components []kmsg.DescribeClientQuotasRequestComponent) string {
	seen := map[string]bool{}
	for i := range components {
		part := &components[i]
		switch {
		case part.EntityType == "":
			return "Invalid empty entity type."
		case seen[part.EntityType]:
			return "Entity type " + part.EntityType + " cannot appear more than once in the filter."
		case part.MatchType == kmsg.QuotasMatchTypeExact && part.Match == nil:
			return "Request specified MATCH_TYPE_EXACT, but set match string to null."
		case part.MatchType == kmsg.QuotasMatchTypeDefault && part.Match != nil:
			return "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."
		case part.MatchType == kmsg.QuotasMatchTypeAny && part.Match != nil:
			return "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."
		case part.MatchType < kmsg.QuotasMatchTypeExact || part.MatchType > kmsg.QuotasMatchTypeAny:
			return fmt.Sprintf("Unknown match type %d", part.MatchType)
		}
		seen[part.EntityType] = true
	}
	if seen["ip"] && (seen["user"] || seen["client-id"]) {
		return "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component."
	}
	return ""
}

func matchesQuota(q *kmsg.DescribeClientQuotasRequest, entity []image.QuotaEntity) bool {
	if q.Strict && len(entity) != len(q.Components) {
		return false
	}
	for i := range q.Components {
		part := &q.Components[i]
		at := slices.IndexFunc(entity, func(e image.QuotaEntity) bool { return e.Type == part.EntityType })
		if at < 0 || part.MatchType != kmsg.QuotasMatchTypeAny && !sameName(entity[at].Name, part.Match) {
			return false
		}
	}
	return true
}
