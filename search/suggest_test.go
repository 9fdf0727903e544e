package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/text"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSuggest compares suggestions with the reference implementation across builds, changes,
// renames, compactions and snapshots.
func TestSuggest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDraws(rapid.Uint64().Draw(rt, "seed"), 60, 40)
		h := newHarness(t, rt, d)
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			h.step()
			for range 6 {
				h.checkSuggest()
			}
		}
		h.index.Close()
	})
}

// TestLargeSuggest repeats TestSuggest with enough brands that most are never counted, and with
// enough companies for an index of names.
func TestLargeSuggest(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	d := newDraws(5, 30_000, 400)
	h := newHarness(t, t, d)
	defer func() { h.index.Close() }()
	d.permits = 3000
	h.commit(20_000, 2500)
	h.commit(8000, 700)
	h.commit(500, 30)
	for range 40 {
		h.checkSuggest()
	}
	h.compact()
	h.restore()
	for range 20 {
		h.checkSuggest()
	}
}

// checkSuggest compares the suggestions for a random query with the reference implementation.
func (h *harness) checkSuggest() {
	h.t.Helper()
	s := cola.SuggestSearch{
		Field: pick(h.draws, cola.SuggestFields()[:7]...), Limit: pick(h.draws, 1, 2, 5, 10, 25),
		Q: pick(h.draws, h.word(), h.cut(h.word()), h.cut(h.name(2)), "b", "oa", "wi", "table r", "Straight-Bourbon",
			"beer > a", "ale", "val", "napa", "zin", "gr", "d'alex", "georgia", "F", "’", "o "+h.word(),
			h.word()+" a", h.word()+" an"),
	}
	if h.chance(10) && s.Field != cola.SuggestBrand && s.Field != cola.SuggestCompany {
		s.Q = ""
	}
	got := h.index.View().Suggest(s)
	if s.Field == cola.SuggestCategory {
		for i := range got {
			got[i].Value = vocabulary.FoldPath(got[i].Value)
		}
	}
	if diff := gocmp.Diff(h.registry.suggest(s), got); diff != "" {
		h.t.Fatalf("Suggest(%+v) (-want +got):\n%s", s, diff)
	}
}

// suggest returns the suggestions for a query, computed label by label.
func (r *registry) suggest(s cola.SuggestSearch) []cola.Suggestion {
	key := newCompletion(s.Q)
	all, byName := r.valueCounts(s.Field), s.Field == cola.SuggestBrand || s.Field == cola.SuggestCompany
	if s.Field == cola.SuggestCompany {
		all = r.companies(key)
	}
	found := slices.DeleteFunc(all, func(v cola.Suggestion) bool {
		return v.Count == 0 || key.isEmpty() && byName || rank(v.Value, key) == unmatched
	})
	slices.SortFunc(found, func(a, b cola.Suggestion) int {
		return cmp.Or(rank(a.Value, key)-rank(b.Value, key), b.Count-a.Count,
			strings.Compare(text.BrandKey(a.Value), text.BrandKey(b.Value)),
			strings.Compare(a.Value, b.Value), strings.Compare(a.PermitNumber, b.PermitNumber))
	})
	return append([]cola.Suggestion{}, found[:min(len(found), s.Limit)]...)
}

const unmatched = 2

// rank returns 0 if a value begins with the query, 1 if a later word does, and unmatched otherwise.
func rank(value string, c *completion) int { return c.match(text.BrandKey(value), value) }

// companies returns every permittee under the name that matches the key best.
func (r *registry) companies(key *completion) (all []cola.Suggestion) {
	labels := map[string]int{}
	for _, l := range r.labels {
		labels[l.Summary.PermitNumber]++
	}
	for number, p := range r.permittees {
		name := string(p.CompanyName)
		if rank(string(p.OperatingName), key) < rank(name, key) {
			name = string(p.OperatingName)
		}
		all = append(all, cola.Suggestion{Value: name, Count: labels[number], PermitNumber: number})
	}
	return all
}

// valueCounts returns the values of a field with their counts. Category paths are folded.
func (r *registry) valueCounts(field string) (all []cola.Suggestion) {
	spelled := map[string]map[string]int{} // labels per spelling, by key
	count := func(key, spelling string) {
		if spelled[key] == nil {
			spelled[key] = map[string]int{}
		}
		spelled[key][spelling]++
	}
	for _, l := range r.labels {
		switch field {
		case cola.SuggestBrand:
			count(text.BrandKey(l.Summary.BrandName), strings.TrimSpace(l.Summary.BrandName))
		case cola.SuggestClass:
			count(strings.ToUpper(string(l.Summary.ClassName)), string(l.Summary.ClassName))
		case cola.SuggestGrape:
			for _, grape := range l.GrapeVarietals {
				count(plain(grape), grape)
			}
		case cola.SuggestAppellation:
			count(plain(l.WineAppellation), l.WineAppellation)
		case cola.SuggestOrigin:
			name := strings.ToUpper(string(l.Summary.OriginName))
			count(name, name)
		case cola.SuggestCategory:
			path := vocabulary.FoldPath(vocabulary.ResolveCategory(categoryOf(l), vocabulary.AliasTable(r.aliases)))
			for ; path != ""; path = above(path) {
				count(path, path)
			}
		}
	}
	delete(spelled, "")
	for _, spellings := range spelled {
		best := cola.Suggestion{}
		for _, spelling := range slices.Sorted(maps.Keys(spellings)) {
			if spellings[spelling] > spellings[best.Value] {
				best.Value = spelling
			}
			best.Count += spellings[spelling]
		}
		switch field { // values that include narrower ones or that a label may repeat
		case cola.SuggestOrigin:
			best.Count = len(r.search(&cola.Query{OriginNames: vocabulary.OriginNames(best.Value)}, nil))
		case cola.SuggestAppellation:
			best.Count = len(r.search(&cola.Query{Appellation: best.Value}, nil))
		case cola.SuggestGrape:
			best.Count = len(r.search(&cola.Query{Grape: best.Value}, nil))
		}
		all = append(all, best)
	}
	return all
}

// TestSuggestOrder checks which values match, and their order.
func TestSuggestOrder(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	u, id := x.Begin(), cola.TTBID(0)
	for brand, labels := range map[string]int{
		"COOPER'S HAWK": 3, "Coopers Hawk": 1, "HAWKES": 1, "NIGHT HAWK": 2, "Hawkeye": 1, "TOMAHAWK": 9, "CHICKEN": 1,
		"Copper & Kings": 2, "COPPER AND KINGS": 1, "Château d'Yquem": 1, "\u202eHAWK\x00": 1,
		"O'ZIMMERMAN": 2, "COPPER ANGEL": 5, "COPPER HILL": 1,
	} {
		for range labels {
			id++
			u.Label(labelWith(id, func(c *cola.Cola) { c.BrandName = brand }))
		}
	}
	mustCommit(t, u, Marks{Labels: 1})
	for q, want := range map[string]string{
		"hawk":         "HAWKES 1, Hawkeye 1, COOPER'S HAWK 4, NIGHT HAWK 2",
		"COOPERS'":     "COOPER'S HAWK 4",
		"coopers ha":   "COOPER'S HAWK 4",
		"copper and k": "Copper & Kings 3",
		"chateau":      "Château d'Yquem 1",
		"dyq":          "Château d'Yquem 1",
		"k":            "Copper & Kings 3",
		"s hawk":       "",
		"o zimmer":     "O'ZIMMERMAN 2",
		"d yq":         "Château d'Yquem 1",
		"copper a":     "COPPER ANGEL 5, Copper & Kings 3",
		"copper an":    "COPPER ANGEL 5, Copper & Kings 3",
		"copper and":   "COPPER ANGEL 5, Copper & Kings 3, COPPER HILL 1",
		"hawk a":       "",
		"copper h":     "COPPER HILL 1",
		"&":            "",
	} {
		if got := suggested(x.View(), cola.SuggestBrand, q, 25); got != want {
			t.Errorf("brands for %q = %s, want %s", q, got, want)
		}
	}
	if got := suggested(x.View(), cola.SuggestBrand, "hawk", 3); got != "HAWKES 1, Hawkeye 1, COOPER'S HAWK 4" {
		t.Errorf("first three brands = %s", got)
	}
}

// suggested formats suggestions.
func suggested(v *View, field, q string, limit int) string {
	var values []string
	for _, s := range v.Suggest(cola.SuggestSearch{Field: field, Q: q, Limit: limit}) {
		values = append(values, strings.TrimSpace(fmt.Sprintf("%s %d %s", s.Value, s.Count, s.PermitNumber)))
	}
	return strings.Join(values, ", ")
}

// TestCorrect checks which queries without completions are corrected, and to what.
func TestCorrect(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	for i, brand := range []string{"RAVEN & OAK", "RAVENWOOD HILL", "RAVINE", "COOPER'S HAWK", "HAWK VINEYARDS", "CHÂTEAU D'YQUEM"} {
		u := x.Begin()
		u.Permittee(&cola.Permittee{PermitNumber: "P-1", CompanyName: "NIEDERHOFF IMPORTS", OperatingName: "Hawk Cellars"})
		u.Label(labelWith(cola.TTBID(i+1), func(c *cola.Cola) {
			c.BrandName, c.PermitNumber, c.OriginName, c.ClassName = brand, "P-1", "FRANCE", "STRAIGHT BOURBON WHISKY"
			c.GrapeVarietals = []string{"Grüner Veltliner"}
		}))
		mustCommit(t, u, Marks{Labels: 1})
	}
	for _, tt := range []struct{ field, q, want string }{
		{cola.SuggestBrand, "ravon", "raven"},
		{cola.SuggestBrand, "Ravon and Oak", "raven oak"},
		{cola.SuggestBrand, "ravenwod", "ravenwood"},
		{cola.SuggestBrand, "ravenwood hull", "ravenwood hill"},
		{cola.SuggestBrand, "ravemwo", "ravenwo"}, // incomplete
		{cola.SuggestBrand, "cuopers hawk", "coopers hawk"},
		{cola.SuggestBrand, "oak raven", ""}, // known words
		{cola.SuggestBrand, "oek", ""},       // too short
		{cola.SuggestBrand, "zzzzzz", ""},
		{cola.SuggestBrand, "ravon a b c d e f", ""}, // too many words
		{cola.SuggestCompany, "neiderhoff", "niederhoff"},
		{cola.SuggestCompany, "hawk celars", "hawk cellars"},
		{cola.SuggestOrigin, "french", "FRANCE"},
		{cola.SuggestOrigin, "frnace", "france"},
		{cola.SuggestClass, "straihgt", "straight"},
		{cola.SuggestGrape, "gruner vetliner", "gruner veltliner"},
	} {
		if got := x.View().Correct(tt.field, tt.q); got != tt.want {
			t.Errorf("Correct(%s, %q) = %q, want %q", tt.field, tt.q, got, tt.want)
		}
	}
}

// TestSuggestCompanies checks that permittees are listed once per permit number, under the name
// that matches, and only if they have labels.
func TestSuggestCompanies(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	u := x.Begin()
	for number, names := range map[string][2]string{
		"BWN-IL-1": {"COOPER'S HAWK WINERY LLC", "Hawk Cellars"}, "BWN-IL-2": {"COOPER'S HAWK WINERY LLC", ""},
		"BWN-IL-3": {"ACME HOLDINGS", "Hawkes & Sons"}, "BWN-IL-4": {"HAWK WITHOUT LABELS", ""},
	} {
		u.Permittee(&cola.Permittee{
			PermitNumber: number, CompanyName: cola.Text(names[0]), OperatingName: cola.Text(names[1]),
		})
	}
	for i, number := range []string{"BWN-IL-1", "BWN-IL-2", "BWN-IL-2", "BWN-IL-3", "BWN-IL-9"} {
		u.Label(labelWith(cola.TTBID(i+1), func(c *cola.Cola) { c.PermitNumber = number }))
	}
	mustCommit(t, u, Marks{Labels: 1})
	for q, want := range map[string]string{
		"hawk":        "Hawk Cellars 1 BWN-IL-1, Hawkes & Sons 1 BWN-IL-3, COOPER'S HAWK WINERY LLC 2 BWN-IL-2",
		"hawkes and ": "Hawkes & Sons 1 BWN-IL-3",
		"coopers":     "COOPER'S HAWK WINERY LLC 2 BWN-IL-2, COOPER'S HAWK WINERY LLC 1 BWN-IL-1",
		"bwn":         "",
	} {
		if got := suggested(x.View(), cola.SuggestCompany, q, 10); got != want {
			t.Errorf("companies for %q = %s, want %s", q, got, want)
		}
	}
}

// TestSuggestAcrossSegments checks that a brand ranks by its labels in all segments, and that
// companies with the same name and count are sorted by permit number.
func TestSuggestAcrossSegments(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	id := cola.TTBID(0)
	publish := func(permit string, labels map[string]int) {
		u := x.Begin()
		u.Permittee(&cola.Permittee{PermitNumber: permit, CompanyName: "HAWK WINERY"})
		for brand, n := range labels {
			for range n {
				id++
				u.Label(labelWith(id, func(c *cola.Cola) { c.BrandName, c.PermitNumber = brand, permit }))
			}
		}
		mustCommit(t, u, Marks{Labels: 1})
	}
	publish("BWN-IL-2", map[string]int{"HAWK A": 4, "HAWK B": 3})
	publish("BWN-IL-1", map[string]int{"HAWK C": 4, "HAWK B": 3})
	if got := suggested(x.View(), cola.SuggestBrand, "hawk", 1); got != "HAWK B 6" || x.View().Stats().Segments != 2 {
		t.Errorf("brand = %s in %d segments, want HAWK B 6 in two", got, x.View().Stats().Segments)
	}
	if got := suggested(x.View(), cola.SuggestCompany, "hawk", 1); got != "HAWK WINERY 7 BWN-IL-1" {
		t.Errorf("company = %s, want the lower permit number", got)
	}
}

// TestSuggestConcurrently checks that an older view keeps its own suggestions, even with concurrent
// callers of both views.
func TestSuggestConcurrently(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	publish := func(origin string) *View {
		u := x.Begin()
		u.Label(labelWith(1, func(c *cola.Cola) { c.OriginName = cola.Text(origin) }))
		mustCommit(t, u, Marks{Labels: 1})
		return x.View()
	}
	views := map[string]*View{"FRANCE 1": publish("FRANCE"), "ITALY 1": publish("ITALY")}
	var all sync.WaitGroup
	for want, v := range views {
		for range 4 {
			all.Go(func() {
				if got := suggested(v, cola.SuggestOrigin, "", 10); got != want {
					t.Errorf("origins = %s, want %s", got, want)
				}
			})
		}
	}
	all.Wait()
}
