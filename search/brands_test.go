package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/similar"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// TestBrands compares pages of similar brands with the reference implementation across builds,
// changes, renames, compactions and snapshots.
func TestBrands(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDraws(rapid.Uint64().Draw(rt, "seed"), 60, 60)
		h := newHarness(t, rt, d)
		defer h.index.Close()
		h.commit(40, 3)
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			h.step()
			for range 8 {
				h.checkBrands()
			}
		}
	})
}

// TestSimilarNames searches an index of many names for each of them. It must find the same brands,
// with the same scores, as a comparison of all pairs.
func TestSimilarNames(t *testing.T) {
	t.Parallel()
	names := []string{
		"SMITH", "SCHMIDT", "XAVIER", "SAVIER", "WAGNER", "VAGNER", "CABRILLO", "CABRIO", "RAVENSWOOD HILL", "RAVEN", "STONE GATE",
		"STONEGATE", "STONEGATES", "THE STONE GATE WINERY", "BLACKBERRY", "BLACKBERRIES LANE", "BLAKBERRY", "BLACK", "漢字", "漢 字",
		"CHRYSANTHEMUM", "CHRISANTEMUM", "ÉTOILE", "ETOILLE", "A", "THE", "THE VINEYARDS", "VINEYARD", "AND", "4", "FOUR ACES",
		"CYPRESS FORGE", "CYPRES FORGE", "CYPRE", "GLASS", "GLAS", "GLA", "PRINCE", "PRINCESS", "XYZ", "X Y Z", "X.Y.Z. WINES", "A B C", "A & C",
		"MERCERWINERY", "MERCER WINERY", "MERCER WINES", "THESHIRASHIMA", "THE SHIRASHIMA", "THE SHIRASHIMA WINERY", "WINERYTHE",
		"CASA DELL'OLMO", "CASA DELL OLMO", "OLMO", "D'ANGELO", "D ANGELO", "ANGELO", "O'BRIEN", "OBRIEN", "BRIEN", "CHATEAU D'YQUEM", "YQUEM",
		"ROCK'N'ROLL", "ROCK & ROLL", "COOPER'S HAWK", "DON'T", "D'", "L'Été", "ETE",
	}
	for _, p := range brandPairs(t) {
		names = append(names, p.name, p.brand)
	}
	v := namedLabels(t, names).view
	for _, searched := range names {
		want, got := map[string]similar.Match{}, map[string]similar.Match{}
		for _, name := range names {
			if m := compareNames(searched, name, similar.All); m.Score > 0 {
				want[text.BrandKey(name)] = want[text.BrandKey(name)].Or(m)
			}
		}
		for _, row := range v.Brands(cola.BrandSearch{Name: searched, MinScore: 1, Page: 1, PerPage: 1000}).Rows {
			kind := similar.Kind(slices.Index(cola.Similarities(), row.Similarity))
			got[text.BrandKey(row.BrandName)] = similar.Match{Kind: kind, Score: row.Score}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("brands similar to %q (-want +got):\n%s", searched, diff)
		}
	}
}

// TestReadings checks the similarity of names with elided articles, in both directions.
func TestReadings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want similar.Match
	}{
		{"Dell'Olmo", "DELL’OLMO", similar.Match{Kind: similar.Exact, Score: 100}},
		{"Casa Dell Olmo", "CASA DELL'OLMO", similar.Match{Kind: similar.SameWords, Score: 97}},
		{"Casa d Angelo", "CASA DANGELO", similar.Match{Kind: similar.SameWords, Score: 97}},
		{"Angelo", "D'ANGELO", similar.Match{Kind: similar.SameWords, Score: 97}},
		{"Brien", "O'BRIEN", similar.Match{Kind: similar.SameWords, Score: 97}},
		{"Arte", "DELL'ARTE", similar.Match{Kind: similar.Prefix, Score: 96}},
		{"Yquem", "CHATEAU D'YQUEM", similar.Match{Kind: similar.Prefix, Score: 95}},
		{"Angelo Hill", "D'ANGELO", similar.Match{Kind: similar.Prefix, Score: 75}},
		{"Angelo", "DANGELO", similar.Match{Kind: similar.OneEdit, Score: 89}},
		{"Cooper Hawk", "COOPER'S HAWK", similar.Match{Kind: similar.Plural, Score: 97}},
	} {
		for _, names := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
			if got := compareNames(names[0], names[1], similar.All); got != tt.want {
				t.Errorf("%q and %q: %+v, want %+v", names[0], names[1], got, tt.want)
			}
		}
	}
}

// TestElidedSpellings checks that the similarity of a brand depends on the spellings of its live
// labels, and that its row counts all of them.
func TestElidedSpellings(t *testing.T) {
	t.Parallel()
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	last := cola.TTBID(24_001_002_000_000)
	set := func(number cola.TTBID, brand string) { // in a new segment with another label that stays live
		u := x.Begin()
		last++
		u.Label(&cola.IndexRecord{Summary: cola.ColaSummary{TTBID: 24_001_001_000_000 + number, BrandName: brand}})
		u.Label(&cola.IndexRecord{Summary: cola.ColaSummary{TTBID: last, BrandName: "ZINNIA"}})
		mustCommit(t, u, Marks{})
	}
	check := func(kind string, colas int) {
		t.Helper()
		rows := x.View().Brands(cola.BrandSearch{Name: "Arte", MinScore: 1, Page: 1, PerPage: 10}).Rows
		if len(rows) != 1 || rows[0].Similarity != kind || rows[0].Colas != colas {
			t.Errorf("rows %+v, want one %s match with %d labels", rows, kind, colas)
		}
	}
	set(1, "D'ARTE")
	set(2, "DARTE")
	set(3, "d’Arte")
	check("same_words", 3)
	set(1, "DARTE")
	check("same_words", 3)
	set(3, "DARTE")
	check("one_edit", 3)

	set(4, "DELL'ARTE") // DELLARTE alone is not similar
	set(5, "DELLARTE")
	found := x.View().Brands(cola.BrandSearch{Name: "Arte", MinScore: 90, Page: 1, PerPage: 10})
	if len(found.Rows) != 1 || found.Rows[0].Colas != 2 {
		t.Errorf("rows %+v, want one with 2 labels", found.Rows)
	}
}

// TestManyBrands repeats TestBrands with long posting lists.
func TestManyBrands(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	h := newHarness(t, t, newDraws(11, 30_000, 400))
	defer h.index.Close()
	h.commit(20_000, 8)
	for range 4 {
		h.checkBrands()
	}
	h.commit(1000, 3)
	for range 4 {
		h.checkBrands()
	}
	h.compact()
	h.restore()
	h.commit(100, 3)
	for range 4 {
		h.checkBrands()
	}
}

// checkBrands compares one random page of similar brands with the reference implementation.
func (h *harness) checkBrands() {
	h.t.Helper()
	s := h.brandSearch()
	if diff := cmp.Diff(h.registry.similarBrands(s), h.index.View().Brands(s)); diff != "" {
		h.t.Fatalf("Brands(%+v) (-want +got):\n%s", s, diff)
	}
}

// brandSearch returns a random search for a name that some brand may resemble.
func (d *draws) brandSearch() cola.BrandSearch {
	words := strings.Fields(d.name(3))
	for i, w := range words {
		if d.chance(40) && len(w) > 2 {
			at := 1 + d.IntN(len(w)-1)
			words[i] = strings.ToValidUTF8(pick(d, w[:at-1]+w[at:], w[:at]+"e"+w[at:], w[:at]+w[at-1:], w+"ton"), "")
		}
	}
	if d.chance(20) {
		slices.Reverse(words)
	}
	s := cola.BrandSearch{
		Name:     strings.Join(words, pick(d, " ", " ", " ", "", " & ")),
		MinScore: pick(d, 1, 1, 50, 70),
		Page:     1 + d.IntN(3),
		PerPage:  1 + d.IntN(8),
	}
	if d.chance(30) {
		s.ProductTypes = vocabulary.ProductTypes()[d.IntN(2):][:1+d.IntN(2)]
	}
	if d.chance(30) {
		s.Similarities = pick(d, cola.Similarities()[:1], cola.Similarities()[1:4], cola.Similarities()[4:])
	}
	return s
}

// similarBrands is the reference implementation of View.Brands.
func (r *registry) similarBrands(s cola.BrandSearch) BrandPage {
	allowed := similar.All
	if s.Similarities != nil {
		allowed = 0
	}
	for i, name := range cola.Similarities() {
		if slices.Contains(s.Similarities, name) {
			allowed = allowed.With(similar.Kind(i))
		}
	}
	labels := map[string][]*cola.IndexRecord{}
	for _, l := range r.labels {
		if s.ProductTypes == nil || slices.Contains(s.ProductTypes, string(l.Summary.ProductType)) {
			if key := text.BrandKey(l.Summary.BrandName); key != "" {
				labels[key] = append(labels[key], l)
			}
		}
	}
	page := BrandPage{Rows: []cola.BrandMatch{}, Counts: map[string]int{}}
	type row struct {
		key string
		cola.BrandMatch
	}
	var rows []row
	for key, group := range labels { // the best match of any spelling
		var m similar.Match
		for _, l := range group {
			m = m.Or(compareNames(s.Name, l.Summary.BrandName, allowed))
		}
		if m.Score >= s.MinScore && m.Score > 0 {
			match := r.brandMatch(group)
			match.Similarity, match.Score = cola.Similarities()[m.Kind], m.Score
			rows = append(rows, row{key, match})
			page.Counts[match.Similarity]++
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		if a.Score != b.Score {
			return b.Score - a.Score
		}
		if a.Colas != b.Colas {
			return b.Colas - a.Colas
		}
		return strings.Compare(a.key, b.key)
	})
	page.Total = len(rows)
	for i, row := range rows {
		if i/s.PerPage == s.Page-1 {
			page.Rows = append(page.Rows, row.BrandMatch)
		}
		page.HasMore = page.HasMore || i/s.PerPage >= s.Page
	}
	return page
}

// compareNames returns the best match between any reading of a searched name and any reading of a
// brand name.
func compareNames(searched, brand string, allowed similar.Set) (best similar.Match) {
	for _, q := range brandQueries(searched, allowed) {
		for _, name := range brandNames(brand) {
			best = best.Or(q.Compare(&name))
		}
	}
	return best
}

// brandMatch returns the statistics on a brand's labels.
func (r *registry) brandMatch(labels []*cola.IndexRecord) cola.BrandMatch {
	m := cola.BrandMatch{Colas: len(labels), ProductTypes: []string{}}
	spellings, holders, types := map[string]int{}, map[string]int{}, map[string]bool{}
	newest := cola.Date(-1)
	for _, l := range labels {
		spellings[l.Summary.BrandName]++
		holders[l.Summary.PermitNumber]++
		types[string(l.Summary.ProductType)] = true
		date := effective(&l.Summary)
		if date > newest || date == newest && l.Summary.TTBID > m.ExampleTTBID {
			newest, m.ExampleTTBID = date, l.Summary.TTBID
		}
		m.LastApproval = max(m.LastApproval, date)
		if date != 0 && (m.FirstApproval == 0 || date < m.FirstApproval) {
			m.FirstApproval = date
		}
		switch l.Summary.ApplicationStatus {
		case "approved":
			m.Statuses.Approved++
		case "expired":
			m.Statuses.Expired++
		case "surrendered":
			m.Statuses.Surrendered++
		case "revoked":
			m.Statuses.Revoked++
		default:
			m.Statuses.Unknown++
		}
	}
	for _, t := range vocabulary.ProductTypes() {
		if types[t] {
			m.ProductTypes = append(m.ProductTypes, t)
		}
	}
	m.BrandName = mostFrequent(spellings)
	m.TotalHolders = len(holders)
	for range min(len(holders), cola.MaxBrandHolders) {
		number := mostFrequent(holders)
		m.Holders = append(m.Holders, cola.BrandHolder{
			PermitNumber: number, CompanyName: r.permittees[number].CompanyName, Colas: holders[number],
		})
		delete(holders, number)
	}
	return m
}

// mostFrequent returns the value with the highest count. Ties go to the first alphabetically.
func mostFrequent(counts map[string]int) (value string) {
	for v, n := range counts {
		if n > counts[value] || n == counts[value] && v < value {
			value = v
		}
	}
	return value
}
