//go:build !linux

package search

import "time"

// threadTime is not available on this system.
func threadTime() time.Duration { return 0 }
