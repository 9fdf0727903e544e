package search

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestFold says which spellings are one to a search.
func TestFold(t *testing.T) {
	for folded, spellings := range map[string][]string{
		"":            {"", " ", "\t\n", "'", "’’"},
		"makers mark": {"Maker's Mark", "MAKER’S MARK", "makers  mark", " Makers\tMark ", "Maker`s Mark", "Maker´s Mark", "Makerʼs Mark"},
		"chateau":     {"Château", "CHÂTEAU", "Cha\u0302teau", "chateau"},
		"weissbier":   {"Weißbier", "WEISSBIER", "Weissbier", "WEIẞBIER"},
		"osterbro":    {"Østerbro", "ØSTERBRO"},
		"aegir":       {"Ægir", "ÆGIR", "aegir"},
		"oeuvre":      {"œuvre", "ŒUVRE"},
		"zolta":       {"Żółta", "ŻÓŁTA"},
		"thor":        {"Þor"},
		"dorde":       {"Đorđe"},
		"izmir":       {"İzmir", "IZMIR", "ızmir"},
		"rose":        {"Rosé", "ROSÉ"},
		"final":       {"ﬁnal"},
		"no 5":        {"№ 5", "Nº 5", "NO 5"},
		"12":          {"１２", "¹²"},
		"ανω":         {"Άνω", "ΑΝΩ"},
		"водка":       {"Водка"},
		"a&b - c.":    {"A&B - C."},
		"rock roll":   {"rock ' roll", "Rock\u00a0Roll", "rock\u3000roll"},
	} {
		for _, s := range spellings {
			if got := Fold(s); got != folded {
				t.Errorf("Fold(%q) = %q, want %q", s, got, folded)
			}
		}
	}
}

func TestContains(t *testing.T) {
	for _, c := range []struct {
		text, part string
		want       bool
	}{
		{"Château Lafite", "teau la", true},
		{"MAKER’S MARK", "makers", true},
		{"Napa Valley", "napa  valley", true},
		{"Napa Valley", "valleys", false},
		{"Napa Valley", "", true},
		{"Napa Valley", "'", false}, // nothing is left to look for
		{"", "", true},
		{"", "a", false},
	} {
		if got := Contains(c.text, c.part); got != c.want {
			t.Errorf("Contains(%q, %q) = %v", c.text, c.part, got)
		}
	}
}

// TestParseText says how queries are read.
func TestParseText(t *testing.T) {
	word := func(w ...string) phrase { return phrase{words: w} }
	prefix := func(w ...string) phrase { return phrase{words: w, prefix: true} }
	for q, want := range map[string][]phrase{
		``:                       nil,
		`  `:                     nil,
		`"" - & ***`:             nil,
		`Lenz MOSER`:             {word("lenz"), word("moser")},
		`lenz lenz`:              {word("lenz")},
		`NJ-I-721`:               {word("nj", "i", "721")},
		`NJ-I-72*`:               {prefix("nj", "i", "72")},
		`NJ-I-*`:                 {word("nj", "i")},
		`-oak-`:                  {word("oak")},
		`red - white`:            {word("red"), word("white")},
		`red/white,rosé`:         {word("red"), word("white"), word("rose")},
		`cab* sauv**`:            {prefix("cab"), prefix("sauv")},
		`ca*b`:                   {word("ca"), word("b")},
		`*cab`:                   {word("cab")},
		`a.b.c*`:                 {word("a"), word("b"), prefix("c")},
		`"table red"`:            {word("table", "red")},
		`"table re*"`:            {prefix("table", "re")},
		`“Maker’s Mark” 46`:      {word("makers", "mark"), word("46")},
		`«Grand Cru»brut`:        {word("grand", "cru"), word("brut")},
		`red "table wine" "dry"`: {word("red"), word("table", "wine"), word("dry")},
		`red "table wine`:        {word("red"), word("table"), word("wine")}, // never closed
		`11054001000049`:         {word("11054001000049")},
	} {
		if diff := cmp.Diff(want, parseText(q), cmp.AllowUnexported(phrase{})); diff != "" {
			t.Errorf("parseText(%q), -want +got:\n%s", q, diff)
		}
	}
}

// FuzzFold holds folding to what everything that compares folded texts relies on.
func FuzzFold(f *testing.F) {
	for _, s := range []string{"Château d'Été", "ẞßŒİ", "ﷺ \u0345\u1e9b\u0323", "a\u0300\xff'`´", "ǅ ΌΣΟΣ", "\u2126\u212a\u212b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Fold(s)
		if twice := Fold(once); twice != once {
			t.Errorf("Fold(%q) = %q, and folded again %q", s, once, twice)
		}
		if strings.TrimSpace(once) != once || strings.Contains(once, "  ") || !utf8.ValidString(once) && utf8.ValidString(s) {
			t.Errorf("Fold(%q) = %q", s, once)
		}
		for _, p := range parseText(s) {
			if len(p.words) == 0 {
				t.Errorf("parseText(%q) has an empty phrase", s)
			}
			for _, w := range p.words {
				if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !isWord(r) }) || !strings.Contains(once, w) {
					t.Errorf("parseText(%q) has the word %q", s, w)
				}
			}
		}
		// A text is found by each of its own words.
		var have []string
		words(once, func(w string) { have = append(have, w) })
		if q := strings.Join(have, " "); len(parseText(q)) != len(slices.Compact(slices.Sorted(slices.Values(have)))) {
			t.Errorf("the words of %q are read as %v", q, parseText(q))
		}
		if strings.IndexFunc(once, unicode.IsUpper) >= 0 && strings.ToLower(once) != once {
			t.Errorf("Fold(%q) = %q has capitals", s, once)
		}
	})
}
