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

// tables are the words and numbers that demonstration data is made of. They are shared and
// read-only.
type tables struct {
	Lists         map[string][]string // by name; elsewhere, "@name" stands for one
	Styles        perKind[[]style]
	Containers    perKind[[]container]
	Tongues       map[string]*language
	States        []state
	Countries     []country
	Regions       []region
	Anywhere      region                 // of wine from where no appellation is known
	Seasons       map[string][12]float64 // how the months differ
	Monthly       map[string][]figure    // lines of each commodity's monthly report, in the order of the report
	Yearly        map[string][]figure    // columns of each commodity's yearly report by state
	Registrations []registration

	// AVAs are some fifty American Viticultural Areas as they really are: names, places, dates and
	// sections of 27 CFR part 9. Parents and children are given where both are in the file. Three
	// are boundaries that a later rule replaced.
	AVAs []cola.AVADetail
	// Aliases map former category paths to current ones. The prefix of some current paths has moved
	// too, so a reader must follow aliases repeatedly.
	Aliases []vocabulary.CategoryAlias
}

// table returns the tables. A failure is a mistake in an embedded file, which every test would
// find.
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

// resolve replaces the names of shared lists by the lists.
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

func english() *language { return table().Tongues["english"] }

// perKind has something for each commodity of labels.
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

// container is what a product is sold in.
type container struct {
	Kind   cola.Text // as ContainerTypes lists them
	Volume float64
	Unit   cola.Text
	Weight float64
}

// region is a wine appellation: its origin's code, its name on labels, and what is grown there.
type region struct {
	Origin       string
	Name         string
	Reds, Whites []string
	Bubbles      bool // its sparkling wine is what it is known for
}

// state is a US state as the home of permittees: its TTB origin code, how its ZIP codes begin, and
// how many wineries and importers, breweries, and distilleries it has relative to others.
type state struct {
	Code, Origin string
	ZIP          []string
	perKind[float64]
}

// country is a foreign origin: its TTB code, its language, the GS1 prefixes of its barcodes, and
// how many imported wines, beers and spirits come from it relative to others.
type country struct {
	Origin string
	Tongue string
	GS1    []string
	perKind[float64]
}

// originAmerican is TTB's origin of products blended from several states.
const originAmerican = "00"

// figure is one line of a report: its place in the report and its usual size.
type figure struct {
	Group, Category, Detail string
	Unit                    string
	Amount                  float64 // the nation's, in the first period
	Growth                  float64 // a year, as a factor
	Seasons                 string
}

// registration is a kind of original permit: the usual days to one, and how often a month has none
// to count.
type registration struct {
	Category, Application string
	Days                  int
	None                  float64
}

// AVAs returns viticultural areas. They are facts, so they are the same for all options. The slices
// within them are shared: they are for reading.
func AVAs(Options) []cola.AVADetail { return append([]cola.AVADetail(nil), table().AVAs...) }

// CategoryAliases returns transitions of the category taxonomy. They are the same for all options.
func CategoryAliases(Options) []vocabulary.CategoryAlias {
	return append([]vocabulary.CategoryAlias(nil), table().Aliases...)
}

// style is a kind of product: what its class, category, strength and enrichment may be. Fields that
// do not apply to its commodity are empty.
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

// newMenu lists the styles that can come from an origin. What is particular to the origin is most
// of what comes from it: nearly everything from Scotland is Scotch.
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
