package cola

import "testing"

func TestAVAIsCurrent(t *testing.T) {
	today := NewDate(2026, 11, 20)
	for _, tt := range []struct {
		ends, removed Date
		want          bool
	}{
		{0, 0, true},
		{today, 0, true}, {today.AddDays(-1), 0, false},
		{0, today, false}, {0, today.AddDays(1), true},
	} {
		if got := (&AVA{ValidEndDate: tt.ends, RemovedDate: tt.removed}).IsCurrent(today); got != tt.want {
			t.Errorf("an area that ends %s and was removed %s is current: %t", tt.ends, tt.removed, got)
		}
	}
}
