package sidecar

import (
	"errors"

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

// openExporter makes the exporter, if there is somewhere to export to. What is
// exported has to be durable first, and so needs an outbox.
func (s *Sidecar) openExporter() (err error) {
	switch {
	case !s.otlp().Enabled():
		return nil
	case s.outbox == nil:
		s.log.Warn("rebalances are not exported: nothing keeps them until they are accepted")
		return nil
	}
	s.exporter, err = telemetry.NewExporter(telemetry.ExporterOptions{
		OTLP: s.otlp(), ClusterName: s.config.ClusterName, SlowAfter: s.config.Telemetry.SlowAfter,
		Outbox: s.outbox, Meter: s.meter, Log: s.log,
	})
	if err != nil {
		return errors.Join(err, s.close())
	}
	return nil
}
