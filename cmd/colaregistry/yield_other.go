//go:build !linux

package main

// yieldProcessor does nothing here: only Linux lets a process lower the priority of the threads it has.
func yieldProcessor() {}
