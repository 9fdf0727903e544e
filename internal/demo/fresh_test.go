package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// TestFresh checks that a day's fresh labels are deterministic, approved on that day and distinct
// from all other labels, and that they include every product type.
func TestFresh(t *testing.T) {
	o := Options{Colas: 2_000, Seed: 1, AsOf: cola.NewDate(2026, time.November, 20)}
	seen := map[cola.TTBID]bool{}
	for c := range Labels(o) {
		seen[c.TTBID] = true
	}
	for day := o.AsOf; day < o.AsOf+30; day++ {
		kinds := map[vocabulary.ProductType]int{}
		labels := Fresh(o, day)
		for _, c := range labels {
			if seen[c.TTBID] || c.ApprovalDate != day || c.ApplicationDate >= day ||
				c.ApplicationStatus != vocabulary.StatusApproved {
				t.Errorf("%s: %s approved %s, received %s", day, c.TTBID, c.ApprovalDate, c.ApplicationDate)
			}
			seen[c.TTBID] = true
			kinds[c.ProductType]++
		}
		if len(labels) != FreshPerDay || len(kinds) != 3 {
			t.Errorf("%s: %d labels of types %v", day, len(labels), kinds)
		}
	}
	if diff := cmp.Diff(Fresh(o, o.AsOf), Fresh(o, o.AsOf)); diff != "" {
		t.Errorf("not deterministic:\n%s", diff)
	}
}
