package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestFirstSeen checks which labels have a new brand or a new permit, across segments, and after
// changes that make a brand newer or older.
func TestFirstSeen(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	add := func(id cola.TTBID, brand, permit string, day cola.Date) {
		u := x.Begin()
		u.Label(labelWith(id, func(c *cola.Cola) { c.BrandName, c.PermitNumber, c.ApprovalDate = brand, permit, day }))
		mustCommit(t, u, Marks{Labels: cola.Revision(id)})
	}
	const day = 20_000
	add(1, "OLD OAK", "A-1", day-1)
	add(2, "Old & Oak", "B-2", day) // the brand of label 1, spelled differently
	add(3, "NEW ELM", "b-2", day)
	add(4, "NEW ELM", "", 0)
	add(5, "", "C-3", day+1)
	add(6, "UNKNOWN", "D-4", 0)
	check := func(what string, q cola.Query, want string) {
		t.Helper()
		var ids []string
		for _, row := range x.View().Search(cola.ColaSearch{Query: q, Page: 1, PerPage: 10}).Rows {
			ids = append(ids, fmt.Sprint(uint64(row.TTBID)))
		}
		slices.Sort(ids)
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: labels %q, want %q", what, got, want)
		}
	}
	brands := func(from cola.Date) cola.Query { return cola.Query{BrandFirstSeen: from} }
	check("brands, the day before", brands(day-1), "1 2 3 4")
	check("brands, on the day", brands(day), "3 4")
	check("brands, the day after", brands(day+1), "")
	check("permits, on the day", cola.Query{PermitteeFirstSeen: day}, "2 3 5")
	check("both", cola.Query{BrandFirstSeen: day, PermitteeFirstSeen: day}, "3")
	check("brands up to the day before", cola.Query{BrandFirstSeen: day, To: day - 1}, "")
	check("brands with a date", cola.Query{BrandFirstSeen: day, From: day}, "3")

	add(1, "OTHER", "A-1", day-1)
	check("brands, after the change", brands(day), "2 3 4")
	add(7, "NEW ELM", "E-5", day-300)
	check("brands, after an older label arrived", brands(day), "2")
}
