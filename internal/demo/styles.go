package demo

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola"
)

// style is a kind of product: what its class, category, strength and enrichment may be. Fields that do not apply to its
// commodity are empty.
type style struct {
	class    string     // TTB class and type code of a domestic product
	imported string     // of an imported one, when that differs
	path     string     // category path
	weight   float64    // how common it is among the styles of its commodity
	abv      [2]float64 // lowest and highest percent
	only     []string   // origins it must come from; nil for any
	domestic bool       // made in the United States only
	flavors  []string   // of tasting notes
	names    []string   // what its fanciful names are made of

	grapes grapes // wine: which of a region's grapes; others have none

	ibu [2]int // malt beverages: bitterness, 0 when never told

	grains []string // spirits
	aged   [2]int   // spirits: years, 0 when not aged
}

// grapes says which varieties a wine is made of.
type grapes uint8

const (
	noGrapes grapes = iota // cider, mead, sake, fruit wine
	reds
	whites
	roses
	sparkling
	fortified
)

// classID returns the code of the style's products that come from here or from abroad.
func (s *style) classID(domestic bool) string {
	if domestic || s.imported == "" {
		return s.class
	}
	return s.imported
}

// menu is the styles that one commodity has in one origin.
type menu struct {
	styles []*style
	weights
}

// newMenu lists the styles that can come from an origin. What is particular to the origin is most of what comes from it:
// nearly everything from Scotland is Scotch.
func newMenu(styles []style, origin string, domestic bool) menu {
	var m menu
	for i := range styles {
		s := &styles[i]
		if s.domestic && !domestic || s.only != nil && !slices.Contains(s.only, origin) {
			continue
		}
		w := s.weight
		if s.only != nil {
			w *= 12
		}
		m.styles = append(m.styles, s)
		m.add(w)
	}
	return m
}

// stylesOf returns the styles of a commodity.
func stylesOf(kind cola.ProductType) []style {
	switch kind {
	case cola.MaltBeverage:
		return beerStyles
	case cola.DistilledSpirits:
		return spiritStyles
	}
	return wineStyles
}
