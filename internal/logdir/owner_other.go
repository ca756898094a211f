//go:build !unix

package logdir

import "io/fs"

// owner is -1: files have no UID here.
func owner(fs.FileInfo) int { return -1 }
