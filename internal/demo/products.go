package demo

import (
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// product is one product of a brand. It contains the data shared by its labels, including the
// barcode.
type product struct {
	kind      vocabulary.ProductType
	brand     *brand
	holder    *permittee
	style     *style
	class     string // TTB code
	domestic  bool
	fanciful  string // empty if it has no fanciful name
	varietals []string
	region    *region // appellation, or nil
	contents  container
	abv       float64 // percent, one decimal
	barcode   code    // zero if it has none
	path      string  // category
}

// productKey identifies a product by its product type, the index of its brand, and its index within
// the brand.
type productKey struct {
	kind   vocabulary.ProductType
	brand  int32
	number int32
}

// product generates a product. The same key always gives the same product.
func (w *world) product(key productKey) product {
	l := w.line(key.kind)
	b := &l.brands[key.brand]
	d := newRNG(w.o.Seed, streamProduct, uint64(key.brand)<<34|uint64(key.number)<<2|kindNumber(key.kind))
	m := w.menus[menuKey{key.kind, b.origin}]
	p := product{
		kind: key.kind, brand: b, holder: &w.holders[b.holder],
		style: m.styles[m.draw(&d)], domestic: w.domestic[b.origin],
	}
	p.class = p.style.classID(p.domestic)
	p.abv = float64(int(10*(p.style.ABV[0]+d.unit()*(p.style.ABV[1]-p.style.ABV[0]))+0.5)) / 10
	if p.style.Grapes == reds && p.abv > 14 {
		p.class = "88" // TTB classifies and taxes wine above 14 percent as dessert wine, regardless of its taste
	}
	w.grow(&d, &p)
	p.path = categoryPath(&d, &p)
	p.fanciful = fancifulName(&d, &p)
	p.contents = (*table().Containers.of(key.kind))[w.containers.of(key.kind).draw(&d)]
	p.barcode = barcodeFor(&d, &p, key)
	return p
}

// grow sets a wine's appellation and grapes.
func (w *world) grow(d *rng, p *product) {
	if p.style.Grapes == noGrapes {
		return
	}
	var grown []*region
	for _, r := range w.regions[p.brand.origin] {
		if len(p.grapesOf(r)) > 0 && (!r.Bubbles || p.style.Grapes == sparkling) {
			grown = append(grown, r)
		}
	}
	if len(grown) == 0 {
		if d.chance(0.5) {
			p.varietals = some(d, p.grapesOf(&table().Anywhere), 1, 2)
		}
		return
	}
	if d.chance(0.72) {
		p.region = pick(d, grown)
		if leaf := strings.ToUpper(vocabulary.CategoryLeaf(p.style.Path)); leaf != p.region.Name &&
			p.style.Only != nil {
			p.region = regionNamed(grown, leaf, p.region)
		}
	}
	if from := p.region; d.chance(0.8) {
		if from == nil {
			from = pick(d, grown)
		}
		p.varietals = some(d, p.grapesOf(from), 1, maxVarietals(d))
	}
}

// grapesOf returns the grapes of a region that fit the product's style.
func (p *product) grapesOf(r *region) []string {
	switch p.style.Grapes {
	case whites, sparkling, fortified:
		if len(r.Whites) == 0 && p.style.Grapes == fortified {
			return r.Reds
		}
		return r.Whites
	}
	return r.Reds
}

// regionNamed returns the region with the given name, such as CHAMPAGNE, or other if there is no
// such region.
func regionNamed(regions []*region, name string, other *region) *region {
	for _, r := range regions {
		if r.Name == name {
			return r
		}
	}
	return other
}

// maxVarietals returns the maximum number of grape varieties on a label, usually one.
func maxVarietals(d *rng) int {
	if d.chance(0.25) {
		return 4
	}
	return 1
}

// categoryPath returns the category: the style's path, with the grape as an extra level for still
// wine. It is sometimes truncated, as if by a classifier that is unsure of the leaf.
func categoryPath(d *rng, p *product) string {
	path := p.style.Path
	if p.style.Grapes == reds || p.style.Grapes == whites || p.style.Grapes == roses {
		switch {
		case len(p.varietals) == 1:
			path += " > " + p.varietals[0]
		case len(p.varietals) > 1 && p.style.Grapes == reds:
			path += " > Red Blend"
		case len(p.varietals) > 1 && p.style.Grapes == whites:
			path += " > White Blend"
		}
	}
	for cut := 0.14; d.chance(cut); cut = 0.2 {
		i := strings.LastIndex(path, " > ")
		if i < 0 {
			break
		}
		path = path[:i]
	}
	return path
}

// fancifulName returns the fanciful name, which is empty for about half of all products.
func fancifulName(d *rng, p *product) string {
	if d.chance(0.46) {
		return ""
	}
	t, s := p.brand.lang, p.style
	var name string
	switch at := d.unit(); {
	case p.kind == vocabulary.MaltBeverage && at < 0.62:
		name = english().fill(d, pick(d, table().Lists["beer names"])) + " " + t.fill(d, pick(d, s.Names))
	case p.kind == vocabulary.DistilledSpirits && at < 0.75, len(s.Names) > 0 && at < 0.6, len(s.Names) > 0 && p.kind == vocabulary.MaltBeverage:
		name = t.fill(d, pick(d, s.Names))
	case len(p.varietals) == 1 && at < 0.3:
		name = strings.ToUpper(p.varietals[0])
	case len(p.varietals) == 1 && at < 0.42:
		name = pick(d, []string{
			"RESERVE ", "ESTATE ", "OLD VINE ", "UNOAKED ", "BARREL SELECT ",
		}) + strings.ToUpper(p.varietals[0])
	default:
		name = t.fill(d, pick(d, t.Cuvees))
	}
	return spelling(d, name)
}
