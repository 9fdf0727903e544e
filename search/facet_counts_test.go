package search

import (
	"math/rand/v2"
	"testing"

	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
	"github.com/google/go-cmp/cmp"
)

// TestValueCounter checks that counts are exact for common and rare values and for full and sparse
// blocks, with either counting method.
func TestValueCounter(t *testing.T) {
	const docs = postings.BlockDocs + 5000
	for _, distinct := range []int{3, 2_000, 70_000} { // columns with one, two and four bytes per value
		d := rand.New(rand.NewPCG(uint64(distinct), 1))
		values := make([]uint32, docs)
		for doc := range values {
			values[doc] = uint32(float64(distinct) * d.Float64() * d.Float64() * d.Float64())
		}
		column := &column.Text{IDs: column.Pack(values)}
		column.Off = make([]uint32, distinct+1)
		b := postings.NewBuilder(docs, distinct)
		b.AddGroups(postings.GroupBy(docs, distinct, func(doc uint32, put func(uint32)) { put(values[doc]) }))
		lists := b.Lists()
		for _, percent := range []int{0, 1, 30, 99, 100} {
			got, counted := tallied(d, newValueCounter(column, &lists), values, percent)
			if diff := cmp.Diff(counted.want, got); diff != "" {
				t.Errorf("%d values, %d%% of documents (-want +got):\n%.2000s", distinct, percent, diff)
			}
			if distinct == 3 && percent >= 30 && counted.byList == 0 || percent == 0 && counted.byList > 0 {
				t.Errorf("%d values, %d%% of documents: %d counted by list, %d by value",
					distinct, percent, counted.byList, counted.byValue)
			}
		}
	}
}

// tally contains the expected count of each value, and how many documents each method counted.
type tally struct {
	want            []uint32
	byValue, byList uint32
}

// tallied counts the given percentage of the documents, chosen at random, plus about one in 5,000.
func tallied(d *rand.Rand, t *valueCounter, values []uint32, percent int) (got []uint32, counted tally) {
	counted.want, got = make([]uint32, len(t.byValue)), make([]uint32, len(t.byValue))
	for b := range postings.BlockCount(uint32(len(values))) {
		base := int(b) << postings.BlockShift
		w := make([]uint64, postings.BlockWidth(uint32(len(values)), b))
		for i := range min(postings.BlockDocs, len(values)-base) {
			if d.IntN(100) < percent || d.IntN(5000) == 0 {
				postings.SetBit(w, uint32(i))
				counted.want[values[base+i]]++
			}
		}
		t.add(b, w, postings.PopCount(w))
	}
	for v := range got {
		got[v] = t.byValue[v] + t.byList[v]
		counted.byValue, counted.byList = counted.byValue+t.byValue[v], counted.byList+t.byList[v]
	}
	return got, counted
}
