package sidecar

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kraftside/kraftside/delta"
	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// A node id is wrong if another broker is on this host, and not the one that it
// names. What cannot be told is not wrong.
func TestPlace(t *testing.T) {
	names := map[string]string{"b1.example": "10.0.0.1", "b2.example": "10.0.0.2", "out.example": "192.0.2.9", "localhost": "127.0.0.1"}
	p := placing{
		lookup: func(_ context.Context, _, host string) ([]netip.Addr, error) {
			if a, ok := names[host]; ok {
				return []netip.Addr{netip.MustParseAddr(a)}, nil
			}
			return nil, errors.New("no such host")
		},
		here: func() []netip.Addr {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::ffff:10.0.0.2")}
		},
	}
	d := delta.New(image.Empty())
	for id, hosts := range map[int32][]string{1: {"b1.example"}, 2: {"out.example", "b2.example"}, 3: {"absent.example"}, 4: {"localhost"}} {
		r := &record.RegisterBrokerRecord{BrokerID: id, BrokerEpoch: 1}
		for _, host := range hosts {
			r.EndPoints = append(r.EndPoints, record.BrokerEndpoint{Name: host, Host: host, Port: 9092})
		}
		require.NoError(t, d.Replay(r))
	}
	cluster := d.Apply(image.Provenance{}).Cluster()
	for id, want := range map[kafka.NodeID]string{
		1: "node-id is 1, but broker 1 is at b1.example, and broker 2 is on this host",
		2: "",
		3: "node-id is 3, but broker 3 is at absent.example, and broker 2 is on this host",
		4: "",
	} {
		got := p.problem(t.Context(), cluster, id)
		if want == "" {
			require.Nil(t, got, id)
			continue
		}
		require.Equal(t, want, got.What)
	}
	p.here = func() []netip.Addr { return nil }
	require.Nil(t, p.problem(t.Context(), cluster, 1))
}
