package delta

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// replayRest replays the records that touch neither topics nor the cluster.
// Transaction records mean nothing here: the loader acts on them.
func (d *Delta) replayRest(m record.Message) error {
	switch r := m.(type) {
	case *record.NoOpRecord, *record.ZkMigrationStateRecord:
	case *record.BeginTransactionRecord, *record.EndTransactionRecord, *record.AbortTransactionRecord:
	case *record.FeatureLevelRecord:
		return d.replayFeature(r)
	case *record.ConfigRecord:
		d.replayConfig(r)
	case *record.ClientQuotaRecord:
		d.replayQuota(r)
	case *record.ProducerIdsRecord:
		d.builder.SetNextProducerID(r.NextProducerID)
	case *record.AccessControlEntryRecord:
		d.builder.SetAcl(aclOf(r))
	case *record.RemoveAccessControlEntryRecord:
		if !d.builder.RemoveAcl(r.ID) {
			return conflict("no access control entry has the id %s", r.ID)
		}
	case *record.UserScramCredentialRecord:
		d.builder.SetScram(credentialOf(r))
	case *record.RemoveUserScramCredentialRecord:
		d.builder.RemoveScram(r.Name, r.Mechanism)
	case *record.DelegationTokenRecord:
		d.builder.SetToken(tokenOf(r))
	case *record.RemoveDelegationTokenRecord:
		d.builder.RemoveToken(r.TokenID)
	default:
		return fmt.Errorf("%w: %s", ErrUnknownRecord, m.Type().RecordName())
	}
	return nil
}

// kraftVersion is decided by the quorum itself; the image leaves it out.
const kraftVersion = "kraft.version"

func (d *Delta) replayFeature(r *record.FeatureLevelRecord) error {
	if r.Name == kraftVersion {
		return nil
	}
	if r.FeatureLevel < 0 {
		return conflict("level %d of feature %s", r.FeatureLevel, r.Name)
	}
	d.builder.SetFeature(strings.Clone(r.Name), r.FeatureLevel)
	return nil
}

func (d *Delta) replayConfig(r *record.ConfigRecord) {
	resource := image.ConfigResource{Type: r.ResourceType, Name: strings.Clone(r.ResourceName)}
	if r.Value == nil {
		d.builder.RemoveConfig(resource, r.Name)
		return
	}
	d.builder.SetConfig(image.Config{ConfigResource: resource, Key: strings.Clone(r.Name), Value: strings.Clone(*r.Value)})
}

func (d *Delta) replayQuota(r *record.ClientQuotaRecord) {
	entity := make([]image.QuotaEntity, 0, len(r.Entity))
	for _, e := range r.Entity {
		entity = append(entity, image.QuotaEntity{Type: strings.Clone(e.EntityType), Name: cloneNullable(e.EntityName)})
	}
	slices.SortStableFunc(entity, func(a, b image.QuotaEntity) int { return strings.Compare(a.Type, b.Type) })
	if r.Remove {
		d.builder.RemoveQuota(entity, r.Key)
		return
	}
	d.builder.SetQuota(image.ClientQuota{Entity: entity, Key: strings.Clone(r.Key), Value: r.Value})
}

func aclOf(r *record.AccessControlEntryRecord) image.Acl {
	return image.Acl{
		ID:             r.ID,
		ResourceType:   r.ResourceType,
		ResourceName:   strings.Clone(r.ResourceName),
		PatternType:    r.PatternType,
		Principal:      strings.Clone(r.Principal),
		Host:           strings.Clone(r.Host),
		Operation:      r.Operation,
		PermissionType: r.PermissionType,
	}
}

func credentialOf(r *record.UserScramCredentialRecord) image.ScramCredential {
	return image.ScramCredential{
		User:       strings.Clone(r.Name),
		Mechanism:  r.Mechanism,
		Salt:       bytes.Clone(r.Salt),
		StoredKey:  bytes.Clone(r.StoredKey),
		ServerKey:  bytes.Clone(r.ServerKey),
		Iterations: r.Iterations,
	}
}

func tokenOf(r *record.DelegationTokenRecord) image.DelegationToken {
	t := image.DelegationToken{
		ID:        strings.Clone(r.TokenID),
		Owner:     strings.Clone(r.Owner),
		Requester: strings.Clone(r.Requester),
		IssuedAt:  r.IssueTimestamp,
		MaxAt:     r.MaxTimestamp,
		ExpiresAt: r.ExpirationTimestamp,
	}
	for _, renewer := range r.Renewers {
		t.Renewers = append(t.Renewers, strings.Clone(renewer))
	}
	return t
}
