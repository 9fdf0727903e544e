package demo

import (
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// world is what all labels of one set of options have in common. It does not change once made, and its size grows far
// slower than the number of labels.
type world struct {
	o           Options
	holders     []permittee
	lines       perKind[line]
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

func (w *world) line(kind vocabulary.ProductType) *line { return w.lines.of(kind) }

// brandFor draws the index of a brand of the commodity that files on the day.
func (w *world) brandFor(d *dice, kind vocabulary.ProductType, day cola.Date) int {
	l := w.line(kind)
	for range 16 {
		i := l.draw(d)
		if b := &l.brands[i]; b.from <= day && day <= b.to {
			return i
		}
	}
	return 0 // the busiest brand always files
}
