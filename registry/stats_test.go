package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
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
		for _, by := range [][]string{{cola.ByYear}, {cola.ByBrand}, {cola.ByClass, cola.ByStatus}} {
			got, state, err := w.CountColas(t.Context(), c, cola.CountParams{GroupBy: by, Top: cola.Some(7), SearchParams: params})
			if err != nil {
				t.Fatal(err)
			}
			sum := got.Others.Labels
			for _, g := range got.Groups {
				sum += g.Count
			}
			if got.Total != page.Pagination.Total || sum != got.Total || len(got.Groups) > 7 {
				t.Errorf("%+v by %v: total %d, sum %d in %d groups, want %d", params, by, got.Total, sum, len(got.Groups), page.Pagination.Total)
			}
			if diff := cmp.Diff(page.Defaults, got.Defaults) + cmp.Diff(page.Notes, slices.DeleteFunc(got.Notes, isTie)) + cmp.Diff(page.DataAsOf, got.DataAsOf); diff != "" {
				t.Errorf("%+v by %v (-search +counts):\n%s", params, by, diff)
			}
			if want := min(1, len(got.Groups)); state.Charged != want {
				t.Errorf("%+v by %v: %d list records charged for %d groups, want %d", params, by, state.Charged, len(got.Groups), want)
			}
		}
	}
}

// isTie reports whether a note says that other groups are tied with the last one.
func isTie(note string) bool { return strings.Contains(note, "the same number of labels") }

// TestCountColasCharge checks the price of groups, and that groups beyond the quota or the size of
// the response are neither returned nor charged but counted among the others.
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
		if len(got.Groups) != tt.groups || state.Charged != tt.charged || got.Others != others || got.Truncated != tt.truncated || got.Total != 120 {
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
