//go:build !unix

package main

// fileLimit returns how many files and connections this process may have open; ok is false if that is not known.
func fileLimit() (files uint64, ok bool) { return 0, false }
