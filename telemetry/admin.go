package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// OnAdminRequest counts a request to the admin endpoint by what became of it.
func (m *Meter) OnAdminRequest(api, result string) {
	m.adminRequests.Add(context.Background(), 1, metric.WithAttributes(attribute.String("api", api), attribute.String("result", result)))
}
