package demo

import "github.com/colaregistry/colaregistry/cola"

// world is what all labels of one set of options have in common. It does not change once made, and its size grows far
// slower than the number of labels.
type world struct {
	o           Options
	holders     []permittee
	wine        line
	beer        line
	spirits     line
	regions     map[string][]*region
	originNames map[string]cola.Text
	classNames  map[string]cola.Text
	domestic    map[string]bool // by origin code
	menus       map[menuKey]menu
	containers  map[cola.ProductType]weights
}

type menuKey struct {
	kind   cola.ProductType
	origin string
}

func newWorld(o Options) *world {
	w := &world{
		o:           o,
		holders:     newPermittees(o),
		regions:     regionsByOrigin(),
		originNames: originNames(),
		classNames:  classNames(),
		domestic:    map[string]bool{},
		menus:       map[menuKey]menu{},
		containers:  map[cola.ProductType]weights{},
	}
	w.wine = newLine(o, cola.Wine, w.holders)
	w.beer = newLine(o, cola.MaltBeverage, w.holders)
	w.spirits = newLine(o, cola.DistilledSpirits, w.holders)
	for _, origin := range cola.Origins() {
		w.domestic[origin.ID] = origin.Domestic
	}
	for _, l := range []*line{&w.wine, &w.beer, &w.spirits} {
		for i := range l.brands {
			key := menuKey{l.kind, l.brands[i].origin}
			if _, ok := w.menus[key]; !ok {
				w.menus[key] = newMenu(stylesOf(l.kind), key.origin, w.domestic[key.origin])
			}
		}
		w.containers[l.kind] = weighed(containersOf(l.kind), func(c container) float64 { return c.weight })
	}
	return w
}

func (w *world) line(kind cola.ProductType) *line {
	switch kind {
	case cola.MaltBeverage:
		return &w.beer
	case cola.DistilledSpirits:
		return &w.spirits
	}
	return &w.wine
}

// brandFor draws the index of a brand of the commodity that files on the day.
func (w *world) brandFor(d *dice, kind cola.ProductType, day cola.Date) int {
	l := w.line(kind)
	for range 16 {
		i := l.draw(d)
		if b := &l.brands[i]; b.from <= day && day <= b.to {
			return i
		}
	}
	return 0 // the busiest brand always files
}
