package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// TestCountGroups compares counts with the reference implementation across changes, aliases,
// compactions and snapshots.
func TestCountGroups(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHarness(t, rt, newDraws(rapid.Uint64().Draw(rt, "seed"), 60, 40))
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			h.step()
			for range 8 {
				h.checkCounts(1 + h.IntN(12))
			}
		}
		h.index.Close()
	})
}

// TestCountManyGroups repeats TestCountGroups with many groups and more than one block of labels.
func TestCountManyGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	h := newHarness(t, t, newDraws(5, 90_000, 800))
	defer h.index.Close()
	h.commit(120_000, 8)
	h.commit(3000, 3)
	check := func() {
		for _, by := range [][]string{
			{cola.ByBrand, cola.ByPermit}, {cola.ByYear, cola.ByBrand},
		} {
			h.checkCountsBy(cola.Query{}, nil, by, 1000)
		}
		for range 3 {
			h.checkCounts(1 + h.IntN(1000))
		}
	}
	check()
	h.compact()
	h.restore()
	check()
}

// TestCountBrandsOfSegments checks two segments whose brands are equal when concatenated.
func TestCountBrandsOfSegments(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	for i, brands := range [][]string{{"A", "BC"}, {"AB", "C"}} {
		u := x.Begin()
		for j, brand := range brands {
			u.Label(labelWith(cola.TTBID(1+2*i+j), func(c *cola.Cola) { c.BrandName = brand }))
		}
		mustCommit(t, u, Marks{})
	}
	s := cola.CountSearch{GroupBy: []string{cola.ByBrand}, Top: 10}
	var got []string
	for _, g := range x.View().CountGroups(s).Groups {
		got = append(got, fmt.Sprintf("%s %d", g.Brand.V, g.Count))
	}
	if want := []string{"A 1", "AB 1", "BC 1", "C 1"}; !slices.Equal(got, want) {
		t.Errorf("counts = %q, want %q", got, want)
	}
}

// TestCountGroupsConcurrently counts while labels are being added and compacted. Run it with the
// race detector.
func TestCountGroupsConcurrently(t *testing.T) {
	h := newHarness(t, t, newDraws(3, 500, 40))
	defer h.index.Close()
	h.commit(200, 3)
	var counting sync.WaitGroup
	for range 4 {
		counting.Go(func() {
			for range 50 {
				v := h.index.View()
				for _, dimension := range []string{cola.ByPermit, cola.ByAppellation} {
					s := cola.CountSearch{GroupBy: []string{dimension}, Top: 1000}
					if got, want := v.CountGroups(s).Total, v.Stats().Labels; got != want {
						t.Errorf("%d labels by %s, want %d", got, dimension, want)
					}
				}
			}
		})
	}
	for range 10 {
		h.commit(20, 3)
		h.compact()
	}
	counting.Wait()
}

// checkCounts compares the counts of one random search by random dimensions.
func (h *harness) checkCounts(top int) {
	h.t.Helper()
	s, phrases := h.search()
	if h.chance(20) || strings.Contains(s.Text, `"`) { // TestIndex covers phrases
		s.Query, phrases = cola.Query{}, nil
	}
	by := []string{pick(h.draws, cola.Dimensions()...)}
	if second := pick(h.draws, cola.Dimensions()...); second != by[0] && h.chance(60) {
		by = append(by, second)
	}
	h.checkCountsBy(s.Query, phrases, by, top)
}

// checkCountsBy compares counts with the reference implementation.
func (h *harness) checkCountsBy(q cola.Query, phrases []text.Phrase, by []string, top int) {
	h.t.Helper()
	found := h.registry.search(&q, phrases)
	wanted := func(limit int) GroupCounts { return h.registry.countGroups(found, by, top, limit) }
	want := wanted(cola.MaxGroups)
	v := h.index.View()
	s := cola.CountSearch{ColaSearch: cola.ColaSearch{Query: q}, GroupBy: by, Top: top}
	if total := v.Search(s.ColaSearch).Total; total != want.Total {
		h.t.Fatalf("Search(%+v) finds %d labels, want %d", q, total, want.Total)
	}
	if diff := gocmp.Diff(want, v.CountGroups(s)); diff != "" {
		h.t.Fatalf("CountGroups(%+v) (-want +got):\n%s", s, diff)
	}
	limits := countLimits{
		cells: pick(h.draws, 0, 100, 1<<20), sorted: pick(h.draws, 0, 5, 1<<20), ranked: 1 << 20, groups: pick(h.draws, 1, 5, cola.MaxGroups),
	}
	want = wanted(limits.groups)
	got := v.countGroups(&s, limits)
	if len(found) > limits.sorted && !got.Others.Groups.OK {
		want.Others.Groups = got.Others.Groups
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		h.t.Fatalf("%+v: counts of %+v (-want +got):\n%s", limits, s, diff)
	}
}

// linearGroup is a group of the reference implementation.
type linearGroup struct {
	keys  []string
	count int
}

// countGroups returns the expected result of View.CountGroups for labels. limit is the maximum
// number of groups if one of two dimensions is an axis.
func (r *registry) countGroups(labels []*cola.IndexRecord, by []string, top, limit int) GroupCounts {
	groups := map[string]*linearGroup{}
	totals := []map[string]int{{}, {}}       // labels by key, for each dimension
	spellings := map[string]map[string]int{} // by dimension and key
	for i := range labels {
		var keys []string
		for d, dimension := range by {
			key, value := r.groupOf(labels[i], dimension)
			if key == "" {
				value = ""
			}
			keys = append(keys, key)
			in := dimension + "\x00" + key
			if spellings[in] == nil {
				spellings[in] = map[string]int{}
			}
			spellings[in][value]++
			totals[d][key]++
		}
		id := strings.Join(keys, "\x00")
		if groups[id] == nil {
			groups[id] = &linearGroup{keys: keys}
		}
		groups[id].count++
	}
	sorted := func(d int) []string {
		return slices.SortedFunc(maps.Keys(totals[d]), func(a, b string) int {
			return compareGroups(by[d], a, b, totals[d][a], totals[d][b])
		})
	}
	ranked := slices.DeleteFunc(slices.Clone(by), cola.HasOwnOrder)
	order := slices.Collect(maps.Values(groups))
	slices.SortFunc(order, func(a, b *linearGroup) int {
		if len(ranked) == 2 {
			return cmp.Or(cmp.Compare(b.count, a.count), slices.Compare(a.keys, b.keys))
		}
		c := 0
		for d := range by {
			c = cmp.Or(c, compareGroups(by[d], a.keys[d], b.keys[d], totals[d][a.keys[d]], totals[d][b.keys[d]]))
		}
		return c
	})
	found := GroupCounts{Total: len(labels), Others: cola.OtherGroups{Groups: cola.Some(0)}, Groups: []cola.LabelGroup{}}
	if axis := slices.IndexFunc(by, cola.HasOwnOrder); len(by) == 2 && len(ranked) == 1 {
		order = firstValues(order, 1-axis, sorted(1-axis), top, limit)
		for _, key := range sorted(axis) {
			found.AxisTotals = append(found.AxisTotals, cola.OtherLabels{Value: cola.Text(key), Count: totals[axis][key]})
		}
	} else {
		order = order[:min(top, len(order))]
	}
	found.Others.Groups.V, found.Others.Labels = len(groups)-len(order), len(labels)
	for _, g := range order {
		row := cola.LabelGroup{Count: g.count}
		found.Others.Labels -= g.count
		for d, dimension := range by {
			row.Set(dimension, cola.Text(mostFrequent(spellings[dimension+"\x00"+g.keys[d]])))
			if dimension == cola.ByPermit {
				row.CompanyName = cola.Some(r.permittees[g.keys[d]].CompanyName)
			}
		}
		found.Groups = append(found.Groups, row)
	}
	return found
}

// firstValues returns the groups of the first top values of dimension d, or of fewer values if they
// have more groups than the limit.
func firstValues(groups []*linearGroup, d int, values []string, top, limit int) (found []*linearGroup) {
	of := func(values []string) []*linearGroup {
		return slices.DeleteFunc(slices.Clone(groups), func(g *linearGroup) bool { return !slices.Contains(values, g.keys[d]) })
	}
	values = values[:min(top, len(values))]
	for len(values) > 1 && len(of(values)) > limit {
		values = values[:len(values)-1]
	}
	found = of(values)
	return found[:min(limit, len(found))]
}

// compareGroups orders two values of a dimension by their keys and their numbers of labels.
func compareGroups(dimension, a, b string, n, m int) int {
	switch dimension {
	case cola.ByYear, cola.ByQuarter, cola.ByMonth, cola.ByBrandFirstSeen, cola.ByPermitteeFirstSeen:
		return strings.Compare(b, a) // an unknown date comes last
	case cola.ByABV, cola.ByVolume:
		lower := func(band string) (low float64) {
			if band == "" {
				return 1e9
			}
			fmt.Sscan(strings.TrimRight(strings.Split(band, "-")[0], "+"), &low)
			return low
		}
		return cmp.Compare(lower(a), lower(b))
	}
	return cmp.Or(cmp.Compare(m, n), strings.Compare(a, b))
}

// groupOf returns a label's key and value in a dimension.
func (r *registry) groupOf(l *cola.IndexRecord, dimension string) (key, value string) {
	s := &l.Summary
	same := func(v string) (string, string) { return v, v }
	levels := func(n int) (string, string) {
		path := vocabulary.NormalizePath(vocabulary.ResolveCategory(categoryOf(l), vocabulary.AliasTable(r.aliases)))
		all := strings.Split(path, " > ")
		if path == "" || n > len(all) {
			return "", ""
		}
		if n > 0 {
			path = strings.Join(all[:n], " > ")
		}
		return vocabulary.FoldPath(path), vocabulary.NormalizeCategory(path)
	}
	band := func(v float64, known bool) (string, string) {
		if !known {
			return "", ""
		}
		name, _ := cola.Band(dimension, v)
		return same(string(name))
	}
	date := effective(s)
	switch dimension {
	case cola.ByYear, cola.ByQuarter, cola.ByMonth:
		if date == 0 {
			return "", ""
		}
		year, month := date.String()[:4], date.String()[:7]
		quarter := year + "-Q" + string("111222333444"[date.Time().Month()-1])
		return same(map[string]string{cola.ByYear: year, cola.ByQuarter: quarter, cola.ByMonth: month}[dimension])
	case cola.ByProductType:
		return same(string(s.ProductType))
	case cola.ByClass:
		return same(string(s.ClassName))
	case cola.ByCategory:
		return levels(1)
	case cola.BySubcategory:
		return levels(2)
	case cola.ByPath:
		return levels(0)
	case cola.ByOrigin:
		return same(strings.ToUpper(string(s.OriginName)))
	case cola.ByStatus:
		return same(string(s.ApplicationStatus))
	case cola.ByContainer:
		return same(strings.ToLower(l.ContainerType))
	case cola.ByPermit:
		return same(s.PermitNumber)
	case cola.ByState:
		return same(strings.ToUpper(l.AddressState))
	case cola.ByBrand:
		return text.BrandKey(s.BrandName), s.BrandName
	case cola.ByAppellation:
		return plain(l.WineAppellation), l.WineAppellation
	case cola.ByBrandFirstSeen:
		return same(r.firstYear("brand", text.BrandKey(s.BrandName)))
	case cola.ByPermitteeFirstSeen:
		return same(r.firstYear("permit", s.PermitNumber))
	case cola.ByABV:
		return band(l.ABV.V, l.ABV.OK)
	case cola.ByVolume:
		ml, ok := vocabulary.Milliliters(l.Volume.V, l.VolumeUnit)
		return band(ml, ok && l.Volume.OK)
	}
	panic("unknown dimension " + dimension)
}

// firstYear returns the year of the earliest effective date of a brand or permit.
func (r *registry) firstYear(of, key string) string {
	if date := r.firstSeen()[of+" "+key]; date != 0 && key != "" {
		return date.String()[:4]
	}
	return ""
}
