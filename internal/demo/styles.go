package demo

import "slices"

// style is a kind of product: what its class, category, strength and enrichment may be. Fields that do not apply to its
// commodity are empty.
type style struct {
	Class    string     // TTB class and type code of a domestic product
	Imported string     // of an imported one, when that differs
	Path     string     // category path
	Weight   float64    // how common it is among the styles of its commodity
	ABV      [2]float64 // lowest and highest percent
	Only     []string   // origins it must come from; nil for any
	Domestic bool       // made in the United States only
	Flavors  []string   // of tasting notes
	Names    []string   // what its fanciful names are made of

	Grapes grapes // wine: which of a region's grapes; others have none

	IBU [2]int // malt beverages: bitterness, 0 when never told

	Grains []string // spirits
	Aged   [2]int   // spirits: years, 0 when not aged
}

// grapes says which varieties a wine is made of.
type grapes string

const (
	noGrapes  grapes = "" // cider, mead, sake, fruit wine
	reds      grapes = "reds"
	whites    grapes = "whites"
	roses     grapes = "roses"
	sparkling grapes = "sparkling"
	fortified grapes = "fortified"
)

// classID returns the code of the style's products that come from here or from abroad.
func (s *style) classID(domestic bool) string {
	if domestic || s.Imported == "" {
		return s.Class
	}
	return s.Imported
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
		if s.Domestic && !domestic || s.Only != nil && !slices.Contains(s.Only, origin) {
			continue
		}
		w := s.Weight
		if s.Only != nil {
			w *= 12
		}
		m.styles = append(m.styles, s)
		m.add(w)
	}
	return m
}
