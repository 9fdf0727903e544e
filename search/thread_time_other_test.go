//go:build !linux

package search

import "time"

// threadTime returns 0, because it is implemented only for Linux.
func threadTime() time.Duration { return 0 }
