package vocabulary

import (
	"fmt"
	"hash/crc32"
	"strings"
)

// The category that a class implies ends at the last level that is true of every label of the
// class:
//
//   - TTB's "dessert wine" is wine above 14% alcohol, which includes dry red wine. So class 88
//     implies just Wine, and the other dessert classes, except cider, imply the same
//     categories as the matching table wines.
//   - Class 901, BEER, includes lagers and other beers.
//   - Hard seltzer is not a class: its labels are among flavored malt beverages, beers and
//     specialties.
//   - Sake is not under Wine, although it is labeled as wine. Cider is under Beer; apple wine that
//     is flavored or above 14% is under Wine.
//   - Class 990, non-alcoholic mixes, has no category.

// CategoryRange is the category that a range of class/type codes implies.
type CategoryRange struct {
	From, To int // code numbers, inclusive
	Category string
}

// CategoryRanges lists the categories of codes that are not in Classes, in ascending order of
// codes.
func CategoryRanges() []CategoryRange {
	return []CategoryRange{
		{80, 89, "Wine"},
		{100, 199, "Liquor > Whiskey"},
		{200, 299, "Liquor > Gin"},
		{300, 399, "Liquor > Vodka"},
		{400, 499, "Liquor > Rum"},
		{500, 599, "Liquor > Brandy"},
		{600, 639, "Liquor > Liqueur"},
		{640, 649, "Liquor > Specialty"},
		{650, 689, "Liquor > Liqueur"},
		{690, 699, "Liquor > Specialty"},
		{700, 799, "Liquor > Ready to Drink > Cocktail"},
		{900, 909, "Beer"},
		{920, 949, "Liquor"},
		{951, 957, "Beer"},
		{970, 983, "Liquor"},
	}
}

// CategoryOfClass returns the category path that a class/type implies, in the form of
// NormalizeCategory. The name is used only if the label has no code. It returns "" for an unknown
// class and for one without a category.
func CategoryOfClass(id, name string) string {
	if id == "" {
		return categoriesByName[strings.ToUpper(strings.Join(strings.Fields(name), " "))]
	}
	n, letter, ok := parseClass(id)
	if !ok {
		return ""
	}
	if path, known := categoriesByCode[classCode{n, letter}]; known {
		return path
	}
	for _, r := range categoryRanges {
		if n >= r.From && n <= r.To {
			return r.Category
		}
	}
	return ""
}

// CategoryTableVersion identifies the content of the table, so that data derived from another
// version can be detected.
func CategoryTableVersion() string {
	sum := crc32.NewIEEE()
	for _, c := range classTable {
		fmt.Fprintf(sum, "%s|%s|%s\n", c.id, c.name, c.category)
	}
	fmt.Fprint(sum, categoryRanges)
	return fmt.Sprintf("%08x", sum.Sum32())
}

// classCode is a class/type code split into its parts.
type classCode struct {
	number int
	letter byte
}

// The table by code and by name. Codes that share a name have the same category.
var (
	categoryRanges   = CategoryRanges()
	categoriesByCode = func() map[classCode]string {
		table := make(map[classCode]string, len(classTable))
		for _, c := range classTable {
			n, letter, _ := parseClass(c.id)
			table[classCode{n, letter}] = c.category
		}
		return table
	}()
	categoriesByName = func() map[string]string {
		table := make(map[string]string, len(classTable))
		for _, c := range classTable {
			table[strings.ToUpper(strings.Join(strings.Fields(c.name), " "))] = c.category
		}
		return table
	}()
)
