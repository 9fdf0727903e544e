package demo

import (
	"sort"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// shares counts the labels that have certain properties.
type shares struct {
	labels int
	counts map[string]int
}

func (s *shares) note(what string, ok bool) {
	if ok {
		s.counts[what]++
	}
}

func measure(o Options) *shares {
	s := &shares{counts: map[string]int{}}
	for c := range Labels(o) {
		s.labels++
		wine, beer, spirits := c.ProductType == vocabulary.Wine, c.ProductType == vocabulary.MaltBeverage, c.ProductType == vocabulary.DistilledSpirits
		s.note("wine", wine)
		s.note("beer", beer)
		s.note("spirits", spirits)
		for _, status := range vocabulary.Statuses() {
			s.note(status, string(c.ApplicationStatus) == status)
		}
		s.note("last year", c.ApprovalDate > o.AsOf-365)
		s.note("before 2010", yearOf(c.ApplicationDate) < 2010)
		s.note("imported", c.DomesticOrImported == vocabulary.Imported)
		s.note("no fanciful name", c.ProductName == "")
		s.note("no approval date", c.ApprovalDate == 0)
		s.note("not enriched", c.LLMContainerType == "")
		s.note("no images", len(c.Images) == 0)
		s.note("resubmission", c.ForResubmissionTTBID != 0)
		s.note("exemption", c.ForExemptionState != "")
		s.note("distinctive", c.IsDistinctiveContainer.V)
		s.note("hops", len(c.LLMBeerHopsVarieties) > 0)
		s.note("appellation", c.WineAppellation != "")
		s.note("aged", c.LLMLiquorAgedYears.OK)
		s.note("lower case", strings.ToUpper(c.BrandName) != c.BrandName)
		s.note("accents", strings.ContainsFunc(c.BrandName, func(r rune) bool { return r > 127 }))
		s.note("apostrophe", strings.Contains(c.BrandName, "'"))
		s.note("ampersand", strings.Contains(c.BrandName, "&"))
		for _, word := range []string{"OAK", "CREEK", "ESTATE", "CHÂTEAU", "CHATEAU"} {
			s.note(word, strings.Contains(c.BrandName, word))
		}
		root := vocabulary.CategoryRoot(string(c.LLMCategoryPath))
		s.note("category of another commodity",
			wine && root != "" && root != "Wine" || beer && root != "" && root != "Beer")
	}
	return s
}

func TestDistributions(t *testing.T) {
	s := measure(ordinary)
	for _, want := range []struct {
		what   string
		lo, hi float64 // percent
	}{
		{"wine", 57, 63}, {"beer", 18, 24}, {"spirits", 16, 22},
		{"approved", 80, 92}, {"expired", 6, 14}, {"surrendered", 2, 5}, {"revoked", 0.01, 0.2},
		{"last year", 4.5, 8}, {"before 2010", 14, 22}, {"imported", 25, 50},
		{"no fanciful name", 40, 54}, {"no approval date", 0.5, 2}, {"not enriched", 9, 16}, {"no images", 2, 5},
		{"resubmission", 2, 4}, {"exemption", 0.5, 2}, {"distinctive", 0.3, 2},
		{"hops", 3, 9}, {"appellation", 18, 42}, {"aged", 2, 8},
		{"lower case", 0.5, 5}, {"accents", 2, 12}, {"apostrophe", 1, 7}, {"ampersand", 3, 15},
		{"OAK", 0.5, 4}, {"CREEK", 0.3, 5}, {"ESTATE", 1, 7}, {"CHÂTEAU", 0.3, 5}, {"CHATEAU", 0.5, 5},
		{"category of another commodity", 1, 10},
	} {
		if got := 100 * float64(s.counts[want.what]) / float64(s.labels); got < want.lo || got > want.hi {
			t.Errorf("%s: %.2f%% of the labels, want %v to %v", want.what, got, want.lo, want.hi)
		}
	}
}

// busiest counts labels by a key and returns the counts in descending order.
func busiest(o Options, key func(*cola.Cola) string) []int {
	counts := map[string]int{}
	for c := range Labels(o) {
		counts[key(c)]++
	}
	var list []int
	for _, n := range counts {
		list = append(list, n)
	}
	sort.Sort(sort.Reverse(sort.IntSlice(list)))
	return list
}

func TestLongTail(t *testing.T) {
	big := Options{Colas: 200_000, Seed: 2, AsOf: testDay}
	for _, test := range []struct {
		name string
		key  func(*cola.Cola) string
	}{
		{"brands", func(c *cola.Cola) string { return c.BrandName }},
		{"permittees", func(c *cola.Cola) string { return c.PermitNumber }},
	} {
		counts := busiest(big, test.key)
		if counts[0] < 1000 || counts[0] > big.Colas/20 {
			t.Errorf("%s: the most frequent has %d of %d labels, want 1,000 to 10,000", test.name, counts[0], big.Colas)
		}
		if median := counts[len(counts)/2]; median*20 > counts[0] {
			t.Errorf("%s: the median has %d labels, the most frequent %d; want a long tail",
				test.name, median, counts[0])
		}
		if len(counts) < 1000 {
			t.Errorf("%s: %d distinct, want at least 1000", test.name, len(counts))
		}
	}
}

func TestCategories(t *testing.T) {
	depths, roots := map[int]int{}, map[string]int{}
	paths := map[string]bool{}
	for c := range Labels(ordinary) {
		path := string(c.LLMCategoryPath)
		if path == "" {
			continue
		}
		if path != vocabulary.NormalizePath(path) {
			t.Fatalf("%s: path %q has an alias", c.TTBID, path)
		}
		paths[path] = true
		depths[strings.Count(path, " > ")+1]++
		roots[vocabulary.CategoryRoot(path)]++
	}
	for depth := 1; depth <= 4; depth++ {
		if depths[depth] == 0 {
			t.Errorf("no category path with %d levels: %v", depth, depths)
		}
	}
	for _, root := range vocabulary.CategoryRoots() {
		if roots[root] == 0 {
			t.Errorf("no category with root %s", root)
		}
	}
	if len(roots) != 3 || len(paths) < 80 {
		t.Errorf("roots %v, %d paths; want 3 roots and at least 80 paths", roots, len(paths))
	}
	table := vocabulary.AliasTable(CategoryAliases(ordinary))
	for path := range paths {
		if current := vocabulary.ResolveCategory(path, table); current != path {
			t.Errorf("labels have the former path %q of %q", path, current)
		}
	}
	for alias := range table {
		current := vocabulary.ResolveCategory(alias, table)
		found := false
		for path := range paths {
			found = found || vocabulary.PathWithin(path, current)
		}
		if !found {
			t.Errorf("alias %q points to %q, which has no labels", alias, current)
		}
	}
}

func TestSeeds(t *testing.T) {
	names := func(seed uint64) string {
		var b strings.Builder
		for c := range Labels(Options{Colas: 50, Seed: seed, AsOf: testDay}) {
			b.WriteString(c.BrandName)
		}
		return b.String()
	}
	if names(1) == names(2) {
		t.Error("seeds 1 and 2 generate the same brands")
	}
	if first, second := names(3), names(3); first != second {
		t.Error("seed 3 generates different brands each time")
	}
}
