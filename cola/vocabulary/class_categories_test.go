package vocabulary

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/internal/golden"
)

func TestCategoryOfClass(t *testing.T) {
	for _, tt := range []struct{ id, name, want string }{
		{"101", "", "Liquor > Whiskey > Bourbon > Straight Bourbon"},
		{" 80a ", "", "Wine > Rosé Wine"},
		{"081", "", "Wine > White Wine"},
		{"88", "", "Wine"}, // TTB's dessert wine includes dry wine above 14%
		{"901", "", "Beer"},
		{"907", "", "Beer > Non-Alcoholic"},
		{"957", "", "Beer > Non-Alcoholic"},
		{"931", "", "Liquor > Sake"},
		{"83C", "", "Beer > Cider"},
		{"82M", "", "Wine > Mead"},
		{"86", "", "Wine > Vermouth"},
		{"990", "", ""},
		// Unknown codes.
		{"80Z", "", "Wine"},
		{"101A", "", "Liquor > Whiskey"},
		{"399", "", "Liquor > Vodka"},
		{"639", "", "Liquor > Liqueur"},
		{"648", "", "Liquor > Specialty"},
		{"690", "", "Liquor > Specialty"},
		{"930", "", "Liquor"},
		{"954", "", "Beer"},
		{"79", "", ""},
		{"910", "", ""},
		{"999", "", ""},
		{"none", "TABLE RED WINE", ""},
		// Names, which are used only if there is no code.
		{"", "TABLE RED WINE", "Wine > Red Wine"},
		{"", " table  red wine", "Wine > Red Wine"},
		{"", "ALE", "Beer > Ale"},
		{"", "NON ALCOHOL MIXES", ""},
		{"", "SOMETHING NEW", ""},
		{"", "", ""},
		{"80", "ALE", "Wine > Red Wine"},
	} {
		if got := CategoryOfClass(tt.id, tt.name); got != tt.want {
			t.Errorf("CategoryOfClass(%q, %q) = %q, want %q", tt.id, tt.name, got, tt.want)
		}
	}
}

// TestClassCategories checks that the paths are valid, that a code and its name imply the same one,
// and that the ranges agree with the table and with the product types.
func TestClassCategories(t *testing.T) {
	rangeOf := func(n int) (path string) {
		for _, r := range CategoryRanges() {
			if n >= r.From && n <= r.To {
				path = r.Category
			}
		}
		return path
	}
	for _, c := range Classes() {
		if got := CategoryOfClass(c.ID, ""); got != c.Category {
			t.Errorf("CategoryOfClass(%q) = %q, want %q", c.ID, got, c.Category)
		}
		if got := CategoryOfClass("", c.Name); got != c.Category {
			t.Errorf("CategoryOfClass for name %q = %q, want %q as for code %s", c.Name, got, c.Category, c.ID)
		}
		if (c.Category == "") != (c.ID == "990") {
			t.Errorf("class %s %s has category %q", c.ID, c.Name, c.Category)
		}
		if c.Category == "" {
			continue
		}
		if NormalizeCategory(c.Category) != c.Category || !isRoot(CategoryRoot(c.Category)) {
			t.Errorf("class %s has the invalid category %q", c.ID, c.Category)
		}
		n, _, _ := parseClass(c.ID)
		sake, cider := c.Category == "Liquor > Sake", strings.HasPrefix(c.Category, "Beer > Cider")
		if kind, _ := ProductTypeOfClass(c.ID); !sake && !cider && !PathWithin(c.Category, rangeOf(n)) {
			t.Errorf("class %s, %s, has category %q, want one within %q", c.ID, kind, c.Category, rangeOf(n))
		}
	}
	for n := range 1000 {
		_, typed := ProductTypeOfClass(fmt.Sprint(n))
		if path := rangeOf(n); (path != "") != typed || path != NormalizeCategory(path) {
			t.Errorf("code %d: category = %q, has a product type: %t", n, path, typed)
		}
	}
}

func isRoot(word string) bool {
	for _, root := range CategoryRoots() {
		if word == root {
			return true
		}
	}
	return false
}

// TestCategoriesOfTTBClasses checks that every class in TTB's list except 990 has a
// category, the same by code and by name.
func TestCategoriesOfTTBClasses(t *testing.T) {
	for _, row := range sharedCSV(t, "ttb/class_type_codes.csv") {
		byCode, byName := CategoryOfClass(row[0], ""), CategoryOfClass("", row[1])
		if byCode != byName || (byCode == "") != (row[0] == "990") {
			t.Errorf("class %v: category %q by code, %q by name", row, byCode, byName)
		}
	}
}

// TestCategoriesPage compares docs/CATEGORIES.md with the table. "go test -update" rewrites it.
func TestCategoriesPage(t *testing.T) {
	const page = "../../docs/CATEGORIES.md"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(b), "## Classes\n")
	if !ok {
		t.Fatalf("%s has no Classes section", page)
	}
	var w strings.Builder
	w.WriteString(before + "## Classes\n\n| code | class/type | category |\n|---|---|---|\n")
	for _, c := range Classes() {
		fmt.Fprintf(&w, "| %s | %s | %s |\n", c.ID, c.Name, c.Category)
	}
	w.WriteString("\n## Other codes\n\n| codes | category |\n|---|---|\n")
	for _, r := range CategoryRanges() {
		fmt.Fprintf(&w, "| %d to %d | %s |\n", r.From, r.To, r.Category)
	}
	if golden.Update() {
		if err := os.WriteFile(page, []byte(w.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(w.String(), string(b)); diff != "" {
		t.Errorf("%s differs from the table; run go test ./cola/vocabulary -update (-want +got):\n%s", page, diff)
	}
}
