package text

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// TestParseQuery covers the query syntax.
func TestParseQuery(t *testing.T) {
	word := func(w ...string) Phrase { return Phrase{Words: w} }
	prefix := func(w ...string) Phrase { return Phrase{Words: w, Prefix: true} }
	exact := func(w ...string) Phrase { return Phrase{Words: w, Exact: true} }
	for q, want := range map[string][]Phrase{
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
		`a.b.c*`:                 {prefix("abc")},
		`A.B.C. wine`:            {word("abc"), word("wine")},
		`"table red"`:            {exact("table", "red")},
		`"table re*"`:            {{Words: []string{"table", "re"}, Prefix: true, Exact: true}},
		`“Maker’s Mark” 46`:      {exact("makers", "mark"), word("46")},
		`«Grand Cru»brut`:        {exact("grand", "cru"), word("brut")},
		`red "table wine" "dry"`: {word("red"), exact("table", "wine"), exact("dry")},
		`Copper and Kings`:       {word("copper"), word("kings")},
		`Copper & Kings`:         {word("copper"), word("kings")},
		`copper-and-kings`:       {word("copper", "kings")},
		`"Père et Fils"`:         {exact("pere", "fils")},
		`et`:                     {word("et")},
		`and*`:                   {prefix("and")},
		`d'Yquem`:                {{Words: []string{"dyquem"}, Also: "yquem"}},
		`cooper's`:               {{Words: []string{"coopers"}, Also: "cooper"}},
		`d Angelo`:               {{Words: []string{"d"}, Also: "dangelo"}, {Words: []string{"angelo"}, Also: "dangelo"}},
		`D. Angelo "d" ng* d`:    {word("d"), word("angelo"), exact("d"), prefix("ng")},
		`o and b`:                {word("o"), word("b")},
		`red "table wine`:        {word("red"), word("table"), word("wine")}, // never closed
		`11054001000049`:         {word("11054001000049")},
	} {
		if diff := cmp.Diff(want, ParseQuery(q), cmp.AllowUnexported(Phrase{})); diff != "" {
			t.Errorf("ParseQuery(%q) (-want +got):\n%s", q, diff)
		}
	}
}

// FuzzFold checks the properties of Fold that all comparisons rely on, and that ParseQuery returns
// only folded words.
func FuzzFold(f *testing.F) {
	for _, s := range []string{"Château d'Été", "ẞßŒİ", "ﷺ \u0345\u1e9b\u0323", "a\u0300\xff'`´", "ǅ ΌΣΟΣ", "\u2126\u212a\u212b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Fold(s)
		if twice := Fold(once); twice != once {
			t.Errorf("Fold(%q) = %q, folded again = %q; want equal", s, once, twice)
		}
		if strings.TrimSpace(once) != once || strings.Contains(once, "  ") || !utf8.ValidString(once) && utf8.ValidString(s) {
			t.Errorf("Fold(%q) = %q, want valid UTF-8 without surrounding or double spaces", s, once)
		}
		letters := strings.Join(strings.FieldsFunc(once, func(r rune) bool { return !isWord(r) }), "")
		for _, p := range ParseQuery(s) {
			if len(p.Words) == 0 {
				t.Errorf("ParseQuery(%q) has an empty phrase", s)
			}
			for _, w := range p.Words {
				if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !isWord(r) }) || !strings.Contains(letters, w) {
					t.Errorf("ParseQuery(%q) has the invalid word %q", s, w)
				}
			}
		}
		// Each distinct word of a query is one phrase.
		var have []string
		words(once, func(w string) {
			if !vocabulary.IsConnector(w) {
				have = append(have, w)
			}
		})
		if q := strings.Join(have, " "); len(ParseQuery(q)) != len(slices.Compact(slices.Sorted(slices.Values(have)))) {
			t.Errorf("ParseQuery(%q) = %v, want the same words", q, ParseQuery(q))
		}
		if strings.IndexFunc(once, unicode.IsUpper) >= 0 && strings.ToLower(once) != once {
			t.Errorf("Fold(%q) = %q, want no capitals", s, once)
		}
	})
}
