package imagediff

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/wire"
	"github.com/kraftside/kraftside/metadatalog/record"
)

const redacted = wire.Redacted

func features(m *image.MetadataImage) (all []thing) {
	for l := range m.Features().All() {
		f := plain("", l.Level)
		if name := image.MetadataVersionName(l.Level); l.Name == image.MetadataVersionFeature && name != "" {
			f.text = fmt.Sprintf("%d (%s)", l.Level, name)
		}
		all = append(all, thing{
			key:      l.Name,
			identity: Change{Part: Features, Name: l.Name},
			name:     cli.Name(l.Name),
			added:    "set to", removed: "removed, was",
			fields: []field{f},
		})
	}
	return all
}

// resourceTypes are the words for Kafka's ConfigResource.Type.
var resourceTypes = map[int8]string{2: "topic", 4: "broker", 8: "broker logger", 16: "client metrics", 32: "group"}

func configs(m *image.MetadataImage) (all []thing) {
	for c := range m.Configs().All() {
		resource := resourceTypes[c.Type]
		if resource == "" {
			resource = fmt.Sprintf("resource type %d", c.Type)
		}
		name := resource + " " + cli.Name(c.Name)
		if c.Name == "" {
			resource, name = "default "+resource, "default "+resource
		} else {
			resource += " " + c.Name
		}
		f := field{value: c.Value, shown: c.Value, text: cli.Name(c.Value)}
		if record.SensitiveConfig(c.Key) {
			f = secret("", c.Value)
		}
		all = append(all, thing{
			key:      image.Config{ConfigResource: c.ConfigResource, Key: c.Key},
			identity: Change{Part: Configs, Resource: resource, Name: c.Key},
			name:     name + ": " + cli.Name(c.Key),
			added:    "set to", removed: "removed, was",
			fields: []field{f},
		})
	}
	return all
}

func quotas(m *image.MetadataImage) (all []thing) {
	for q := range m.ClientQuotas().All() {
		number := json.RawMessage(wire.AppendJavaDouble(nil, q.Value))
		entity := entityName(q.Entity)
		all = append(all, thing{
			key:      string(quotaKey(&q)),
			identity: Change{Part: Quotas, Resource: entity, Name: q.Key},
			name:     entity + ": " + cli.Name(q.Key),
			added:    "set to", removed: "removed, was",
			fields: []field{{value: q.Value, shown: number, text: strings.Trim(string(number), `"`)}},
		})
	}
	return all
}

// quotaKey is unique, which the words for an entity need not be.
func quotaKey(q *image.ClientQuota) (key []byte) {
	key = strconv.AppendQuote(key, q.Key)
	for _, e := range q.Entity {
		key = strconv.AppendQuote(key, e.Type)
		if e.Name != nil {
			key = strconv.AppendQuote(append(key, '='), *e.Name)
		}
	}
	return key
}

// entityName is who a quota is for: "user alice, client-id default".
func entityName(entity []image.QuotaEntity) string {
	var parts []string
	for _, e := range entity {
		switch {
		case e.Name == nil:
			parts = append(parts, cli.Name(e.Type)+" default")
		case *e.Name == "default": // which is not the default
			parts = append(parts, cli.Name(e.Type)+` "default"`)
		default:
			parts = append(parts, cli.Name(e.Type)+" "+cli.Name(*e.Name))
		}
	}
	return strings.Join(parts, ", ")
}

// Words for the codes of ACLs: Kafka's ResourceType, AclOperation and
// AclPermissionType.
var (
	aclResources   = []string{2: "topic", 3: "group", 4: "cluster", 5: "transactional id", 6: "delegation token", 7: "user"}
	aclPermissions = []string{2: "deny", 3: "allow"}
	aclOperations  = []string{
		2: "ALL", 3: "READ", 4: "WRITE", 5: "CREATE", 6: "DELETE", 7: "ALTER", 8: "DESCRIBE", 9: "CLUSTER_ACTION", 10: "DESCRIBE_CONFIGS",
		11: "ALTER_CONFIGS", 12: "IDEMPOTENT_WRITE", 13: "CREATE_TOKENS", 14: "DESCRIBE_TOKENS", 15: "TWO_PHASE_COMMIT",
	}
)

// literalPattern is Kafka's PatternType of a name that stands for itself.
const literalPattern = 3

var aclPatterns = []string{4: "prefix"}

func word(words []string, code int8) string {
	if code >= 0 && int(code) < len(words) && words[code] != "" {
		return words[code]
	}
	return fmt.Sprintf("code %d", code)
}

func acls(m *image.MetadataImage) (all []thing) {
	for a := range m.Acls().All() {
		resource := word(aclResources, a.ResourceType)
		if a.PatternType != literalPattern {
			resource += " " + word(aclPatterns, a.PatternType)
		}
		rule := fmt.Sprintf("%s %s %s on %s %s from host %s", word(aclPermissions, a.PermissionType), cli.Name(a.Principal),
			word(aclOperations, a.Operation), resource, cli.Name(a.ResourceName), cli.Name(a.Host))
		all = append(all, thing{
			key:      a.ID,
			identity: Change{Part: Acls, Name: a.ID.String(), Resource: resource + " " + a.ResourceName},
			name:     "ACL " + a.ID.String(),
			added:    "added:", removed: "removed:",
			fields: []field{{value: a, shown: rule, text: rule}},
		})
	}
	return all
}

var mechanisms = []string{1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}

func credentials(m *image.MetadataImage) (all []thing) {
	for c := range m.Scram().All() {
		mechanism := word(mechanisms, c.Mechanism)
		all = append(all, thing{
			key:      [2]any{c.Mechanism, c.User},
			identity: Change{Part: Scram, Resource: c.User, Name: mechanism},
			name:     "user " + cli.Name(c.User) + ": " + mechanism + " credential",
			added:    "added", removed: "removed",
			fields: []field{
				plain("iterations", c.Iterations),
				secret("keys", [3]string{string(c.Salt), string(c.StoredKey), string(c.ServerKey)}),
			},
		})
	}
	return all
}

func tokens(m *image.MetadataImage) (all []thing) {
	for t := range m.DelegationTokens().All() {
		renewers := append([]string{}, t.Renewers...)
		all = append(all, thing{
			key:      t.ID,
			identity: Change{Part: Tokens, Name: t.ID},
			name:     "token " + cli.Name(t.ID),
			added:    "issued", removed: "removed",
			fields: []field{
				{name: "owner", value: t.Owner, shown: t.Owner, text: cli.Name(t.Owner)},
				{name: "requester", value: t.Requester, shown: t.Requester, text: cli.Name(t.Requester)},
				{name: "renewers", value: renewers, shown: renewers, text: rackList(renewers)},
				moment("issuedAt", t.IssuedAt), moment("expiresAt", t.ExpiresAt), moment("maxAt", t.MaxAt),
			},
		})
	}
	return all
}

// moment is a time. Its text is that of JSON, because a summary does not know
// the reader's zone.
func moment(name string, ms int64) field {
	text, _ := cli.Time(ms).MarshalJSON() // which does not fail
	return field{name: name, value: ms, shown: cli.Time(ms), text: strings.Trim(string(text), `"`)}
}

func producerIDs(m *image.MetadataImage) []thing {
	next := m.NextProducerID()
	if next < 0 {
		return nil
	}
	return []thing{{
		key:      ProducerIDs,
		identity: Change{Part: ProducerIDs},
		name:     "next producer id",
		added:    "is", removed: "removed, was",
		fields: []field{plain("", next)},
	}}
}
