package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/kraftside/kraftside/web/api"
)

// arrival is a rebalance whose causes have arrived, and how long after the
// record of its bump.
type arrival struct{ took time.Duration }

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func awaitReady(ctx context.Context, address string) error {
	for late := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		resp, err := get(ctx, address, "/readyz")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		if time.Now().After(late) {
			return fmt.Errorf("the sidecar is not ready after a minute: %w", err)
		}
	}
}

func get(ctx context.Context, address, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

// listen reads the stream of events until it ends.
func listen(ctx context.Context, address string) (<-chan arrival, error) {
	resp, err := get(ctx, address, "/v1/events")
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
