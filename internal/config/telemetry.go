package config

import "time"

// Telemetry is what is told of rebalances.
type Telemetry struct {
	SlowAfter time.Duration
	OTLP      OTLP
}

// OTLP is where traces and log records go. Everything else of it, such as
// headers, which are secrets, and certificates, is in the variables of
// OpenTelemetry.
type OTLP struct {
	Endpoint string // http[s]://HOST:PORT[/PATH]; "": as the variables say
	Protocol Protocol
	MaxAge   time.Duration // 0: no limit
}

// Protocol is how OTLP is spoken.
type Protocol string

// The protocols; an empty one is as the variables of OpenTelemetry say.
const (
	GRPC         Protocol = "grpc"
	HTTPProtobuf Protocol = "http"
)

func (t *Telemetry) settings() []setting {
	o := &t.OTLP
	return []setting{
		{"slow-after", duration(&t.SlowAfter),
			"how long a rebalance is open before it is told of as slow: its group is a label of a metric, it is exported as incomplete, and when it is over the log says so"},
		{"otlp.endpoint", endpoint(&o.Endpoint),
			"where each rebalance goes as a trace and a log record, with http or https in front. Default: as OTEL_EXPORTER_OTLP_ENDPOINT says, else nowhere. " +
				"Headers, certificates, timeouts and other endpoints for one of the two are in the variables of OpenTelemetry, see traces.md"},
		{"otlp.protocol", choice(&o.Protocol, GRPC, HTTPProtobuf), "how that is spoken to. Default: as OTEL_EXPORTER_OTLP_PROTOCOL says, else grpc"},
		{"otlp.max-age", duration(&o.MaxAge),
			"rebalances that are older when they are first seen, as at the first start, are kept but neither exported nor counted nor logged; 0 is no limit"},
	}
}
