package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// memoryRatio is the share of the container's or machine's memory that the Go runtime may use.
	// SQLite has its own memory.
	memoryRatio = 0.9
	// gcPercent is how much a large heap grows before a collection. The index is large and
	// long-lived; the default would let the heap double.
	gcPercent = 20
	// maxMinHeap is the heap size below which no collection starts. A registry with few labels has a
	// small heap; growing by only gcPercent would mean hundreds of collections per second under load.
	maxMinHeap = 192 << 20
	// minHeapShare limits that size on small machines: it is at most 1/minHeapShare of the memory
	// limit.
	minHeapShare = 8
	// runtimeMinHeap is the live heap that the runtime assumes before the first collection.
	runtimeMinHeap = 4 << 20
)

// tuneMemory derives the memory limit from the memory of the container or machine, unless
// GOMEMLIMIT is set, and configures garbage collection for that limit, unless GOGC is set.
func tuneMemory() {
	// Without a limit or on an error, the runtime's limit stays at its maximum.
	limit, _ := memlimit.Set(memlimit.WithRatio(memoryRatio),
		memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)))
	if os.Getenv("GOGC") == "" {
		keepMinHeap(min(maxMinHeap, limit/minHeapShare), 0)
	}
}

// keepMinHeap sets the GC percentage after each collection, so that the next one starts when the
// heap has grown by gcPercent and is at least minHeap bytes. current is the current percentage.
func keepMinHeap(minHeap int64, current int) {
	if percent := percentFor(liveHeap(), minHeap); percent != current {
		debug.SetGCPercent(percent)
		current = percent
	}
	// The next collection finds this object unreachable.
	type sentinel struct{ _ *int }
	runtime.AddCleanup(&sentinel{}, func(current int) { keepMinHeap(minHeap, current) }, current)
}

// percentFor returns the GC percentage for a live heap.
func percentFor(live, minHeap int64) int {
	live = max(live, runtimeMinHeap)
	return max(gcPercent, int((minHeap-live)*100/live))
}

// liveHeap returns the number of bytes that the previous collection kept.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
