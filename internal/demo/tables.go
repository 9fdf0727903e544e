package demo

import (
	"bytes"
	"embed"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

//go:embed tables/*.json
var tableFiles embed.FS

// tables contains the words and numbers from which demo data is generated. It is shared and
// read-only.
type tables struct {
	Lists         map[string][]string // by name; other tables refer to a list as "@name"
	Styles        perKind[[]style]
	Containers    perKind[[]container]
	Languages     map[string]*language
	States        []state
	Countries     []country
	Regions       []region
	Anywhere      region                 // for wine from countries without a known appellation
	Seasons       map[string][12]float64 // monthly variation
	Monthly       map[string][]figure    // lines of each commodity's monthly report, in report order
	Yearly        map[string][]figure    // columns of each commodity's yearly report by state
	Registrations []registration

	// AVAs are about fifty real American Viticultural Areas: names, places, dates and sections of
	// 27 CFR part 9. Parent and child areas are linked only if both are in the file. Three areas
	// have boundaries that a later rule replaced.
	AVAs []cola.AVADetail
	// Aliases map former category paths to newer ones. Some newer paths are below a path that has also
	// moved, so readers must resolve aliases repeatedly.
	Aliases []vocabulary.CategoryAlias
}

// table returns the tables. It panics on an invalid embedded file, which every test would detect.
var table = sync.OnceValue(func() *tables {
	t := &tables{}
	names, _ := fs.Glob(tableFiles, "tables/*.json")
	for _, name := range names {
		text, err := tableFiles.ReadFile(name)
		if err == nil {
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			err = d.Decode(t)
		}
		if err != nil {
			panic("demo: " + name + ": " + err.Error())
		}
	}
	for _, styles := range [][]style{t.Styles.Wine, t.Styles.Beer, t.Styles.Spirits} {
		for i := range styles {
			t.resolve(&styles[i].Flavors, &styles[i].Grains)
		}
	}
	for i := range t.Regions {
		t.resolve(&t.Regions[i].Reds, &t.Regions[i].Whites)
	}
	t.resolve(&t.Anywhere.Reds, &t.Anywhere.Whites)
	return t
})

// resolve replaces the names of shared lists with the lists.
func (t *tables) resolve(lists ...*[]string) {
	for _, list := range lists {
		if len(*list) == 1 && strings.HasPrefix((*list)[0], "@") {
			shared, ok := t.Lists[(*list)[0][1:]]
			if !ok {
				panic("demo: no such list: " + (*list)[0])
			}
			*list = shared
		}
	}
}

func english() *language { return table().Languages["english"] }

// perKind has one value for each product type.
type perKind[T any] struct{ Wine, Beer, Spirits T }

func (p *perKind[T]) of(kind vocabulary.ProductType) *T {
	switch kind {
	case vocabulary.MaltBeverage:
		return &p.Beer
	case vocabulary.DistilledSpirits:
		return &p.Spirits
	}
	return &p.Wine
}

// container is a product's container.
type container struct {
	Kind   cola.Text // one of ContainerTypes
	Volume float64
	Unit   cola.Text
	Weight float64
}

// region is a wine appellation: its origin code, its name on labels, and its grapes.
type region struct {
	Origin       string
	Name         string
	Reds, Whites []string
	Bubbles      bool // only for sparkling wine
}

// state is a US state where permittees are based: its TTB origin code, the prefixes of its ZIP
// codes, and its relative number of wineries and importers, breweries, and distilleries.
type state struct {
	Code, Origin string
	ZIP          []string
	perKind[float64]
}

// country is a foreign origin: its TTB code, its language, the GS1 prefixes of its barcodes, and
// its relative share of imported wines, beers and spirits.
type country struct {
	Origin   string
	Language string
	GS1      []string
	perKind[float64]
}

// originAmerican is TTB's origin code for products blended from several states.
const originAmerican = "00"

// figure is one line of a report: its headings, unit, initial amount and growth.
type figure struct {
	Group, Category, Detail string
	Unit                    string
	Amount                  float64 // nationwide, in the first period
	Growth                  float64 // yearly growth factor
	Seasons                 string
}

// registration is a type of original permit: its usual processing time in days, and the probability
// of a month without permits.
type registration struct {
	Category, Application string
	Days                  int
	None                  float64
}

// AVAs returns viticultural areas. They are real, so they are the same for all options. Callers
// must not modify the slices in them, which are shared.
func AVAs(Options) []cola.AVADetail { return append([]cola.AVADetail(nil), table().AVAs...) }

// CategoryAliases returns aliases of category paths. They are the same for all options.
func CategoryAliases(Options) []vocabulary.CategoryAlias {
	return append([]vocabulary.CategoryAlias(nil), table().Aliases...)
}

// style is a kind of product with its possible classes, categories, strengths and enrichment.
// Fields that do not apply to its product type are empty.
type style struct {
	Class    string     // TTB class and type code of a domestic product
	Imported string     // class and type code of an imported product, if different
	Path     string     // category path
	Weight   float64    // relative frequency within its product type
	ABV      [2]float64 // lowest and highest, in percent
	Only     []string   // allowed origins; default any
	Domestic bool       // made in the United States only
	Flavors  []string   // for tasting notes
	Names    []string   // words for fanciful names

	Grapes grapes // for wine: selects among a region's grapes

	IBU [2]int // malt beverages: bitterness, 0 if never stated

	Grains []string // spirits
	Aged   [2]int   // spirits: years, 0 if not aged
}

// grapes selects a wine's grape varieties.
type grapes string

const (
	noGrapes  grapes = "" // cider, mead, sake, fruit wine
	reds      grapes = "reds"
	whites    grapes = "whites"
	roses     grapes = "roses"
	sparkling grapes = "sparkling"
	fortified grapes = "fortified"
)

// classID returns the class code of the style's domestic or imported products.
func (s *style) classID(domestic bool) string {
	if domestic || s.Imported == "" {
		return s.Class
	}
	return s.Imported
}

// menu lists the styles of one product type from one origin.
type menu struct {
	styles []*style
	weights
}

// newMenu lists the styles that an origin can produce. Styles specific to the origin dominate:
// nearly all spirits from Scotland are Scotch.
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
