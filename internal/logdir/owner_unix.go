//go:build unix

package logdir

import (
	"io/fs"
	"syscall"
)

// owner is the UID that a file belongs to, or -1.
func owner(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
