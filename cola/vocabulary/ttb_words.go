package vocabulary

import (
	"regexp"
	"slices"
	"strings"
)

// ProductTypeNamed returns the product type with the given name, in the singular or plural and in
// any letter case. It returns other words in lower case.
func ProductTypeNamed(word string) ProductType {
	word = strings.ToLower(word)
	for _, kind := range []ProductType{Wine, MaltBeverage, DistilledSpirits} {
		if strings.TrimSuffix(word, "s") == strings.TrimSuffix(string(kind), "s") {
			return kind
		}
	}
	return ProductType(word)
}

// ClassNamed returns the class/type with the given name, in TTB's spelling but any letter case. If
// several codes share the name, such as one for domestic and one for imported products, the ID is
// empty. The product type is empty unless the codes agree on it. ok is false for an unknown name.
func ClassNamed(name string) (c Class, ok bool) {
	for _, known := range Classes() {
		switch {
		case !strings.EqualFold(known.Name, name):
		case !ok:
			c, ok = known, true
		default:
			c.ID = ""
			if c.ProductType != known.ProductType {
				c.ProductType = ""
			}
		}
	}
	return c, ok
}

// OriginNamed returns the origin with the given name, in TTB's spelling but any letter case.
// domesticOrImported, which may be empty, distinguishes the two Georgias. ok is false for an
// unknown or ambiguous name.
func OriginNamed(name, domesticOrImported string) (o Origin, ok bool) {
	found := slices.DeleteFunc(Origins(), func(o Origin) bool {
		return !strings.EqualFold(o.Name, name) || domesticOrImported == Domestic && !o.Domestic ||
			domesticOrImported == Imported && o.Domestic
	})
	if len(found) != 1 {
		return Origin{}, false
	}
	return found[0], true
}

// countyAppellation matches a county in TTB's list of appellations.
var countyAppellation = regexp.MustCompile(`^([A-Z]{2}) - (.+)$`)

// NormalizeAppellation returns an appellation as labels state it. TTB writes a county as the
// state code and the county's name: "CA - SONOMA" for SONOMA COUNTY.
func NormalizeAppellation(s string) string {
	m := countyAppellation.FindStringSubmatch(s)
	if m == nil || len(StatesNamed(m[1])) != 1 {
		return s
	}
	switch m[1] {
	case "AK", "DC", "GU", "LA", "PR", "VI": // no counties
		return s
	}
	switch suffix := " COUNTY"; {
	case strings.HasSuffix(strings.ToUpper(m[2]), suffix):
		return m[2]
	case m[2] == strings.ToUpper(m[2]):
		return m[2] + suffix
	}
	return m[2] + " County"
}
