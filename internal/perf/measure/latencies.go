package measure

import (
	"fmt"
	"slices"
	"time"
)

// Latencies are the times that calls took.
type Latencies []time.Duration

// Sort puts the quickest first, as At needs them.
func (l Latencies) Sort() { slices.Sort(l) }

// At returns the quantile, from 0 to 1, of sorted latencies; zero when there are none.
func (l Latencies) At(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, int(q*float64(len(l))))]
}

// Ratio returns how many times b goes into a; zero when b is.
func Ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Milliseconds returns d as the tables show it.
func Milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000)
}
