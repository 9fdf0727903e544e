//go:build !linux

package search

import "time"

// threadTime returns 0, because it is implemented only on Linux.
func threadTime() time.Duration { return 0 }
