//go:build unix

package realkafka

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// The ports lie below what kernels give to outgoing connections, so that a stopped server finds its port free again.
const (
	lowestPort  = 15000
	highestPort = 32000
)

// FreePorts returns ports of the loopback interface that nothing listens on, for other servers of a test. A server that is
// stopped finds its port free again.
func FreePorts(count int) ([]int, error) { return freePorts(count) }

// freePorts returns ports of the loopback interface that nothing listens on.
func freePorts(count int) ([]int, error) {
	var ports []int
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	for tries := 0; len(ports) < count; tries++ {
		if tries > 100*count {
			return nil, errors.New("no free ports on the loopback interface")
		}
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		held = append(held, l)
		ports = append(ports, port)
	}
	return ports, nil
}
