package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is a connection on which nothing but what is measured happens.
type conn struct {
	net.Conn
	in        *bufio.Reader
	formatter *kmsg.RequestFormatter
	out       []byte
}

func dial(address string) (*conn, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, in: bufio.NewReaderSize(c, 1<<20), formatter: kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench"))}, nil
}

// ask says how long it takes from the first byte of a request to the last one
// of its answer, which is not decoded.
func (c *conn) ask(q kmsg.Request) (took time.Duration, size int, err error) {
	c.out = c.formatter.AppendRequest(c.out[:0], q, 1)
	begin := time.Now()
	if _, err := c.Write(c.out); err != nil {
		return 0, 0, err
	}
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return 0, 0, err
	}
	size = int(binary.BigEndian.Uint32(head[:]))
	_, err = c.in.Discard(size)
	return time.Since(begin), size, err
}

func awaitReady(ctx context.Context, address string) error {
	for late := time.Now().Add(5 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		if time.Now().After(late) {
			return fmt.Errorf("the sidecar is not ready after five minutes: %w", err)
		}
	}
}

// processorTime is what a process has taken of the processors so far. The unit of
// /proc is the same on every Linux that Go runs on.
func processorTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, fields, _ := strings.Cut(string(stat), ") ")
	var user, system int64
	if _, err := fmt.Sscan(strings.Join(strings.Fields(fields)[11:13], " "), &user, &system); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * time.Second / 100, nil
}
