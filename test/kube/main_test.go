//go:build kube

package kube

import (
	"fmt"
	"os"
	"testing"
)

// atExit is done when all tests are over.
var atExit []func()

func TestMain(m *testing.M) {
	if file := os.Getenv(containerVariable); file != "" {
		fmt.Fprintln(os.Stderr, becomeContainer(file))
		os.Exit(1)
	}
	code := m.Run()
	for _, do := range atExit {
		do()
	}
	os.Exit(code)
}
