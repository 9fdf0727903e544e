//go:build !unix

package main

// fileLimit returns how many files and connections this process may open; ok is false if unknown.
func fileLimit() (files uint64, ok bool) { return 0, false }
