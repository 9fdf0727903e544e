package measure

import (
	"fmt"
	"slices"
	"time"
)

// Latencies are the durations of calls.
type Latencies []time.Duration

// Sort sorts the latencies in ascending order, as At requires.
func (l Latencies) Sort() { slices.Sort(l) }

// At returns the q-quantile of sorted latencies, with q from 0 to 1, or zero if there are none.
func (l Latencies) At(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, int(q*float64(len(l))))]
}

// Ratio returns a/b, or zero if b is zero.
func Ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Milliseconds formats d in milliseconds.
func Milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000)
}
