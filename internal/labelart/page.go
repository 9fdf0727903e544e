package labelart

import (
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// page is an unfinished drawing: the record, its theme and its words.
type page struct {
	*drawing
	theme
	words
	kind    vocabulary.ProductType
	barcode *symbol // on this image; may be nil
	upright bool    // the barcode reads upwards
	side    string  // where the barcode stands, in the record's words
	stated  float64 // its length in pixels as the record has it, 0 when it does not say
	unit    float64 // the shorter side of the panel in hand: sizes of type go by it
}

func newPage(c *cola.Cola, img *cola.Image, w, h int) *page {
	p := &page{theme: themeOf(c), words: wordsOf(c), kind: c.ProductType}
	title := p.brand
	if p.fanciful != "" {
		title += ", " + p.fanciful
	}
	if position := clean(string(img.ContainerPosition), 20); position != "" {
		title += " (" + position + " label)"
	}
	p.drawing = &drawing{w: w, h: h, title: title}
	p.findBarcode(c, img)
	return p
}

// findBarcode picks the barcode of the image: the one that was read from it, or the record's main one on the back of a
// label without a list.
func (p *page) findBarcode(c *cola.Cola, img *cola.Image) {
	for i := range c.Barcodes {
		b := &c.Barcodes[i]
		if b.TTBImageID != "" && string(b.TTBImageID) == img.TTBImageID {
			p.barcode = newSymbol(string(b.BarcodeType), b.BarcodeValue)
			p.upright = b.Orientation == "vertical"
			p.side = string(b.RelativeImagePosition)
			p.stated = float64(b.WidthPixels.Or(0))
			if p.upright {
				p.stated = float64(b.HeightPixels.Or(0))
			}
			return
		}
	}
	if len(c.Barcodes) == 0 && c.BarcodeValue != "" && img.ContainerPosition == "back" {
		p.barcode = newSymbol(string(c.BarcodeType), string(c.BarcodeValue))
	}
}

func (p *page) bounds() box { return box{0, 0, float64(p.w), float64(p.h)} }

// initial is the first letter of the brand, leaving out an article.
func (p *page) initial() string {
	name := p.brand
	for _, article := range []string{"THE ", "LA ", "LE ", "EL ", "IL ", "LES ", "LOS "} {
		name = strings.TrimPrefix(name, article)
	}
	for _, r := range name {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return string(unicode.ToUpper(r))
		}
	}
	return "•"
}

// item is one of the things that stand above one another on a label.
type item struct {
	weight float64 // its part of the height
	draw   func(b box)
}

// stack draws items above one another, each in its part of the box.
func (p *page) stack(b box, items ...item) {
	weights := make([]float64, 0, len(items))
	shown := items[:0:0]
	for _, it := range items {
		if it.draw != nil {
			shown = append(shown, it)
			weights = append(weights, it.weight)
		}
	}
	for i, row := range b.rows(weights...) {
		shown[i].draw(row)
	}
}

// line returns an item that sets a text; an empty text has an empty item.
func (p *page) line(weight float64, text string, k ink, m manner) item {
	if text == "" {
		return item{}
	}
	return item{weight, func(b box) { p.set(b.inset(0, b.h*0.06), text, k, m) }}
}

// gap returns an item that leaves room.
func gap(weight float64) item { return item{weight, func(box) {}} }

// divider returns an item that draws a rule with a diamond in its middle.
func (p *page) divider(weight float64, k ink) item {
	return item{weight, func(b box) {
		c, r := b.center(), min(b.h*0.32, b.w*0.03)
		half, thick := b.w*0.28, max(0.6, r*0.18)
		p.fill(k, rectangle(box{c.x - half, c.y - thick/2, half - 2*r, thick}))
		p.fill(k, rectangle(box{c.x + 2*r, c.y - thick/2, half - 2*r, thick}))
		p.fill(k, polygon(point{c.x, c.y - r}, point{c.x + r, c.y}, point{c.x, c.y + r}, point{c.x - r, c.y}))
	}}
}

// footer returns an item that sets the strength at the left and the contents at the right.
func (p *page) footer(weight float64, k ink) item {
	if p.strength == "" && p.contents == "" {
		return item{}
	}
	return item{weight, func(b box) {
		m := manner{face: sans, most: p.unit * 0.046, lines: 1, track: 0.06, align: left}
		halves := b.columns(1.6, 1)
		switch {
		case p.contents == "":
			m.align = centered
			p.set(b, p.strength, k, m)
		case p.strength == "":
			m.align = centered
			p.set(b, p.contents, k, m)
		default:
			size, _ := fit(p.strength, halves[0].inset(halves[0].w*0.03, 0), &m)
			m.most = size // both in the size of the longer
			p.set(halves[0].inset(halves[0].w*0.03, 0), p.strength, k, m)
			m.align = right
			p.set(halves[1].inset(halves[1].w*0.03, 0), p.contents, k, m)
		}
	}}
}
