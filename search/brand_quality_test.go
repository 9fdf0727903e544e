package search

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/search/internal/similar"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// The required quality of the search for similar brands.
const (
	minFound        = 57 // similar pairs, out of 60, whose brand is among the first 20 rows
	maxDissimilar   = 3  // dissimilar pairs, out of 60, that score at least cola.DefaultMinScore
	pairsPerVerdict = 60
)

// brandPair is a name to search for, a brand, and whether the two are confusingly similar.
type brandPair struct {
	verdict     string // one of the constants below
	name, brand string
	source      string
}

const (
	verdictSimilar    = "similar"
	verdictDissimilar = "dissimilar"
	verdictMeaning    = "meaning" // similar only in meaning
)

// brandPairs returns the pairs in testdata/brand_pairs.txt.
func brandPairs(t testing.TB) (pairs []brandPair) {
	t.Helper()
	file, err := os.ReadFile("testdata/brand_pairs.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, " | ")
		if len(f) != 4 || !slices.Contains([]string{verdictSimilar, verdictDissimilar, verdictMeaning}, f[0]) {
			t.Fatalf("malformed line %q", line)
		}
		pairs = append(pairs, brandPair{f[0], f[1], f[2], f[3]})
	}
	return pairs
}

// TestBrandQuality searches for each pair's name in a registry of 20,000 generated brands and the
// brands of the pairs. The golden file contains each pair's score.
func TestBrandQuality(t *testing.T) {
	t.Parallel()
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	u := x.Begin()
	for i, brand := range newSynthetic(5, 200_000).brands {
		id := cola.TTBID(24_001_001_000_000 + i)
		u.Label(&cola.IndexRecord{Summary: cola.ColaSummary{TTBID: id, BrandName: brand}})
	}
	mustCommit(t, u, Marks{})
	pairs := brandPairs(t)
	plantPairs(t, x, pairs)
	found, scored, missed := checkPairs(x.View(), pairs)
	if found < minFound || scored > maxDissimilar {
		t.Errorf("%d similar pairs in the first rows, want at least %d; %d dissimilar pairs found, want at most %d:\n%s",
			found, minFound, scored, maxDissimilar, strings.Join(missed, "\n"))
	}

	cases := golden.Load(t, "brand_pairs")
	verdicts := map[string]int{}
	for _, p := range pairs {
		verdicts[p.verdict]++
		m := compareNames(p.name, p.brand, similar.All)
		score := fmt.Sprintf("%s %d", similarity(m.Kind), m.Score)
		if m.Score == 0 {
			score = "not similar"
		}
		cases.Check(t, p.name+" | "+p.brand, score)
	}
	if verdicts[verdictSimilar] != pairsPerVerdict || verdicts[verdictDissimilar] != pairsPerVerdict {
		t.Errorf("%v pairs, want %d similar and %[2]d dissimilar", verdicts, pairsPerVerdict)
	}
}

// plantPairs adds a label for each pair's brand.
func plantPairs(t testing.TB, x *Index, pairs []brandPair) {
	u := x.Begin()
	for i, p := range pairs {
		id := cola.TTBID(99_001_001_000_000 + i)
		u.Label(&cola.IndexRecord{Summary: cola.ColaSummary{TTBID: id, BrandName: p.brand}})
	}
	mustCommit(t, u, Marks{})
}

// checkPairs returns the number of similar pairs whose brand is among the first 20 rows, the number
// of dissimilar pairs whose brand is in any row, and the failures.
func checkPairs(v *View, pairs []brandPair) (found, scored int, failures []string) {
	for _, p := range pairs {
		confusing := p.verdict == verdictSimilar
		s := cola.BrandSearch{Name: p.name, MinScore: cola.DefaultMinScore, Page: 1, PerPage: 20}
		if !confusing {
			s.PerPage = 1 << 20
		}
		hit := slices.ContainsFunc(v.Brands(s).Rows, func(r cola.BrandMatch) bool {
			return text.BrandKey(r.BrandName) == text.BrandKey(p.brand)
		})
		switch {
		case p.verdict == verdictMeaning:
			continue
		case hit && confusing:
			found++
		case hit:
			scored++
		}
		if hit != confusing {
			failures = append(failures, p.name+" | "+p.brand)
		}
	}
	return found, scored, failures
}
