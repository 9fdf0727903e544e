package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"pgregory.net/rapid"
)

// asOf is the current time for the random searches. It is chosen so that about half of the random
// labels are in the default date window.
var asOf = cola.NewDate(2025, 9, 1).Time()

// TestFacets checks that choosing a facet value finds exactly as many labels as its count, for any
// search and registry.
func TestFacets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDraws(rapid.Uint64().Draw(rt, "seed"), 60, 40)
		h := newHarness(t, rt, d)
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			h.step()
			for range 6 {
				h.checkFacets(h.params())
			}
		}
		h.index.Close()
	})
}

// TestLargeFacets repeats TestFacets with enough labels for every kind of posting list and both
// counting methods.
func TestLargeFacets(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	d := newDraws(11, 120_000, 500)
	h := newHarness(t, t, d)
	defer h.index.Close()
	h.commit(110_000, 8)
	h.checkFacets(cola.SearchParams{})
	h.commit(5000, 3)
	for range 30 {
		h.checkFacets(h.params())
	}
	h.compact()
	h.restore()
	for range 15 {
		h.checkFacets(h.params())
	}
}

// params draws random search parameters.
func (d *draws) params() (p cola.SearchParams) {
	for range d.IntN(5) {
		switch d.IntN(12) {
		case 0:
			p.Q = pick(d, d.id().String(), "oak*", "red wine", d.barcode(), "&")
		case 1:
			p.ProductType = pick(d, []string{"WINE"}, []string{"wine", "malt beverage"}, vocabulary.ProductTypes())
		case 2:
			p.Category = pick(d, []string{"wine"}, []string{"Wine", "Beer"})
		case 3, 4:
			p.DerivedSubcategory = pick(d, "wine > red wine", "Wine", "Wine > Red",
				"Wine > Rouge", "Old", "Liquor > None", "beer", "A > X")
		case 5:
			p.Origin = pick(d, "french", "american", "Georgia", "CALIFORNIA",
				"atlantis", "iraq", "carolinian", "GA", "geo", "usa")
		case 6, 7:
			p.Status = pick(d, "approved", "expired", "Revoked", "surrendered")
		case 8:
			p.ContainerType = pick(d, []string{"keg"}, []string{"bottle", "CAN"}, []string{"pod"})
		case 9:
			p.ApprovalDateFrom = pick(d, 0, d.date(), cola.NewDate(2024, 1, 1))
		case 10:
			p.ApprovalDateTo = max(p.ApprovalDateFrom, pick(d, d.date(), cola.NewDate(2024, 12, 31)))
		case 11:
			p.ABVMin, p.BrandName = cola.Some(float64(d.IntN(12))), pick(d, "", "a", "oak")
		}
	}
	if p.ApprovalDateTo != 0 && p.ApprovalDateFrom > p.ApprovalDateTo {
		p.ApprovalDateTo = 0
	}
	if p.ApprovalDateFrom == 0 && p.ApprovalDateTo == 0 && d.chance(30) {
		p.DateRange = cola.AllDates
	}
	p.EstimatedDates = pick(d, "", "", "exclude")
	if d.chance(30) {
		p.Page, p.PerPage = cola.Some(1+d.IntN(9)), cola.Some(3)
	}
	return p
}

// total returns the number of labels that a search finds.
func (h *harness) total(p cola.SearchParams) int {
	h.t.Helper()
	s, err := p.Normalize(asOf)
	if err != nil {
		h.t.Fatalf("Normalize(%+v): %v", p, err)
	}
	return h.index.View().Search(s).Total
}

func mustFacets(t failer, v *View, p cola.SearchParams) []cola.Facet {
	t.Helper()
	s, err := p.FacetSearch(asOf)
	if err != nil {
		t.Fatalf("FacetSearch(%+v): %v", p, err)
	}
	return v.Facets(s)
}

func (h *harness) checkFacets(p cola.SearchParams) {
	h.t.Helper()
	facets := mustFacets(h.t, h.index.View(), p)
	p = p.FixDates(asOf) // choosing a value keeps the dates
	var names []string
	for _, f := range facets {
		names = append(names, f.Name)
		displayed := map[string]bool{}
		for _, v := range f.Values {
			if displayed[v.Value] {
				h.t.Fatalf("%+v: facet %s has %q twice: %+v", p, f.Name, v.Value, f.Values)
			}
			displayed[v.Value] = true
			if n := h.total(p.Choose(f.Name, v.Value)); n != v.Count {
				h.t.Fatalf("%+v: facet %s, value %q: count = %d, but searching for it finds %d",
					p, f.Name, v.Value, v.Count, n)
			}
			if v.Count == 0 && !v.Chosen {
				h.t.Fatalf("%+v: facet %s has %q with count 0, want only values that have labels or are chosen",
					p, f.Name, v.Value)
			}
		}
		if len(h.registry.labels) < 1000 {
			h.checkComplete(p, f, displayed)
		}
	}
	if !slices.Equal(names, cola.Facets()) {
		h.t.Fatalf("facet names = %q, want %q", names, cola.Facets())
	}
}

// checkComplete checks that a facet lists every value that matching labels have.
func (h *harness) checkComplete(p cola.SearchParams, f cola.Facet, displayed map[string]bool) {
	h.t.Helper()
	missing := map[string]bool{}
	for value := range h.registry.values(f.Name, p) {
		if !displayed[value] && h.total(p.Choose(f.Name, value)) > 0 && !h.hasSpelling(f, value) {
			missing[value] = true
		}
	}
	if f.Name == cola.FacetOrigin && len(missing) == f.More {
		return
	}
	if len(missing) > 0 {
		h.t.Fatalf("%+v: facet %s is missing %q: %+v", p, f.Name, slices.Collect(maps.Keys(missing)), f)
	}
}

// hasSpelling reports whether the facet contains the category path in another spelling.
func (h *harness) hasSpelling(f cola.Facet, value string) bool {
	return f.Name == cola.FacetCategory && slices.ContainsFunc(f.Values,
		func(v cola.FacetValue) bool { return vocabulary.FoldPath(v.Value) == vocabulary.FoldPath(value) })
}

// values returns the values of a facet that labels have and a search can select.
func (r *registry) values(facet string, p cola.SearchParams) map[string]bool {
	values := map[string]bool{}
	aliases := vocabulary.AliasTable(r.aliases)
	for _, l := range r.labels {
		s := &l.Summary
		switch facet {
		case cola.FacetProductType:
			values[string(s.ProductType)] = true
		case cola.FacetStatus:
			values[string(s.ApplicationStatus)] = true
		case cola.FacetContainer:
			values[strings.ToLower(l.ContainerType)] = true
		case cola.FacetOrigin:
			values[strings.ToUpper(string(s.OriginName))] = true
		case cola.FacetYear:
			if date := effective(s); date != 0 {
				values[fmt.Sprint(date.Time().Year())] = true
			}
		case cola.FacetCategory:
			above := vocabulary.ResolveCategory(p.DerivedSubcategory, aliases)
			if path := below(vocabulary.ResolveCategory(categoryOf(l), aliases), above); path != "" &&
				vocabulary.FoldPath(vocabulary.ResolveCategory(path, aliases)) == vocabulary.FoldPath(path) {
				values[path] = true
			}
		}
	}
	delete(values, "")
	return values
}

// below returns the prefix of a path that is one level below another path.
func below(path, above string) string {
	if path == "" || !vocabulary.PathWithin(path, above) {
		return ""
	}
	levels := strings.Split(path, " > ")
	n := 1
	if above != "" {
		n += len(strings.Split(above, " > "))
	}
	if n > len(levels) {
		return ""
	}
	return strings.Join(levels[:n], " > ")
}

// TestFacetsWithMalformedValues checks that facets omit values that no parameter accepts, merge
// spellings of one value, and handle cyclic aliases.
func TestFacetsWithMalformedValues(t *testing.T) {
	h := newHarness(t, t, newDraws(1, 10, 20))
	defer h.index.Close()
	u := h.index.Begin()
	for i, l := range []struct{ origin, path string }{
		{"FRANCE", "Wine > Red Wine"}, {"France ", "WINE > RED WINE"},
		{"france", "Wine > Red Wine > Zweigelt"}, {"FRANCE", "Wine > Red Wine > Zweigelt"},
		{"CALIFORNIA", "Wine > \x00"}, {"AMERICAN", "Wine > " + strings.Repeat("x", 300)},
		{"KENTUCKY", "<script>alert(1)</script>"},
		{"\u202eATLANTIS", "Wine > \u202eRed"}, {"A\x00B", ""},
		{strings.Repeat("LONG", 100), " > > "}, {"<b>OZ</b>", "X > A > foo"}, {" ", "Beer"},
		{"OZ  LAND", "Old > Stout"},
	} {
		u.Label(labelWith(cola.TTBID(i+1), func(c *cola.Cola) {
			c.OriginName, c.LLMCategoryPath, c.LLMContainerType = cola.Text(l.origin), cola.Text(l.path), "amphora"
		}))
	}
	u.Aliases([]vocabulary.CategoryAlias{
		{Alias: "X > A", Path: "X > B"},
		{Alias: "X > B > foo", Path: "X > A > foo"},
		{Alias: "Old", Path: "Beer > Dark"},
	})
	if err := u.Commit(Marks{Labels: 1}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		p     cola.SearchParams
		facet string
		want  string
	}{
		"origins": {
			cola.SearchParams{},
			cola.FacetOrigin,
			"FRANCE: 4, AMERICAN: 3, <B>OZ</B>: 1, CALIFORNIA: 1, KENTUCKY: 1, \u202eATLANTIS: 1",
		},
		"a chosen word": {
			cola.SearchParams{Origin: "french"},
			cola.FacetOrigin,
			"FRANCE: 4*, AMERICAN: 3, <B>OZ</B>: 1, CALIFORNIA: 1, KENTUCKY: 1, \u202eATLANTIS: 1",
		},
		"chosen unknown origin": {
			cola.SearchParams{Origin: " lemuria"},
			cola.FacetOrigin,
			"FRANCE: 4, AMERICAN: 3, <B>OZ</B>: 1, CALIFORNIA: 1, KENTUCKY: 1, \u202eATLANTIS: 1, lemuria: 0*",
		},
		"roots": {cola.SearchParams{}, cola.FacetCategory, "Wine: 7, Beer: 2, <script: 1, X: 1"},
		"below a root": {
			cola.SearchParams{DerivedSubcategory: "WINE"},
			cola.FacetCategory,
			"Wine: 7*, Wine > Red Wine: 4, Wine > \u202eRed: 1",
		},
		"a leaf": {
			cola.SearchParams{DerivedSubcategory: "wine>red wine>zweigelt"},
			cola.FacetCategory,
			"Wine > Red Wine > Zweigelt: 2*",
		},
		"a former path": {
			cola.SearchParams{DerivedSubcategory: "Old"},
			cola.FacetCategory,
			"Beer > Dark: 1*, Beer > Dark > Stout: 1",
		},
		"in a cycle": {cola.SearchParams{DerivedSubcategory: "X"}, cola.FacetCategory, "X: 1*"},
		"no such path": {
			cola.SearchParams{DerivedSubcategory: "Mead > Dry"},
			cola.FacetCategory,
			"Mead > Dry: 0*",
		},
		"containers":   {cola.SearchParams{}, cola.FacetContainer, ""},
		"a chosen bag": {cola.SearchParams{ContainerType: []string{"BAG"}}, cola.FacetContainer, "bag: 0*"},
		"a chosen year": {
			cola.SearchParams{Origin: "french"}.Choose(cola.FacetYear, "1999"),
			cola.FacetYear, "2025: 4, 1999: 0*",
		},
		"part of a year": {
			cola.SearchParams{ApprovalDateFrom: cola.NewDate(2025, 3, 1)},
			cola.FacetYear,
			"2025: 13",
		},
		"empty query": {cola.SearchParams{Q: "&"}, cola.FacetYear, ""},
	} {
		facets := mustFacets(t, h.index.View(), tt.p)
		if got := describe(facets[slices.Index(cola.Facets(), tt.facet)]); got != tt.want {
			t.Errorf("%s: facet = %+q, want %+q", name, got, tt.want)
		}
		h.checkFacets(tt.p)
	}
}

// describe formats a facet. A star marks the chosen values.
func describe(f cola.Facet) string {
	var values []string
	for _, v := range f.Values {
		s := fmt.Sprintf("%s: %d", v.Value, v.Count)
		if v.Chosen {
			s += "*"
		}
		values = append(values, s)
	}
	return strings.Join(values, ", ")
}

// TestFacetLimit checks that a facet with many values lists the values with the most labels and the
// chosen value, and counts the omitted values.
func TestFacetLimit(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	u := x.Begin()
	id := cola.TTBID(0)
	for i := range 60 {
		for range i + 1 {
			id++
			u.Label(labelWith(id, func(c *cola.Cola) {
				c.OriginName = cola.Text(fmt.Sprintf("LAND %02d", i))
				c.LLMCategoryPath = cola.Text(fmt.Sprintf("Wine > Kind %02d", i))
			}))
		}
	}
	if err := u.Commit(Marks{Labels: 1}); err != nil {
		t.Fatal(err)
	}
	facets := mustFacets(t, x.View(), cola.SearchParams{Origin: "land 03", DerivedSubcategory: "Wine"})
	// Origins are counted within the chosen category, and categories within the chosen origin.
	if f := facets[3]; f.More != 48 || len(f.Values) != 12 || describe(f)[:11] != "LAND 59: 60" ||
		!strings.HasSuffix(describe(f), "LAND 49: 50, LAND 03: 4*") {
		t.Errorf("origins = %s and %d more; want the 11 largest, LAND 03 and 48 more", describe(f), f.More)
	}
	if f := facets[2]; f.More != 0 || describe(f) != "Wine: 4*, Wine > Kind 03: 4" {
		t.Errorf("categories = %s and %d more; want Wine: 4*, Wine > Kind 03: 4", describe(f), f.More)
	}
	facets = mustFacets(t, x.View(), cola.SearchParams{DerivedSubcategory: "Wine"})
	if f := facets[2]; f.More != 10 || len(f.Values) != 51 || f.Values[50].Count != 11 {
		t.Errorf("categories = %s and %d more; want 51 values and 10 more", describe(f), f.More)
	}
}
