//go:build e2e && unix

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/groups"
	"github.com/kraftside/kraftside/test/jvm"
	"github.com/kraftside/kraftside/test/realkafka"
)

// TestCauses has real members and real changes bring about each cause of a
// rebalance, and compares what is explained with what testdata/causes expects
// of the release. On releases before the newest only those scenes are played
// of which the outcome differs there.
func TestCauses(t *testing.T) {
	for _, version := range versions(t) {
		if !strings.HasPrefix(version, "4.0.") { // see TestUpgraded
			t.Run(version, func(t *testing.T) { causes(t, version) })
		}
	}
}

// act is a scene as it is announced.
type act struct {
	name string
	kind groups.Type
	play func(*scene)
	// older: it is played on older releases, too. alone: it changes brokers,
	// which the others would notice.
	older, alone bool
}

func acts() []act {
	return []act{
		{name: "counting", kind: groups.Streams, play: streamsGroup, older: true},
		{name: "passing", kind: groups.Streams, play: streamsMembers, older: true},
		{name: "joining", kind: groups.Consumer, play: memberJoins, older: true},
		{name: "subscribing", kind: groups.Consumer, play: subscriptionChanges},
		{name: "topics", kind: groups.Consumer, play: topicsChange},
		{name: "matching", kind: groups.Consumer, play: expressions},
		{name: "silent", kind: groups.Consumer, play: membersTimeOut},
		{name: "static", kind: groups.Consumer, play: staticMember, older: true},
		{name: "assigned", kind: groups.Consumer, play: assignorChanges, older: true},
		{name: "holding", kind: groups.Consumer, play: neverReconciles},
		{name: "later", kind: groups.Consumer, play: targetLater},
		{name: "both", kind: groups.Consumer, play: twoGroups},
		{name: "sharing", kind: groups.Share, play: shareGroup, older: true},
		{name: "classic", kind: groups.Classic, play: classicGroup},
		{name: "converted", kind: groups.Consumer, play: conversion, older: true},
		{name: "racks", kind: groups.Consumer, play: racksChange, alone: true},
	}
}

func causes(t *testing.T, version string) {
	newest := version == jvm.Newest
	config := realkafka.Config{Version: version, Controllers: 1, Properties: logsStay()}
	if !newest {
		config.Brokers = 1
	}
	s := newStage(newWorld(t, config))
	t.Run("at once", func(t *testing.T) {
		for _, a := range acts() {
			if !a.alone && (newest || a.older) {
				t.Run(a.name, func(t *testing.T) {
					t.Parallel()
					a.play(s.scene(t, a.name, a.kind))
				})
			}
		}
	})
	for _, a := range acts() {
		if a.alone && newest {
			t.Run(a.name, func(t *testing.T) { a.play(s.scene(t, a.name, a.kind)) })
		}
	}
	s.requireEvidence(t)
	s.requireSameFromFiles(t)
	s.requireHistory(t)
	if newest {
		s.requireSharedBatch(t)
	}
	s.requireExpected(t, version)
	s.requireTold(t, version)
}

// logsStay: nothing of the logs goes away, since both are read again in the
// end. And operations of several groups come to be in one batch.
func logsStay() map[string]string {
	return map[string]string{
		"metadata.log.max.record.bytes.between.snapshots": "100000000",
		"group.coordinator.append.linger.ms":              "50",
	}
}

// expectations is the directory of what is expected of each release.
const expectations = "testdata/causes"

// requireExpected compares what was explained of each scenario with the file of
// the release, which has them all.
func (s *stage) requireExpected(t *testing.T, version string) {
	var told []string
	file := filepath.Join(expectations, version)
	datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
		require.Equal(t, "explain", d.Cmd)
		told = append(told, d.CmdArgs[0].Key)
		p := s.played[d.CmdArgs[0].Key]
		if p == nil {
			return "it was not played\n"
		}
		return p.text
	})
	slices.Sort(told)
	for name := range s.played {
		assert.Contains(t, told, name, "%s expects nothing of it:\n%s", file, s.played[name].text)
	}
}
