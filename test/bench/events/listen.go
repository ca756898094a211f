package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/kraftside/kraftside/web/api"
)

// arrival is a rebalance whose causes have arrived, and how long after the
// record of its bump.
type arrival struct{ took time.Duration }

// listen reads the stream of events until it ends.
func listen(ctx context.Context, address string) (<-chan arrival, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/events", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	arrivals := make(chan arrival, 1024)
	go func() {
		defer close(arrivals)
		defer resp.Body.Close()
		read(resp.Body, arrivals)
	}()
	return arrivals, nil
}

// read yields each rebalance the first time that its causes are there.
func read(events io.Reader, arrivals chan<- arrival) {
	seen, kind := map[string]bool{}, ""
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if k, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kind = k
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || kind != "rebalance" {
			continue
		}
		now := time.Now()
		var r api.Rebalance
		if json.Unmarshal([]byte(data), &r) == nil && r.Settled && !seen[r.ID] {
			seen[r.ID] = true
			arrivals <- arrival{now.Sub(time.UnixMilli(int64(r.StartedAt)))}
		}
	}
}
