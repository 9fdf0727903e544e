//go:build unix

package main

import "syscall"

// fileLimit returns how many files and connections this process may open; ok is false if unknown.
func fileLimit() (files uint64, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true
}
