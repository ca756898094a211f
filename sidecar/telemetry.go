package sidecar

import (
	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/telemetry"
)

// newRebalances makes what counts rebalances and writes a line of each.
func (s *Sidecar) newRebalances() *telemetry.Rebalances {
	t := &s.config.Telemetry
	return telemetry.NewRebalances(telemetry.RebalanceOptions{
		Meter: s.meter, Log: s.log, MaxAge: t.OTLP.MaxAge, SlowAfter: t.SlowAfter,
		Answers: func(number int32) bool {
			p, followed := s.View().Partition(number)
			return followed && p.Answers
		},
	})
}

// otlp is where rebalances are exported to.
func (s *Sidecar) otlp() telemetry.OTLP {
	o := &s.config.Telemetry.OTLP
	return telemetry.OTLP{Endpoint: o.Endpoint, Protocol: string(o.Protocol)}
}

// exports says which rebalances the pipeline is to keep until they are exported;
// nil if there is nowhere to export to.
func (s *Sidecar) exports() *pipeline.Exports {
	if !s.otlp().Enabled() {
		return nil
	}
	t := &s.config.Telemetry
	return &pipeline.Exports{MaxAge: t.OTLP.MaxAge, SlowAfter: t.SlowAfter}
}

// openExporter makes the exporter, if there is somewhere to export to.
func (s *Sidecar) openExporter() (err error) {
	if !s.otlp().Enabled() {
		return nil
	}
	s.exporter, err = telemetry.NewExporter(telemetry.ExporterOptions{
		OTLP: s.otlp(), ClusterName: s.config.ClusterName, SlowAfter: s.config.Telemetry.SlowAfter,
		Outbox: s.pipeline, Meter: s.meter, Log: s.log,
	})
	return err
}
