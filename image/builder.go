package image

import "github.com/kraftside/kraftside/internal/kafka"

// Builder makes the next image from one that stays as it is. Package delta
// alone may use it: it holds the rules of replay, the builder only the parts.
// It belongs to one goroutine; of all builders only one may be at work.
//
// A part is copied when it is first changed, which costs nothing but the
// nodes that the change touches. It is a value, so that a delta of one record
// needs no memory of its own for it; it must not be copied once it is in use.
type Builder struct {
	img    MetadataImage
	topics TopicsBuilder
	owned  struct{ features, cluster, configs, quotas, acls, scram, tokens bool }
}

// NewBuilder starts from base.
func NewBuilder(base *MetadataImage) Builder { return Builder{img: *base} }

// Topics is the builder of the topics.
func (b *Builder) Topics() *TopicsBuilder {
	if !b.topics.inUse() {
		b.topics = NewTopicsBuilder(b.img.topics)
	}
	return &b.topics
}

// Features is the feature levels as they are now.
func (b *Builder) Features() *FeaturesImage { return b.img.features }

// SetFeature sets a level; 0 removes it.
func (b *Builder) SetFeature(name string, level int16) {
	f := own(&b.img.features, &b.owned.features, (*FeaturesImage).copy)
	if level == 0 {
		f.levels.delete(FeatureLevel{Name: name})
		return
	}
	f.levels.set(FeatureLevel{name, level})
}

// Cluster is the registrations as they are now.
func (b *Builder) Cluster() *ClusterImage { return b.img.cluster }

// SetBroker stores a registration, which must not be changed afterwards.
func (b *Builder) SetBroker(r *Broker) {
	own(&b.img.cluster, &b.owned.cluster, (*ClusterImage).copy).brokers.set(r)
}

// RemoveBroker removes a registration; false if there is none.
func (b *Builder) RemoveBroker(id kafka.NodeID) bool {
	return own(&b.img.cluster, &b.owned.cluster, (*ClusterImage).copy).brokers.delete(&Broker{ID: id})
}

// SetController stores a registration, which must not be changed afterwards.
func (b *Builder) SetController(r *Controller) {
	own(&b.img.cluster, &b.owned.cluster, (*ClusterImage).copy).controllers.set(r)
}

// RemoveController removes a registration; false if there is none.
func (b *Builder) RemoveController(id kafka.NodeID) bool {
	return own(&b.img.cluster, &b.owned.cluster, (*ClusterImage).copy).controllers.delete(&Controller{ID: id})
}

// Configs is the configurations as they are now.
func (b *Builder) Configs() *ConfigurationsImage { return b.img.configs }

// SetConfig sets a key.
func (b *Builder) SetConfig(c Config) {
	own(&b.img.configs, &b.owned.configs, (*ConfigurationsImage).copy).entries.set(c)
}

// RemoveConfig removes a key, if it is there.
func (b *Builder) RemoveConfig(r ConfigResource, key string) {
	own(&b.img.configs, &b.owned.configs, (*ConfigurationsImage).copy).entries.delete(Config{ConfigResource: r, Key: key})
}

// SetQuota sets a limit. The entity's parts must be ordered by type.
func (b *Builder) SetQuota(q ClientQuota) {
	own(&b.img.quotas, &b.owned.quotas, (*ClientQuotasImage).copy).quotas.set(q)
}

// RemoveQuota removes a limit, if it is there.
func (b *Builder) RemoveQuota(entity []QuotaEntity, key string) {
	own(&b.img.quotas, &b.owned.quotas, (*ClientQuotasImage).copy).quotas.delete(ClientQuota{Entity: entity, Key: key})
}

// SetNextProducerID sets the first id that no broker has been given.
func (b *Builder) SetNextProducerID(id int64) { b.img.nextProducerID = id }

// SetAcl stores an entry.
func (b *Builder) SetAcl(a Acl) { own(&b.img.acls, &b.owned.acls, (*AclsImage).copy).entries.set(a) }

// RemoveAcl removes an entry; false if there is none.
func (b *Builder) RemoveAcl(id kafka.UUID) bool {
	return own(&b.img.acls, &b.owned.acls, (*AclsImage).copy).entries.delete(Acl{ID: id})
}

// SetScram stores a credential.
func (b *Builder) SetScram(c ScramCredential) {
	own(&b.img.scram, &b.owned.scram, (*ScramImage).copy).credentials.set(c)
}

// RemoveScram removes a credential, if it is there.
func (b *Builder) RemoveScram(user string, mechanism int8) {
	own(&b.img.scram, &b.owned.scram, (*ScramImage).copy).credentials.delete(ScramCredential{User: user, Mechanism: mechanism})
}

// SetToken stores a delegation token.
func (b *Builder) SetToken(t DelegationToken) {
	own(&b.img.tokens, &b.owned.tokens, (*DelegationTokensImage).copy).tokens.set(t)
}

// RemoveToken removes a delegation token, if it is there.
func (b *Builder) RemoveToken(id string) {
	own(&b.img.tokens, &b.owned.tokens, (*DelegationTokensImage).copy).tokens.delete(DelegationToken{ID: id})
}

// Build returns the image. The builder must not be used after it.
func (b *Builder) Build(p Provenance) *MetadataImage {
	img := b.img
	img.provenance = p
	if b.topics.inUse() {
		img.topics = b.topics.Build()
	}
	return &img
}

// own copies a part of the image unless the builder has done so.
func own[T any](part *T, owned *bool, copy func(T) T) T {
	if !*owned {
		*part, *owned = copy(*part), true
	}
	return *part
}
