package vocabulary

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNormalizePath(t *testing.T) {
	for in, want := range map[string]string{
		"Wine > Red Wine > Zweigelt": "Wine > Red Wine > Zweigelt",
		"Wine>Red Wine":              "Wine > Red Wine",
		"  Wine  >Red \t Wine ":      "Wine > Red Wine",
		"Wine > > Red":               "Wine > Red",
		"> Wine >":                   "Wine",
		" wine ":                     "wine",
		"Wine »  Red":                "Wine » Red",
		"":                           "",
		" > ":                        "",
		"Wine > \u0301 > Red":        "Wine > Red", // a combining mark without a letter
		"\u0301":                     "",
	} {
		if got := NormalizePath(in); got != want {
			t.Errorf("NormalizePath(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNormalizeCategory(t *testing.T) {
	for in, want := range map[string]string{
		"beer>ale":           "Beer > ale",
		"  LIQUOR >  Rum ":   "Liquor > Rum",
		"wine":               "Wine",
		"Wine > beer > Wine": "Wine > beer > Wine",
		"cheese>Brie":        "cheese > Brie",
		" > ":                "",
	} {
		if got := NormalizeCategory(in); got != want {
			t.Errorf("NormalizeCategory(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFoldPath(t *testing.T) {
	for in, want := range map[string]string{
		"Beer>Lager  > Märzen":                  "beer > lager > marzen",
		"Beer > Lager > Ma\u0308rzen":           "beer > lager > marzen", // the accent as a combining mark
		"Wine > \u0301Rose\u0301 > Brut \u0301": "wine > rose > brut",
		"LIQUOR > Straße":                       "liquor > strasse",
	} {
		if got := FoldPath(in); got != want {
			t.Errorf("FoldPath(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCategoryLeafAndRoot(t *testing.T) {
	for _, tt := range []struct{ path, leaf, root string }{
		{"Wine > Red Wine > Zweigelt", "Zweigelt", "Wine"},
		{"beer>IPA ", "IPA", "Beer"},
		{"LIQUOR", "LIQUOR", "Liquor"},
		{"Cider > Dry", "Dry", "Cider"},
		{"Beer > Ale >", "Ale", "Beer"},
		{"", "", ""},
		{">", "", ""},
	} {
		if got := CategoryLeaf(tt.path); got != tt.leaf {
			t.Errorf("CategoryLeaf(%q) = %q, want %q", tt.path, got, tt.leaf)
		}
		if got := CategoryRoot(tt.path); got != tt.root {
			t.Errorf("CategoryRoot(%q) = %q, want %q", tt.path, got, tt.root)
		}
	}
}

func TestPathWithin(t *testing.T) {
	for _, tt := range []struct {
		path, prefix string
		want         bool
	}{
		{"Wine > Red Wine > Zweigelt", "Wine", true},
		{"Wine > Red Wine > Zweigelt", "wine>red wine", true},
		{"Wine > Red Wine", "Wine > Red Wine", true},
		{"Wine > Red Wine", "Wine > Red", false}, // prefixes match whole levels
		{"Beer > Lager > Märzen", "beer > lager > marzen", true},
		{"Beer > Lager > Marzen > Festbier", "Beer > Lager > MÄRZEN", true},
		{"Beer > Lager > Märzenbier", "Beer > Lager > Marzen", false},
		{"Wine", "Wine > Red Wine", false},
		{"Wine > Red Wine", "Red Wine", false},
		{"Wine", "", true},
		{"", "", true},
		{"", "Wine", false},
	} {
		if got := PathWithin(tt.path, tt.prefix); got != tt.want {
			t.Errorf("PathWithin(%q, %q) = %t, want %t", tt.path, tt.prefix, got, tt.want)
		}
	}
}

func TestAliasTable(t *testing.T) {
	got := AliasTable([]CategoryAlias{
		{Alias: "Wine>Blush", Path: "Wine  > Rosé"},
		{Alias: "beer > lager", Path: "Beer > Pale"},
		{Alias: "Beer > Lager", Path: "Beer > Lagers"}, // the last one wins
		{Alias: "Wine > Rosé", Path: "Wine > Pink"},
		{Alias: " ", Path: "Wine"},
		{Alias: "Wine > X", Path: " > "},
	})
	want := map[string]string{"wine > blush": "Wine > Rosé", "wine > rose": "Wine > Pink", "beer > lager": "Beer > Lagers"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestResolveCategory(t *testing.T) {
	table := AliasTable([]CategoryAlias{
		{"Wine > Blush", "Wine > Rosé"},
		{"Wine > Blush > Sweet", "Wine > Dessert"},
		{"Spirits", "Liquor"},
		{"Liquor > Whisky", "Liquor > Whiskey"},
		{"Beer > Ale", "Beer > Ale > Pale Ale"},
		{"Loop > A", "Loop > B"}, {"Loop > B", "Loop > A"}, {"Into", "Loop > A"},
		{"Grow > A", "Other > A"}, {"Other", "Grow > A > B"},
		{"Self", "Self"},
		{"Beer > Lager > Märzen", "Beer > Festbier > Märzen"}, {"Liquor > Blanc", "Liquor > Blanc > Crème"},
	})
	for _, tt := range []struct{ name, path, want string }{
		{"no alias", "Wine > Red Wine", "Wine > Red Wine"},
		{"an alias", "Wine > Blush", "Wine > Rosé"},
		{"deeper levels", "wine>blush > Dry", "Wine > Rosé > Dry"},
		{"longest match", "Wine > Blush > Sweet > Red", "Wine > Dessert > Red"},
		{"prefix of a level", "Wine > Blushing", "Wine > Blushing"},
		{"a chain", "Spirits > Whisky > Rye", "Liquor > Whiskey > Rye"},
		{"alias to its own child", "Beer > Ale", "Beer > Ale > Pale Ale"},
		{"already below the alias", "Beer > Ale > Pale Ale > IPA", "Beer > Ale > Pale Ale > IPA"},
		{"cycle", "loop>a > X", "loop > a > X"},
		{"into a cycle", "Into > X", "Into > X"},
		{"growing cycle", "Grow > A > C", "Grow > A > C"},
		{"to itself", "self", "self"},
		{"missing accent", "Beer > Lager > Marzen > Dark", "Beer > Festbier > Märzen > Dark"},
		{"accent in upper case", "Beer > Lager > MÄRZEN", "Beer > Festbier > Märzen"},
		{"alias to its own child, with an accent", "Liquor > Blanc", "Liquor > Blanc > Crème"},
		{"already resolved, missing accent", "Liquor > Blanc > Creme > Old", "Liquor > Blanc > Creme > Old"},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ResolveCategory(tt.path, table); got != tt.want {
				t.Errorf("ResolveCategory(%q) = %q, want %q", tt.path, got, tt.want)
			}
		})
	}
	if got := ResolveCategory("Wine>Blush", nil); got != "Wine > Blush" {
		t.Errorf("ResolveCategory without a table = %q, want it normalized", got)
	}
}

// fewPaths draws paths with few distinct levels, so that aliases often chain, nest and form cycles.
var fewPaths = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"A", "b", "C c"}), 1, 4).Draw(t, "levels"), " > ")
})

func TestResolveCategoryIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var aliases []CategoryAlias
		for range rapid.IntRange(0, 6).Draw(t, "aliases") {
			aliases = append(aliases, CategoryAlias{fewPaths.Draw(t, "alias"), fewPaths.Draw(t, "path")})
		}
		table := AliasTable(aliases)
		path := fewPaths.Draw(t, "path")
		once := ResolveCategory(path, table)
		if twice := ResolveCategory(once, table); twice != once {
			t.Fatalf("ResolveCategory(%q) = %q, resolved again = %q, table %v", path, once, twice, table)
		}
		if NormalizePath(once) != once {
			t.Fatalf("ResolveCategory(%q) = %q, want it normalized", path, once)
		}
	})
}

func FuzzCategoryPath(f *testing.F) {
	f.Add("Wine > Red Wine", "wine>red wine", "Wine > Rosé")
	f.Add(" > ", ">", "")
	f.Add("A\u00a0>\u2003b", "\xff", "K > İ")
	f.Add("Bière >\u0301 a \u0301> \u0301", "biere", "\u0301")
	f.Fuzz(func(t *testing.T, path, prefix, target string) {
		normalized := NormalizePath(path)
		if again := NormalizePath(normalized); again != normalized {
			t.Fatalf("NormalizePath(%q) = %q, normalized again = %q", path, normalized, again)
		}
		if !PathWithin(path, "") || !PathWithin(path, path) || !PathWithin(path+" > below", path) {
			t.Fatalf("PathWithin(%q, itself) = false", path)
		}
		folded := FoldPath(path)
		if strings.Count(folded, ">") != strings.Count(normalized, ">") || FoldPath(folded) != folded || !PathWithin(folded, path) {
			t.Fatalf("path %q: normalized = %q, folded = %q", path, normalized, folded)
		}
		if normalized != "" && CategoryLeaf(path) == "" || !strings.HasSuffix(normalized, CategoryLeaf(path)) {
			t.Fatalf("CategoryLeaf(%q) = %q", path, CategoryLeaf(path))
		}
		table := AliasTable([]CategoryAlias{{prefix, target}, {target, path}})
		if once := ResolveCategory(path, table); ResolveCategory(once, table) != once {
			t.Fatalf("ResolveCategory(%q) = %q, which resolves to another path", path, once)
		}
	})
}
