package sidecar

import (
	"cmp"

	"github.com/kraftside/kraftside/groups/offsetslog"
	"github.com/kraftside/kraftside/internal/kafkaclient"
	"github.com/kraftside/kraftside/metadatalog"
)

// A source knows that it was refused, and not by which setting. The sinks here
// put the advice of who made the connection into the problem of a source.

func (s *Sidecar) metadataSink() metadatalog.Sink {
	return advisedMetadata{s.pipeline.MetadataSink(), s.clients.controllerAccess}
}

type advisedMetadata struct {
	metadatalog.Sink
	access *kafkaclient.Access
}

func (a advisedMetadata) Progress(p metadatalog.Progress) error {
	if p.Problem != nil {
		advised := *p.Problem
		advised.Advice = cmp.Or(a.access.Advice(advised.Err), advised.Advice)
		p.Problem = &advised
	}
	return a.Sink.Progress(p)
}

func (s *Sidecar) groupsSink() offsetslog.Sink {
	return advisedGroups{s.pipeline.GroupsSink(), s.clients.brokerAccess}
}

type advisedGroups struct {
	offsetslog.Sink
	access *kafkaclient.Access
}

func (a advisedGroups) Assigned(all offsetslog.Assignment) error {
	all.Problem = a.advise(all.Problem)
	return a.Sink.Assigned(all)
}

func (a advisedGroups) Progress(p offsetslog.Progress) error {
	p.Problem = a.advise(p.Problem)
	return a.Sink.Progress(p)
}

func (a advisedGroups) advise(p *offsetslog.Problem) *offsetslog.Problem {
	if p == nil {
		return nil
	}
	advised := *p
	advised.Advice = cmp.Or(a.access.Advice(advised.Err), advised.Advice)
	return &advised
}
