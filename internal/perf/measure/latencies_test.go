package measure

import (
	"testing"
	"time"
)

func TestLatencies(t *testing.T) {
	var l Latencies
	if l.At(0.5) != 0 {
		t.Errorf("At(0.5) without latencies = %v, want 0", l.At(0.5))
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
			t.Errorf("At(%v) = %v, want %v", tt.quantile, got, tt.want)
		}
	}
}

func TestRatio(t *testing.T) {
	if got := Ratio(3*time.Second, 2*time.Second); got != 1.5 {
		t.Errorf("Ratio(3s, 2s) = %v, want 1.5", got)
	}
	if got := Ratio(time.Second, 0); got != 0 {
		t.Errorf("Ratio to zero = %v, want 0", got)
	}
}
