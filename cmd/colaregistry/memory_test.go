package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestGCPercent(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		live, minHeap int64
		want          int
	}{
		{0, 192 * mib, 4700}, // the runtime assumes 4 MiB
		{64 * mib, 192 * mib, 200},
		{160 * mib, 192 * mib, 20},
		{600 * mib, 192 * mib, 20},
		{600 * mib, 0, 20},
		{math.MaxInt64 / 1000, 192 * mib, 20},
	} {
		if got := percentFor(tt.live, tt.minHeap); got != tt.want {
			t.Errorf("percentFor(%d, %d) = %d, want %d", tt.live, tt.minHeap, got, tt.want)
		}
	}
}

// TestMinHeap checks that the percentage follows the heap from one collection to the next.
func TestMinHeap(t *testing.T) {
	keepMinHeap(256<<20, 0)
	var heap [][]byte
	for range 8 {
		heap = append(heap, make([]byte, 64<<20))
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		percent := debug.SetGCPercent(gcPercent) // the only way to read it
		if percent == gcPercent {
			break
		}
		debug.SetGCPercent(percent)
		if time.Now().After(deadline) {
			t.Fatalf("percentage = %d with a large heap, want %d", percent, gcPercent)
		}
	}
	runtime.KeepAlive(heap)
}
