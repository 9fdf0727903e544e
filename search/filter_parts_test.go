package search

import (
	"slices"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestFilterParts checks that the filters together find the labels that match every ungrouped
// filter and at least one filter of each group.
func TestFilterParts(t *testing.T) {
	found, grouped := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		d := newDraws(rapid.Uint64().Draw(rt, "seed"), 60, 20)
		h := newHarness(t, rt, d)
		defer h.index.Close()
		h.commit(40, 6)
		h.commit(20, 2)
		v := h.index.View()
		var ids []cola.TTBID
		for id := range h.registry.labels {
			ids = append(ids, id)
		}
		all := v.Subset(ids)
		for range 12 {
			filters := h.savedFilters()
			want := v.Matches(filters.AsQuery(), all)
			parts := filters.Parts()
			if got := matching(v, parts, all); !slices.Equal(want, got) {
				rt.Fatalf("Matches(%+v) (-whole +parts):\n%s", filters, cmp.Diff(want, got))
			}
			found += len(want)
			if len(want) > 0 && slices.ContainsFunc(parts, func(p cola.FilterPart) bool { return p.Group != "" }) {
				grouped++
			}
		}
	})
	if found < 100 || grouped < 20 {
		t.Errorf("filters found %d labels, %d cases with groups; want at least 100, 20", found, grouped)
	}
}

// matching returns the labels of a subset that match a part of each group and every ungrouped part.
// It applies the query last, because the labels that match the other parts determine whether its
// text is a barcode or words.
func matching(v *View, parts []cola.FilterPart, among *Subset) []cola.Position {
	if i := slices.IndexFunc(parts, func(p cola.FilterPart) bool { return p.Filter == "query" }); i >= 0 {
		query := parts[i].Alone.AsQuery()
		var ids []cola.TTBID
		for _, p := range matching(v, slices.Delete(slices.Clone(parts), i, i+1), among) {
			ids = append(ids, p.TTBID)
		}
		return v.Matches(query, v.Subset(ids))
	}
	met := map[string]map[cola.Position]bool{}
	for _, p := range parts {
		name := p.Group
		if name == "" {
			name = p.Filter
		}
		if met[name] == nil {
			met[name] = map[cola.Position]bool{}
		}
		for _, position := range v.Matches(p.Alone.AsQuery(), among) {
			met[name][position] = true
		}
	}
	return slices.DeleteFunc(v.Matches(cola.Query{}, among), func(p cola.Position) bool {
		for _, group := range met {
			if !group[p] {
				return true
			}
		}
		return false
	})
}

// savedFilters draws a few random filters of a saved search.
func (h *harness) savedFilters() cola.SavedSearchFilters {
	var f cola.SavedSearchFilters
	for range 1 + h.IntN(4) {
		h.savedFilter(&f)
	}
	normalized, err := cola.SavedSearchParams{Name: "n", Filters: &f}.Normalize(cola.NewDate(2026, 11, 20).Time())
	if err != nil {
		h.t.Fatalf("filters %+v: %v", f, err)
	}
	return normalized.Filters
}

// savedFilter sets one random filter or a few related ones.
func (h *harness) savedFilter(f *cola.SavedSearchFilters) {
	some := func(options ...*cola.Opt[bool]) {
		for range 1 + h.IntN(3) {
			*options[h.IntN(len(options))] = cola.Some(h.chance(90))
		}
	}
	switch h.IntN(14) {
	case 13:
		f.Class = pick(h.draws, "beer", "TABLE RED WINE", "wine")
	case 0:
		f.Query = pick(h.draws, "oak", "OA*", "036000291452", h.id().String(), h.permit())
	case 1:
		f.BrandName = pick(h.draws, "a", "o", "-", "OAK", `"oak"`)
	case 2:
		f.BarcodeValue = h.barcode()
	case 3:
		f.ApplicationStatus = pick(h.draws, "approved", "expired")
	case 4:
		some(&f.TypeWine, &f.TypeMaltBeverage, &f.TypeDistilledSpirit)
	case 5:
		some(&f.DerivedBeer, &f.DerivedWine, &f.DerivedLiquor)
	case 6:
		f.DerivedCategory = pick(h.draws, "wine > red wine", "Wine > Red", "Old", "Liquor")
	case 7, 8:
		some(&f.OriginDomestic, &f.OriginImported)
	case 9:
		f.Country = pick(h.draws, "", "french", "georgia", "american", "usa", "narnia", "californian", "GA", "GEO")
		f.USState = pick(h.draws, "", "georgia", "CA", "oregon", "washingtonian", "Georgian")
	case 10:
		f.PermitNumberText = pick(h.draws, "nj", "-I-", "1", "")
		f.ApplicantUSState = pick(h.draws, "", "CA", "new jersey")
	case 11:
		f.ABVMin, f.ABVMax = h.bounds(40)
		f.VolumeUnit = pick(h.draws, "milliliters", "liters", "fluid ounces")
		if h.chance(60) {
			f.VolumeMin, f.VolumeMax = h.bounds(3000)
		}
	default:
		some(&f.ContainerBottle, &f.ContainerCan, &f.ContainerKeg, &f.ContainerBag)
	}
}
