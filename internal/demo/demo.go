// Package demo makes up a registry: labels, permittees, barcodes and reference data with the shape
// of the real ones, for trying the service and for measuring it. Every record follows from Options
// alone, so the same options give the same bytes on every machine, and labels are made one at a
// time, so any number of them needs the same memory.
//
// Brands, companies and products are invented. Class and type codes, origins, grape varieties and
// viticultural areas are real, because searches for them should find what a reader expects.
//
// The model has three layers. A world holds the permittees and their brands, each with a rank that
// says how often it files. A product is one item of a brand, with its style, container and barcode;
// it is worked out from the brand and a number whenever it is needed. A label is one approval of a
// product on one day: vintages, dates, images and the gaps that real records have are its own.
// Several labels of one product share its barcode.
package demo

import (
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// DefaultColas is how many labels are made where no number is asked for.
const DefaultColas = 20_000

// MaxColas is the largest number of labels that can be asked for: the day with the most receipts
// must not run out of the six digits that number a day's applications.
const MaxColas = 10_000_000

// Options says which registry to make up. Equal options give equal records.
type Options struct {
	Colas int       // number of labels
	Seed  uint64    // another seed is another registry
	AsOf  cola.Date // the day it is: no label is dated later, and the year before it is never empty
}

// firstReceipt is the day from which the registry holds labels.
var firstReceipt = cola.NewDate(2005, time.January, 3)

// Check reports what makes records impossible: a negative or too large number of labels, or a day
// so early that there is no year of receipts before it, or so late that two-digit years in TTB ids
// repeat.
func (o Options) Check() error {
	if o.Colas < 0 || o.Colas > MaxColas {
		return fmt.Errorf("demonstration data: %d labels asked for; the number is from 0 to %d", o.Colas, MaxColas)
	}
	first, last := cola.NewDate(2006, time.January, 1), cola.NewDate(2099, time.December, 31)
	if o.AsOf < first || o.AsOf > last {
		return fmt.Errorf("demonstration data: day %q; it is from %s to %s", o.AsOf, first, last)
	}
	return nil
}

// world is what all labels of one set of options have in common. It does not change once made, and
// its size grows far slower than the number of labels.
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
		*w.containers.of(l.kind) = weighed(*table().Containers.of(l.kind), func(c container) float64 { return c.Weight })
	}
	return w
}

func (w *world) line(kind vocabulary.ProductType) *brandLine { return w.lines.of(kind) }

// brandFor draws the index of a brand of the commodity that files on the day.
func (w *world) brandFor(d *rng, kind vocabulary.ProductType, day cola.Date) int {
	l := w.line(kind)
	for range 16 {
		i := l.draw(d)
		if b := &l.brands[i]; b.from <= day && day <= b.to {
			return i
		}
	}
	return 0 // the busiest brand always files
}
