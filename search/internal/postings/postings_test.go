package postings

import (
	"slices"
	"testing"
)

// TestAppendTo compares AppendTo with Each for short lists and for long ones with sparse and dense
// blocks.
func TestAppendTo(t *testing.T) {
	const n = 5 * BlockDocs / 2
	every := func(step int) (docs []uint32) {
		for doc := 1; doc < n; doc += step {
			docs = append(docs, uint32(doc))
		}
		return docs
	}
	b := NewBuilder(n, 4)
	for _, docs := range [][]uint32{nil, every(BlockDocs / 3), every(100), every(2)} {
		b.Add(docs)
	}
	lists := b.Lists()
	for i := range uint32(lists.Len()) {
		want := []uint32{7}
		lists.At(i).Each(func(doc uint32) bool { want = append(want, doc); return true })
		if got := lists.At(i).AppendTo([]uint32{7}); !slices.Equal(got, want) || len(got) != 1+lists.At(i).Len() {
			t.Errorf("list %d: AppendTo returns %d documents, want %d", i, len(got)-1, len(want)-1)
		}
	}
}
