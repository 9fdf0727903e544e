package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// TestSortOrders checks the order of a few labels across two segments.
func TestSortOrders(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	long := strings.Repeat("ZEBRA ", 30)
	for round, labels := range [][]struct {
		brand string
		day   cola.Date
	}{
		{{"Copper & Kings", 5}, {"ÉTOILE", 7}, {long + "B", 9}, {"4 BARREL", 2}, {"copper kings", 0}, {"!!!", 3}, {long + "A", 1}},
		{{"COPPER AND KINGS", 6}, {"ABBEY", 0}, {long + "A", 4}, {"étoile", 7}, {"COPPER KINGSTON", 8}},
	} {
		u := x.Begin()
		for i, l := range labels {
			u.Label(labelWith(cola.TTBID(10*(round+1)+i), func(c *cola.Cola) { c.BrandName, c.ApprovalDate = l.brand, l.day }))
		}
		mustCommit(t, u, Marks{Labels: cola.Revision(round + 1)})
	}
	for by, want := range map[cola.Sort]string{
		cola.SortNewest: "12 24 23 11 20 10 22 15 13 16 21 14",
		cola.SortOldest: "16 13 15 22 10 20 11 23 24 12 14 21",
		// brands that differ only after MaxBrandPosition bytes are sorted as one
		cola.SortBrand: "15 13 21 20 10 14 24 23 11 12 22 16",
	} {
		for _, perPage := range []int{1, 4, 100} {
			s := cola.ColaSearch{Sort: by, Page: 1, PerPage: perPage}
			var got []string
			for {
				page := x.View().Search(s)
				for _, row := range page.Rows {
					got = append(got, fmt.Sprint(uint64(row.TTBID)))
				}
				if !page.HasMore {
					break
				}
				s.CursorMode, s.After = true, page.Next
			}
			if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
				t.Errorf("sort %q, %d per page (-want +got):\n%s", by, perPage, diff)
			}
		}
	}
}

// TestSelectByBrand compares selectByBrand and byBrand with a walk through all documents in brand
// order, for sets of few and many documents, with and without a cursor.
func TestSelectByBrand(t *testing.T) {
	d, x := newDraws(11, 5000, 200), New(Options{ManualCompaction: true})
	defer x.Close()
	u := x.Begin()
	for range 6000 {
		l := d.label()
		u.Label(&l)
	}
	mustCommit(t, u, Marks{Labels: 1})
	seg := &x.View().segments[0]
	w := make([]uint64, (seg.t.n+63)/64)
	for density := range 6 {
		clear(w)
		total := 0
		for doc := range seg.t.n {
			if d.IntN(1<<(2*density)) == 0 {
				w[doc>>6] |= 1 << (doc & 63)
				total++
			}
		}
		for range 20 {
			start, take := d.IntN(len(seg.brands.order)), 1+d.IntN(200)
			var want []uint32
			for _, doc := range seg.brands.order[start:] {
				if w[doc>>6]>>(doc&63)&1 != 0 && len(want) < take {
					want = append(want, doc)
				}
			}
			if got := seg.selectByBrand(w, seg.brands.order[start], take); !slices.Equal(got, want) {
				t.Fatalf("selectByBrand(1 in %d, from %d, take %d): %d documents, want %d", 1<<(2*density), start, take, len(got), len(want))
			}
			s := &cola.ColaSearch{}
			if start > 0 {
				s.CursorMode, s.After = true, seg.position(seg.brands.order[start-1], cola.SortBrand)
			}
			if got := seg.byBrand(w, total, s, take); !slices.Equal(got, want) {
				t.Fatalf("byBrand(1 in %d, from %d, take %d): %d documents, want %d", 1<<(2*density), start, take, len(got), len(want))
			}
		}
	}
}
