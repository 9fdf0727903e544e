package measure

import (
	"testing"
	"time"
)

func TestLatencies(t *testing.T) {
	var l Latencies
	if l.At(0.5) != 0 {
		t.Errorf("the median of nothing is %v", l.At(0.5))
	}
	for i := 100; i > 0; i-- {
		l = append(l, time.Duration(i))
	}
	l.Sort()
	for _, tt := range []struct {
		quantile float64
		want     time.Duration
	}{{0, 1}, {0.5, 51}, {0.99, 100}, {1, 100}} {
		if got := l.At(tt.quantile); got != tt.want {
			t.Errorf("quantile %v is %v, not %v", tt.quantile, got, tt.want)
		}
	}
}

func TestRatio(t *testing.T) {
	if got := Ratio(3*time.Second, 2*time.Second); got != 1.5 {
		t.Errorf("3 s are %v times 2 s", got)
	}
	if got := Ratio(time.Second, 0); got != 0 {
		t.Errorf("a ratio to nothing is %v, not 0", got)
	}
}
