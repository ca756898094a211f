package image

import (
	"iter"
	"strings"
)

// MetadataVersionFeature is the name of the feature whose level is the
// metadata.version.
const MetadataVersionFeature = "metadata.version"

// Levels of metadata.version (Kafka's MetadataVersion) from which a record
// has a newer form or a release its own rules.
const (
	mvControlledShutdown  = 7  // 3.3-IV3
	mvZkMigration         = 8  // 3.4-IV0
	mvDirectoryAssignment = 17 // 3.7-IV2
	mvElr                 = 23 // 4.0-IV1
	mvCordonedLogDirs     = 30 // 4.3-IV0
)

// elrFeature switches on the eligible leader replicas of KIP-966.
const elrFeature = "eligible.leader.replicas.version"

// FeaturesImage is the finalized feature levels. It never changes after it is
// published.
type FeaturesImage struct {
	levels table[FeatureLevel]
}

// FeatureLevel is the finalized level of a feature, 1 or more.
type FeatureLevel struct {
	Name  string
	Level int16
}

func newFeatures() *FeaturesImage {
	return &FeaturesImage{newTable(func(a, b FeatureLevel) bool { return a.Name < b.Name })}
}

func (f *FeaturesImage) copy() *FeaturesImage { return &FeaturesImage{f.levels.copy()} }

// Level is the level of a feature; 0 if it is not finalized.
func (f *FeaturesImage) Level(name string) int16 {
	l, _ := f.levels.get(FeatureLevel{Name: name})
	return l.Level
}

// MetadataVersion is the level of metadata.version; 0 before it is known.
func (f *FeaturesImage) MetadataVersion() int16 { return f.Level(MetadataVersionFeature) }

// All yields the levels by name.
func (f *FeaturesImage) All() iter.Seq[FeatureLevel] { return f.levels.all() }

// Equal compares every level.
func (f *FeaturesImage) Equal(g *FeaturesImage) bool {
	return f.levels.equal(g.levels, func(a, b FeatureLevel) bool { return a == b })
}

func (f *FeaturesImage) elrEnabled() bool {
	return f.MetadataVersion() >= mvElr && f.Level(elrFeature) > 0
}

// metadataVersionNames are the releases' names for the levels since the first
// that KRaft supports.
var metadataVersionNames = strings.Fields(`3.3-IV3
	3.4-IV0 3.5-IV0 3.5-IV1 3.5-IV2 3.6-IV0 3.6-IV1 3.6-IV2
	3.7-IV0 3.7-IV1 3.7-IV2 3.7-IV3 3.7-IV4 3.8-IV0 3.9-IV0
	4.0-IV0 4.0-IV1 4.0-IV2 4.0-IV3 4.1-IV0 4.1-IV1 4.2-IV0 4.2-IV1
	4.3-IV0 4.4-IV0 4.4-IV1 4.4-IV2`)

// MetadataVersionName is Kafka's name of a level of metadata.version, such as
// 4.4-IV2; "" for one that is not known here.
func MetadataVersionName(level int16) string {
	i := int(level) - mvControlledShutdown
	if i < 0 || i >= len(metadataVersionNames) {
		return ""
	}
	return metadataVersionNames[i]
}
