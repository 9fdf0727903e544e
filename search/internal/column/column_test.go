package column

import (
	"slices"
	"testing"
)

// TestAppendAt compares AppendAt with At for every width of numbers.
func TestAppendAt(t *testing.T) {
	for _, largest := range []uint32{200, 60_000, 70_000} {
		p := Pack([]uint32{3, largest, 0, 5})
		rows := []uint32{1, 1, 3, 0}
		want := []uint32{9}
		for _, row := range rows {
			want = append(want, p.At(row))
		}
		if got := p.AppendAt([]uint32{9}, rows); !slices.Equal(got, want) {
			t.Errorf("up to %d: AppendAt = %v, want %v", largest, got, want)
		}
	}
}
