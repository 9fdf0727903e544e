package similar

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

func compare(name, brand string, allowed Set) Match {
	n := NewName(brand)
	return NewQuery(NewName(name), allowed).Compare(&n)
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want Match
	}{
		{"raven oak", "raven oak", Match{Exact, 100}},
		{"raven oak", "oak raven", Match{SameWords, 95}},
		{"raven oak", "ravenoak", Match{SameWords, 97}},
		{"ravens wood", "ravenswood", Match{SameWords, 97}},
		{"raven oak", "raven et oak", Match{SameWords, 97}},
		{"raven oaks", "ravens oak", Match{Plural, 97}},
		{"four barrel", "4 barrel", Match{Plural, 97}},
		{"geese", "goose", Match{Plural, 97}},
		{"ravin oak", "raven oak", Match{SoundsAlike, 91}},
		{"knight", "nite", Match{SoundsAlike, 83}},
		{"high hill", "hi hill", Match{SoundsAlike, 94}},
		{"o zimmerman", "ozimmerman", Match{SameWords, 97}},
		{"d yquem", "chateau dyquem", Match{SameWords, 93}},
		{"phat", "fat", Match{SoundsAlike, 87}},
		{"teetos", "titos", Match{SoundsAlike, 91}},
		{"loopo", "lupo", Match{SoundsAlike, 90}},
		{"nineteen crimes", "19 crimes", Match{Plural, 97}},
		{"raven oka", "raven oak", Match{OneEdit, 90}}, // three letters: only a swap
		{"raven", "razen", Match{OneEdit, 84}},
		{"castle", "catsle", Match{OneEdit, 87}},                  // swapped neighbors
		{"smirnoff", "sarnoff", Match{OneEdit, 80}},               // two letters of eight
		{"cypres forge", "cypress forge", Match{SoundsAlike, 97}}, // as written; the keys are cypre and cypress
		{"glas", "glass", Match{SoundsAlike, 95}},
		{"grey goos", "grey goose", Match{SoundsAlike, 97}},
		{"white gees", "white geese", Match{SoundsAlike, 97}},
		{"thre floyds", "three floyds", Match{SoundsAlike, 98}},
		{"ninteen crimes", "19 crimes", Match{}},
		{"ninteen crimes", "nineteen crimes", Match{SoundsAlike, 95}},
		{"texs heritage", "texas heritage", Match{SoundsAlike, 96}},
		{"prince", "princess", Match{OneEdit, 80}}, // two letters
		{"a b c", "abc", Match{SameWords, 97}},
		{"xyz", "x y z", Match{SameWords, 97}},
		{"mercerwinery", "mercer winery", Match{SameWords, 97}},
		{"the shirashima", "theshirashima", Match{SameWords, 97}},
		{"raven", "raven hill", Match{Prefix, 73}},
		{"raven", "the raven hill", Match{Prefix, 71}},
		{"hill", "raven hill", Match{Contains, 62}},
		{"raven", "raven winery", Match{Prefix, 95}},
		{"raven brewing", "raven winery", Match{Prefix, 95}},
		{"raven hill", "hill raven winery", Match{SameWords, 92}},
		{"ravin", "raven hill", Match{SoundsAlike, 63}},
		{"cristal", "cristalino", Match{Prefix, 56}},
		{"cristal", "cristalino valley", Match{Prefix, 43}},
		{"winery", "winery", Match{Exact, 100}},
		{"winery", "the winery", Match{Contains, 73}}, // only generic words: they are the core
	} {
		for _, names := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
			if got := compare(names[0], names[1], All); got != tt.want {
				t.Errorf("%q and %q: %+v, want %+v", names[0], names[1], got, tt.want)
			}
		}
	}
	for _, different := range [][2]string{
		{"oak ridge vineyards", "stone creek vineyards"}, {"vineyards", "raven vineyards"}, {"raven hill", "raven rock"},
		{"cat", "bat"}, {"oak", "ako"}, {"beer", "pair"}, {"parrot", "pirate"}, {"x", "x ray"}, {"2 sisters", "two"}, {"bread", "bird"},
		{"raven hill", "razen hilt"}, // two words that each differ by a letter
		{"", "raven"}, {"+++", "---"}, {"rye", "ray"}, {"vintage 1920", "vintage 1921"}, {"raven oak tow", "raven gate"}, {"tea", "toe"}, {"eye", "oh"}, {"x", "s"}, {"blue door", "blue deer"},
		{"carlot", "kerlott"}, // the same consonants, but different first vowels
	} {
		for _, names := range [][2]string{different, {different[1], different[0]}} {
			if got := compare(names[0], names[1], All); got.Score != 0 {
				t.Errorf("%q and %q: %+v, want no match", names[0], names[1], got)
			}
		}
	}
}

// TestAllowed checks that only the allowed kinds are found, even if a name is also similar in a
// stronger way.
func TestAllowed(t *testing.T) {
	for _, tt := range []struct {
		a, b    string
		allowed Kind
		score   int
	}{
		{"raven", "raven", Exact, 100},
		{"raven", "raven", Prefix, 0},
		{"raven", "raven", SameWords, 0},
		{"ravin", "raven", SoundsAlike, 87},
		{"ravin", "raven", OneEdit, 84},
		{"ravin", "raven", Contains, 0},
		{"ravens", "raven hill", Prefix, 73},
		{"ravens", "raven hill", Plural, 0},
		{"raven oak", "oak raven", Plural, 0},
		{"raven oak", "ravenoak", SameWords, 97},
		{"ravin", "raven hill", Prefix, 0},
	} {
		got := compare(tt.a, tt.b, Set(0).With(tt.allowed))
		if got.Score != tt.score || tt.score > 0 && got.Kind != tt.allowed {
			t.Errorf("%q and %q by %d: %+v, want score %d", tt.a, tt.b, tt.allowed, got, tt.score)
		}
	}
}

// TestSounds checks the codes of words that exercise the rules of the algorithm.
func TestSounds(t *testing.T) {
	for word, want := range map[string][2]string{
		"smith": {"SM0", "XMT"}, "schmidt": {"XMT", "SMT"}, "thomas": {"TMS", "TMS"}, "knight": {"NT", "NT"},
		"michael": {"MKL", "MXL"}, "caesar": {"SSR", "SSR"}, "filipowicz": {"FLPTS", "FLPFX"}, "catherine": {"K0RN", "KTRN"},
		"cabrillo": {"KPRL", "KPR"}, "edge": {"AJ", "AJ"}, "edgar": {"ATKR", "ATKR"}, "laugh": {"LF", "LF"},
		"ghost": {"KST", "KST"}, "ghislaine": {"JLN", "JLN"}, "hugh": {"H", "H"}, "light": {"LT", "LT"}, "burgh": {"PRK", "PRK"},
		"xavier": {"SF", "SFR"}, "jose": {"HS", "HS"}, "bajador": {"PJTR", "PHTR"}, "richard": {"RXRT", "RKRT"},
		"wagner": {"WKNR", "FKNR"}, "bordeaux": {"PRT", "PRT"}, "artois": {"ART", "ARTS"}, "raspberry": {"RSPR", "RSPR"},
		"campbell": {"KMPL", "KMPL"}, "czerny": {"SRN", "XRN"}, "accident": {"AKSTNT", "AKSTNT"}, "bacchus": {"PKS", "PKS"},
		"bertucci": {"PRTX", "PRTX"}, "focaccia": {"FKX", "FKX"}, "chianti": {"KNT", "KNT"}, "architect": {"ARKTKT", "ARKTKT"},
		"chorus": {"KRS", "KRS"}, "church": {"XRX", "XRK"}, "mchugh": {"MK", "MK"}, "bach": {"PK", "PK"},
		"school": {"SKL", "SKL"}, "schermerhorn": {"XRMRRN", "SKRMRRN"}, "science": {"SNS", "SNS"}, "scotch": {"SKX", "SKX"},
		"tagliaro": {"TKLR", "TLR"}, "cagney": {"KKN", "KKN"}, "champagne": {"XMPN", "XMPKN"}, "agnes": {"AKNS", "ANS"},
		"rogier": {"RJ", "RJR"}, "island": {"ALNT", "ALNT"}, "sugar": {"XKR", "SKR"}, "zhao": {"J", "J"}, "wright": {"RT", "RT"},
		"dumb": {"TM", "TM"}, "plumber": {"PLMR", "PLMR"}, "vodka": {"FTK", "FTK"}, "gallegos": {"KLKS", "KKS"},
		"mcclellan": {"MKLLN", "MKLLN"}, "danger": {"TNJR", "TNKR"}, "gin": {"KN", "JN"}, "nation": {"NXN", "NXN"},
		"match": {"MX", "MX"}, "arnow": {"ARN", "ARNF"}, "phil": {"FL", "FL"}, "pizza": {"PS", "PTS"}, "mezzo": {"MS", "MTS"},
		"whisky": {"WSK", "WSK"}, "oak": {"AK", "AK"}, "psalm": {"SLM", "SLM"}, "raj": {"RJ", "R"}, "sheim": {"SM", "SM"},
		"vision": {"FSN", "FXN"}, "4th": {"", ""}, "": {"", ""}, "über": {"", ""},
	} {
		if primary, alternate := doubleMetaphone(word); primary != want[0] || alternate != want[1] {
			t.Errorf("doubleMetaphone(%s) = %s, %s; want %s, %s", word, primary, alternate, want[0], want[1])
		}
	}
}

// TestRandomSounds checks that the codes of random words contain only known sounds and are not too
// long.
func TestRandomSounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[a-z]{1,12}`).Draw(rt, "word")
		for _, code := range codesOf(word) {
			if strings.Trim(code, "AFHJKLMNPRSTWX0") != "" || len(code) > 2*len(word) {
				rt.Errorf("the code of %s is %q", word, code)
			}
		}
	})
}

func codesOf(word string) []string {
	primary, alternate := doubleMetaphone(word)
	return []string{primary, alternate}
}

// TestDistance compares distance with its recursive definition, and checks that MayDiffer is true
// for that number of edits.
func TestDistance(t *testing.T) {
	words := rapid.StringMatching(`[abcé]{0,7}`)
	rapid.Check(t, func(rt *rapid.T) {
		a, b := words.Draw(rt, "a"), words.Draw(rt, "b")
		want := editsBetween([]rune(a), []rune(b))
		for limit := range 9 {
			if got := distance(a, b, limit); got != min(want, limit+1) {
				rt.Errorf("distance(%s, %s, %d) = %d, want %d", a, b, limit, got, min(want, limit+1))
			}
		}
		x, y := NewForm(a), NewForm(b)
		if !x.Letters.MayDiffer(y.Letters, want) {
			rt.Errorf("%s and %s: %d edits, but letters %x and %x", a, b, want, x.Letters, y.Letters)
		}
	})
	if long := strings.Repeat("a", maxCompared+1); distance(long, long+"b", 2) <= 2 {
		t.Error("words of more than maxCompared characters are compared")
	}
}

// editsBetween is the recursive definition of the optimal string alignment distance.
func editsBetween(a, b []rune) int {
	switch {
	case len(a) == 0:
		return len(b)
	case len(b) == 0:
		return len(a)
	case a[0] == b[0]:
		return editsBetween(a[1:], b[1:])
	}
	least := 1 + min(editsBetween(a[1:], b), editsBetween(a, b[1:]), editsBetween(a[1:], b[1:]))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, 1+editsBetween(a[2:], b[2:]))
	}
	return least
}

// TestBounds checks that random names score 0 to 100, and that equal names are exact matches.
func TestBounds(t *testing.T) {
	word := rapid.SampledFrom([]string{
		"raven", "ravens", "ravin", "oak", "ravenoak", "winery", "the", "et", "4", "four", "hill", "krd", "ß漢", "a",
	})
	name := func(rt *rapid.T, label string) string {
		return strings.Join(rapid.SliceOfN(word, 0, 40).Draw(rt, label), " ")
	}
	rapid.Check(t, func(rt *rapid.T) {
		a, b := name(rt, "a"), name(rt, "b")
		m := compare(a, b, All)
		if m.Score < 0 || m.Score > 100 || a == b && m != (Match{Exact, 100}) || a != b && m.Kind == Exact && m.Score > 0 {
			rt.Errorf("%q and %q: %+v", a, b, m)
		}
	})
}

// TestGenericWords checks that vocabulary.WordKey leaves the generic words unchanged.
func TestGenericWords(t *testing.T) {
	for w := range generic {
		if key := vocabulary.WordKey(w); key != w {
			t.Errorf("generic word %s never matches; write %s", w, key)
		}
	}
	for word, want := range map[string]bool{"vineyards": true, "wineries": true, "whiskey": true, "raven": false, "hill": false} {
		if got := IsGeneric(vocabulary.WordKey(word)); got != want {
			t.Errorf("IsGeneric(%s) = %t, want %t", word, got, want)
		}
	}
}
