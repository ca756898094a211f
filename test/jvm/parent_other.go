//go:build unix && !linux

package jvm

import "os/exec"

// DieWithParent does nothing here: only Linux can tie a child's life to its parent's. A test that ends by a panic
// leaves its servers running.
func DieWithParent(*exec.Cmd) {}
