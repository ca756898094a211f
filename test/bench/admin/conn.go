package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
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
