package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/kraftside/kraftside/pipeline"
	"github.com/kraftside/kraftside/web/api"
)

// status answers /v1/status.
func (s *Server) status(w http.ResponseWriter, r *http.Request) error {
	v := s.o.View()
	asked := s.peers.ask(r, v, "/v1/status", nil, maxPageBytes)
	out := s.ownStatus(v)
	out.Missing = asked.parsed(func(a answer) error {
		var parsed api.Status
		if err := json.Unmarshal(a.body, &parsed); err != nil {
			return err
		}
		out.Peers = append(out.Peers, parsed.Peer(a.peer.broker, a.peer.host))
		out.AddPeer(&parsed)
		return nil
	})
	slices.SortFunc(out.Peers, func(a, b api.PeerStatus) int { return cmp.Compare(a.Broker, b.Broker) })
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) ownStatus(v *pipeline.View) *api.Status {
	now := s.o.Now()
	out := &api.Status{
		NodeID:         api.Node(v.NodeID),
		Reasons:        s.reasons(v),
		Metadata:       api.NewMetadataStatus(v, call(s.o.MetadataSource), now),
		Groups:         api.NewGroupsStatus(v, s.o.GroupsSource, now),
		Kafka:          api.NewKafkaStatus(v.Image),
		Peers:          []api.PeerStatus{},
		OpenRebalances: api.NewOpenRebalances(v),
		Busiest:        api.NewBusiest(v, now),
		RecentChanges:  api.NewRecentChanges(v),
		Version:        s.o.Version,
	}
	out.Groups.Counts = api.NewCounts(v)
	out.Ready = len(out.Reasons) == 0
	if id := call(s.o.ClusterID); id != "" {
		out.ClusterID = &id
	}
	if s.o.ClusterName != "" {
		out.Cluster = &s.o.ClusterName
	}
	if s.o.BrokerApplied != nil {
		if applied, ok := s.o.BrokerApplied(); ok {
			out.Metadata.BrokerAppliedOffset = &applied
		}
	}
	if s.o.Store != nil {
		out.Store = api.NewStoreStatus(s.o.Store())
	}
	return out
}

func call(f func() string) string {
	if f == nil {
		return ""
	}
	return f()
}
