// Package arch holds the tests that keep the shape of the project: which
// package may import which, who may change an image, and where clocks,
// goroutines and I/O are out of place. It has no code of its own.
//
// The tests parse the sources themselves. A test that asks `go list` in a
// child process would pass from the test cache after a change, because the
// cache does not see what a child reads.
package arch
