package column

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPairs checks CountPairs, CountBits and Pairs for arrays of every width, over full, empty and
// mixed words.
func TestPairs(t *testing.T) {
	const n, from = 64 * 5, 64
	r := rand.New(rand.NewPCG(1, 2))
	w := []uint64{^uint64(0), 0, r.Uint64(), 1 << 63}
	for _, size := range []uint32{200, 300, 70_000} {
		for _, other := range []uint32{200, 300, 70_000} {
			values, others := make([]uint32, n), make([]uint32, n)
			for i := range values {
				values[i], others[i] = r.Uint32N(size), r.Uint32N(other)
			}
			values[0], others[0] = size-1, other-1 // sets the width
			p, q := Pack(values), Pack(others)
			to, columns := make([]uint32, size), make([]uint32, other)
			for v := range to {
				to[v] = uint32(v) % 3
			}
			for v := range columns {
				columns[v] = uint32(v) % 5
			}
			rows := make([]uint32, size)
			for v := range rows {
				rows[v] = to[v] * 5
			}
			wantCells, wantCounts := make([]uint32, 15), make([]uint32, size)
			var want [][2]uint32
			for i := range len(w) * 64 {
				if v, u := values[from+i], others[from+i]; w[i/64]>>(i%64)&1 != 0 {
					wantCells[rows[v]+columns[u]]++
					wantCounts[v]++
					if to[v] != 0 {
						want = append(want, [2]uint32{to[v], u})
					}
				}
			}
			cells, counts, pairs := make([]uint32, 15), make([]uint32, size), make([][2]uint32, len(w)*64+1)
			p.CountPairs(&q, cells, rows, columns, from, w)
			p.CountBits(counts, from, w)
			pairs = pairs[:p.Pairs(&q, pairs, to, from, w)]
			if !slices.Equal(cells, wantCells) || !slices.Equal(counts, wantCounts) || !slices.Equal(pairs, want) {
				t.Errorf("%d and %d values: cells %v, want %v; %d pairs, want %d", size, other, cells, wantCells, len(pairs), len(want))
			}
		}
	}
}

// TestSeek checks that Seek finds the first string that is not below the given one, from any start
// at or before it.
func TestSeek(t *testing.T) {
	b := NewDictBuilder()
	for _, s := range []string{"", "b", "d", "dd", "f", "h", "j", "l"} {
		b.Add(s)
	}
	d := b.Dict()
	for _, s := range []string{"", "a", "b", "c", "d", "da", "dd", "k", "l", "m"} {
		want := uint32(0)
		for int(want) < d.Len() && d.At(want) < s {
			want++
		}
		for from := range want + 1 {
			if got := d.Seek(from, s); got != want {
				t.Errorf("Seek(%d, %q) = %d, want %d", from, s, got, want)
			}
		}
	}
}

// TestAppendAt compares AppendAt with At for every number width.
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
