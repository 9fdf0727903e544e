package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// TestCountColas checks that counts add up to the total of the same search, with its default window
// and notes.
func TestCountColas(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "counts@example.com", cola.TierPro)
	for _, params := range []cola.SearchParams{{}, {DateRange: cola.AllDates}, {Q: "oak", DateRange: cola.AllDates}, {Q: "zzyzx"}} {
		page, _, err := w.SearchColas(t.Context(), c, params)
		if err != nil {
			t.Fatal(err)
		}
		for _, by := range [][]string{
			{cola.ByYear}, {cola.ByBrand}, {cola.ByClass, cola.ByStatus}, {cola.ByMonth, cola.ByClass}, {cola.ByBrand, cola.ByYear},
		} {
			got, state, err := w.CountColas(t.Context(), c, cola.CountParams{GroupBy: by, Top: cola.Some(7), SearchParams: params})
			if err != nil {
				t.Fatal(err)
			}
			sum := got.Others.Labels
			for _, g := range got.Groups {
				sum += g.Count
			}
			if own := len(by) == 2 && cola.HasOwnOrder(by[0]) != cola.HasOwnOrder(by[1]); got.Total != page.Pagination.Total ||
				sum != got.Total || len(got.Groups) > 7 && !own {
				t.Errorf("%+v by %v: total %d, sum %d in %d groups, want %d", params, by, got.Total, sum, len(got.Groups), page.Pagination.Total)
			}
			if diff := cmp.Diff(page.Defaults, got.Defaults) + cmp.Diff(page.Notes, slices.DeleteFunc(got.Notes, isTie)) + cmp.Diff(page.DataAsOf, got.DataAsOf); diff != "" {
				t.Errorf("%+v by %v (-search +counts):\n%s", params, by, diff)
			}
			if want := (len(got.Groups) + 49) / 50; state.Charged != want {
				t.Errorf("%+v by %v: %d list records charged for %d groups, want %d", params, by, state.Charged, len(got.Groups), want)
			}
		}
	}
}

// isTie reports whether a note says that other groups are tied with the last one.
func isTie(note string) bool { return strings.Contains(note, "the same number of labels") }

// TestCountColasCharge checks the charge for groups, and that groups beyond the quota or the
// response size limit are neither returned nor charged, but count as other groups.
func TestCountColasCharge(t *testing.T) {
	w := mustWorld(t, 0)
	var labels []cola.Cola
	for i := range 120 {
		labels = append(labels, labelOf(cola.TTBID(26001001000001+i), func(c *cola.Cola) { c.BrandName = fmt.Sprintf("BRAND %03d", i) }))
	}
	w.mustImport(t, store.History, labels...)
	all := cola.CountParams{GroupBy: []string{cola.ByBrand}, Top: cola.Some(1000)}
	for name, tt := range map[string]struct {
		top, fit, left          int
		groups, charged, others int
		truncated               bool
	}{
		"all":               {1000, 1000, 10_000, 120, 3, 0, false},
		"top":               {50, 1000, 10_000, 50, 1, 70, false},
		"one more":          {51, 1000, 10_000, 51, 2, 69, false},
		"fit":               {1000, 60, 10_000, 60, 2, 60, false},
		"none fit":          {1000, 0, 10_000, 0, 0, 120, false},
		"quota for two":     {1000, 1000, 2, 100, 2, 20, true},
		"quota and fit":     {1000, 60, 1, 50, 1, 70, true},
		"just enough quota": {100, 1000, 2, 100, 2, 20, false},
	} {
		c := w.mustCaller(t, strings.ReplaceAll(name, " ", "-")+"@example.com", cola.TierFree)
		if spent := 10_000 - tt.left; spent > 0 {
			w.spend(t, c, spent)
		}
		params := all
		params.Top = cola.Some(tt.top)
		got, state, err := w.CountColasLimited(t.Context(), c, params, func([]cola.LabelGroup) int { return tt.fit })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		others := cola.OtherGroups{Groups: cola.Some(tt.others), Labels: tt.others}
		if len(got.Groups) != tt.groups || state.Charged != tt.charged || !cmp.Equal(got.Others, others) || got.Truncated != tt.truncated || got.Total != 120 {
			t.Errorf("%s: %d groups, %d charged, others %+v, truncated %v, total %d, want %+v", name,
				len(got.Groups), state.Charged, got.Others, got.Truncated, got.Total, tt)
		}
		if tied := slices.ContainsFunc(got.Notes, isTie); tied != (tt.groups == tt.top) {
			t.Errorf("%s: notes %q, want one on ties if top leaves out groups", name, got.Notes)
		}
	}
	poor := w.mustCaller(t, "poor@example.com", cola.TierFree)
	w.spend(t, poor, 10_000)
	if _, _, err := w.CountColas(t.Context(), poor, all); code(err) != cola.CodeQuotaExceeded {
		t.Errorf("without quota: %v, want %s", err, cola.CodeQuotaExceeded)
	}
	if _, state, err := w.CountColas(t.Context(), poor, cola.CountParams{}); code(err) != cola.CodeValidation || state.Charged != 0 {
		t.Errorf("without a dimension: %v, charged %d, want %s", err, state.Charged, cola.CodeValidation)
	}
}

// TestCountBreakdown checks that top limits the values of the other dimension if one is a period,
// that the labels of each period add up to its total, even if the quota leaves out groups, and that
// rows are in the order of the dimensions.
func TestCountBreakdown(t *testing.T) {
	w := mustWorld(t, 2_000)
	c := w.mustCaller(t, "breakdown@example.com", cola.TierPro)
	count := func(top, fit int, by ...string) registry.ColaCounts {
		t.Helper()
		w.advance(time.Minute)
		p := cola.CountParams{GroupBy: by, Top: cola.Some(top), SearchParams: cola.SearchParams{DateRange: cola.AllDates}}
		got, _, err := w.CountColasLimited(t.Context(), c, p, func([]cola.LabelGroup) int { return fit })
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	years := map[cola.Text]int{}
	for _, g := range count(1000, 1000, cola.ByYear).Groups {
		years[g.Year.V] = g.Count
	}
	largest := count(3, 1000, cola.ByClass).Groups
	for _, by := range [][]string{{cola.ByYear, cola.ByClass}, {cola.ByClass, cola.ByYear}} {
		for _, fit := range []int{1000, 5} {
			got := count(3, fit, by...)
			sums, classes, others := map[cola.Text]int{}, map[cola.Text]int{}, 0
			for _, g := range got.Groups {
				sums[g.Year.V] += g.Count
				classes[g.Class.V] += g.Count
			}
			for _, o := range got.Others.Breakdown {
				sums[o.Value] += o.Count
				others += o.Count
			}
			if diff := cmp.Diff(years, sums); diff != "" || others != got.Others.Labels || len(years) < 5 {
				t.Errorf("%v, %d fit: %d other labels, want %d; years (-want +got):\n%s", by, fit, others, got.Others.Labels, diff)
			}
			for _, want := range largest {
				if fit == 1000 && (classes[want.Class.V] != want.Count || len(classes) != 3) {
					t.Errorf("%v: %d labels of %s, want %d", by, classes[want.Class.V], want.Class.V, want.Count)
				}
			}
			if first, next := got.Groups[0], got.Groups[1]; (by[0] == cola.ByYear) != (first.Year == next.Year) {
				t.Errorf("%v: first groups %+v, %+v", by, first, next)
			}
		}
	}
	pairs := count(10, 1000, cola.ByOrigin, cola.ByClass)
	if !slices.IsSortedFunc(pairs.Groups, func(a, b cola.LabelGroup) int { return b.Count - a.Count }) || pairs.Others.Breakdown != nil {
		t.Errorf("pairs are not sorted by count: %+v", pairs)
	}
}

// TestGroupsAreSearches checks that the search within a group finds as many labels as its count,
// for every dimension that has such searches.
func TestGroupsAreSearches(t *testing.T) {
	w := mustWorld(t, 2_000)
	c := w.mustCaller(t, "groups@example.com", cola.TierPro)
	some, _, err := w.SearchColas(t.Context(), c, cola.SearchParams{PerPage: cola.Some(1)})
	if err != nil {
		t.Fatal(err)
	}
	brand := some.Colas[0].BrandName
	without := []string{cola.ByPath, cola.ByAppellation, cola.ByABV, cola.ByVolume, cola.ByBrandFirstSeen, cola.ByPermitteeFirstSeen}
	for i, params := range []cola.SearchParams{
		{DateRange: cola.AllDates},
		{ApprovalDateFrom: cola.NewDate(2015, 3, 10), ApprovalDateTo: cola.NewDate(2024, 8, 20), ProductType: []string{"wine", "malt beverage"}},
		{DateRange: cola.AllDates, Origin: "american", Status: "approved", Category: []string{"Wine", "Beer"}},
		{DateRange: cola.AllDates, BrandName: `"` + brand + `"`},
	} {
		for _, by := range cola.Dimensions() {
			w.advance(time.Minute)
			counts, _, err := w.CountColas(t.Context(), c, cola.CountParams{GroupBy: []string{by}, SearchParams: params})
			if err != nil {
				t.Fatal(err)
			}
			linked := 0
			for _, g := range counts.Groups[:min(len(counts.Groups), 12)] {
				search, ok := params.Within(by, g.Get(by))
				if !ok {
					continue
				}
				linked++
				page, _, err := w.SearchColas(t.Context(), c, search)
				if err != nil || page.Pagination.Total != g.Count {
					t.Errorf("%+v within %s %s: %d labels, %v, want %d", params, by, g.Get(by), page.Pagination.Total, err, g.Count)
				}
			}
			if want := !slices.Contains(without, by); (linked > 0) != want && (i == 0 || linked > 0) {
				t.Errorf("%+v by %s: %d of %d groups have a search", params, by, linked, len(counts.Groups))
			}
		}
	}
	if _, ok := (cola.SearchParams{BrandName: "oak"}).Within(cola.ByBrand, "OAK"); ok {
		t.Error("Within(brand) of a partial brand name: ok = true, want false")
	}
}

// TestCountPermits checks that groups by permit have the name of the permittee, if it is known.
func TestCountPermits(t *testing.T) {
	w := mustWorld(t, 300)
	c := w.mustCaller(t, "permits@example.com", cola.TierPro)
	w.mustImport(t, store.History, labelOf(26001001000001, func(c *cola.Cola) { c.PermitNumber = "ZZ-I-1" }))
	got, _, err := w.CountColas(t.Context(), c, cola.CountParams{
		GroupBy: []string{cola.ByPermit}, Top: cola.Some(1000), SearchParams: cola.SearchParams{DateRange: cola.AllDates},
	})
	if err != nil {
		t.Fatal(err)
	}
	unknown := 0
	for _, g := range got.Groups {
		if g.Permit.V == "ZZ-I-1" {
			unknown++
			if g.CompanyName != cola.Some(cola.Text("")) {
				t.Errorf("company without a record = %+v, want null", g.CompanyName)
			}
			continue
		}
		p, _, err := w.Permittee(t.Context(), c, string(g.Permit.V), "")
		if err != nil || p.Value.CompanyName != g.CompanyName.V || p.Value.Colas != g.Count {
			t.Errorf("group %+v, permittee %+v, %v", g, p.Value.PermitteeSummary, err)
		}
	}
	if unknown != 1 || len(got.Groups) < 10 {
		t.Errorf("%d groups, %d with the new permit, want one", len(got.Groups), unknown)
	}
}
