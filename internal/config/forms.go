package config

import (
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Bytes is a number of bytes, >= 0.
type Bytes int64

// MiB is 1024 * 1024 bytes.
const MiB Bytes = 1 << 20

// units are the names of sizes, the largest first of each kind. Letters count
// in either case, as in "10mb".
var units = []struct {
	name  string
	bytes Bytes
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

// parseBytes reads a whole number with a unit, or without one for bytes.
func parseBytes(s string) (Bytes, bool) {
	number, unit := s, Bytes(1)
	for _, u := range units {
		if n := len(s) - len(u.name); n >= 0 && strings.EqualFold(s[n:], u.name) {
			number, unit = strings.TrimRight(s[:n], " "), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil || n > math.MaxInt64/uint64(unit) {
		return 0, false
	}
	return Bytes(n) * unit, true
}

// String has the largest unit of which it is a whole number; parseBytes reads
// it back.
func (b Bytes) String() string {
	for _, u := range units[:4] {
		if b != 0 && b%u.bytes == 0 {
			return strconv.FormatInt(int64(b/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// hostPort says whether s is HOST:PORT. An IPv6 host is in brackets.
func hostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	return err == nil && host != "" && !strings.ContainsAny(host, " \t/@") && portNumber(port, 1)
}

func controllerAddress(s string) bool {
	id, at, found := strings.Cut(s, "@")
	if !found {
		return hostPort(s)
	}
	_, err := strconv.ParseUint(id, 10, 31)
	return err == nil && hostPort(at)
}

// listenAddress says whether one can listen there. Port 0 is any that is free.
func listenAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && portNumber(port, 0)
}

func portNumber(s string, least uint64) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n >= least
}

// peerTemplate says whether s is empty, or an address once its placeholders are
// filled in, and different for different brokers.
func peerTemplate(s string) bool {
	if s == "" {
		return true
	}
	filled := strings.NewReplacer("{host}", "h", "{id}", "1").Replace(s)
	return filled != s && !strings.ContainsAny(filled, "{}") && (hostPort(filled) || hostPort(filled+":1"))
}

// otlpEndpoint says whether s is empty, or a URL that gives no secret away.
func otlpEndpoint(s string) bool {
	u, err := url.Parse(s)
	return s == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil &&
		u.RawQuery == "" && u.Fragment == "" && (u.Port() == "" || portNumber(u.Port(), 1))
}
