// Package demo generates a registry for demos and benchmarks: labels, permittees, barcodes and
// reference data structured like the real ones. Every record depends only on Options, so the same
// options produce the same bytes on every machine. Labels are generated one at a time, so memory
// use does not depend on their number.
//
// Brands, companies and products are invented. Class and type codes, origins, grape varieties and
// viticultural areas are real, so that searches for them return what users expect.
//
// The model has three layers:
//
//   - A world contains the permittees and their brands, each with a rank that determines how often it
//     files.
//   - A product is one product of a brand, with its style, container and barcode. It is derived from
//     the brand and an index whenever it is needed.
//   - A label is one approval of a product on one day, with its own vintage, dates and images, and
//     with gaps as in real records. Several labels of one product share its barcode.
package demo

import (
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// DefaultColas is the default number of labels.
const DefaultColas = 20_000

// MaxColas is the maximum number of labels. On the busiest day, the application numbers must fit in
// six digits.
const MaxColas = 10_000_000

// Options determines the generated registry. Equal options give equal records.
type Options struct {
	Colas int       // number of labels
	Seed  uint64    // different seeds give different registries
	AsOf  cola.Date // current date; no label is later, and the year before it has labels
}

// firstReceipt is the date of the first labels.
var firstReceipt = cola.NewDate(2005, time.January, 3)

// Check returns an error for impossible options: a number of labels that is negative or too large,
// a date without a full year of receipts before it, or a date so late that the two-digit years in
// TTB IDs repeat.
func (o Options) Check() error {
	if o.Colas < 0 || o.Colas > MaxColas {
		return fmt.Errorf("--colas must be between 0 and %[2]d, not %[1]d", o.Colas, MaxColas)
	}
	first, last := cola.NewDate(2006, time.January, 1), cola.NewDate(2099, time.December, 31)
	if o.AsOf < first || o.AsOf > last {
		return fmt.Errorf("--as-of must be between %[2]s and %[3]s, not %[1]s", o.AsOf, first, last)
	}
	return nil
}

// world contains the data shared by all labels of one set of options. It is immutable, and its size
// grows much more slowly than the number of labels.
type world struct {
	o           Options
	holders     []permittee
	lines       perKind[brandLine]
	regions     map[string][]*region
	originNames map[string]cola.Text // by origin code
	classNames  map[string]cola.Text // by class and type code
	domestic    map[string]bool      // by origin code
	menus       map[menuKey]menu
	containers  perKind[weights]
}

type menuKey struct {
	kind   vocabulary.ProductType
	origin string
}

func newWorld(o Options) *world {
	w := &world{
		o:           o,
		holders:     newPermittees(o),
		regions:     map[string][]*region{},
		originNames: map[string]cola.Text{},
		classNames:  map[string]cola.Text{},
		domestic:    map[string]bool{},
		menus:       map[menuKey]menu{},
	}
	for i := range table().Regions {
		r := &table().Regions[i]
		w.regions[r.Origin] = append(w.regions[r.Origin], r)
	}
	for _, origin := range vocabulary.Origins() {
		w.domestic[origin.ID], w.originNames[origin.ID] = origin.Domestic, cola.Text(origin.Name)
	}
	for _, class := range vocabulary.Classes() {
		w.classNames[class.ID] = cola.Text(class.Name)
	}
	for _, c := range commodities {
		l := w.lines.of(c.kind)
		*l = newLine(o, c.kind, w.holders)
		for i := range l.brands {
			key := menuKey{l.kind, l.brands[i].origin}
			if _, ok := w.menus[key]; !ok {
				w.menus[key] = newMenu(*table().Styles.of(l.kind), key.origin, w.domestic[key.origin])
			}
		}
		*w.containers.of(l.kind) = weightedBy(*table().Containers.of(l.kind),
			func(c container) float64 { return c.Weight })
	}
	return w
}

func (w *world) line(kind vocabulary.ProductType) *brandLine { return w.lines.of(kind) }

// brandFor picks the index of a brand that is active on the given day.
func (w *world) brandFor(d *rng, kind vocabulary.ProductType, day cola.Date) int {
	l := w.line(kind)
	for range 16 {
		i := l.draw(d)
		if b := &l.brands[i]; b.from <= day && day <= b.to {
			return i
		}
	}
	return 0 // the busiest brand is always active
}
