package labelart

import (
	"hash/fnv"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// page is an unfinished drawing with the data it shows: the record's text, its theme and its
// barcode.
type page struct {
	*drawing
	theme
	content
	kind    vocabulary.ProductType
	barcode *symbol // barcode on this image, or nil
	upright bool    // the barcode reads upward
	side    string  // position of the barcode, in the record's terms
	stated  float64 // length of the barcode in pixels according to the record, or 0
	unit    float64 // shorter side of the current panel, on which font sizes depend
}

func newPage(c *cola.Cola, img *cola.Image, w, h int) *page {
	p := &page{theme: themeOf(c), content: contentOf(c), kind: c.ProductType}
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

// findBarcode selects the image's barcode: the one read from it or, for the back of a label without
// a list of barcodes, the record's main one.
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

// initial returns the first letter or digit of the brand name, after any leading article.
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

// item is an element in a vertical stack on a label.
type item struct {
	weight float64 // share of the height
	draw   func(b box)
}

// stack draws items from top to bottom, each in its share of the box.
func (p *page) stack(b box, items ...item) {
	weights := make([]float64, 0, len(items))
	visible := items[:0:0]
	for _, it := range items {
		if it.draw != nil {
			visible = append(visible, it)
			weights = append(weights, it.weight)
		}
	}
	for i, row := range b.rows(weights...) {
		visible[i].draw(row)
	}
}

// line returns an item that draws text, or an empty item for empty text.
func (p *page) line(weight float64, text string, k ink, m textStyle) item {
	if text == "" {
		return item{}
	}
	return item{weight, func(b box) { p.set(b.inset(0, b.h*0.06), text, k, m) }}
}

// gap returns an item that leaves space.
func gap(weight float64) item { return item{weight, func(box) {}} }

// divider returns an item that draws a rule with a diamond in the center.
func (p *page) divider(weight float64, k ink) item {
	return item{weight, func(b box) {
		c, r := b.center(), min(b.h*0.32, b.w*0.03)
		half, thick := b.w*0.28, max(0.6, r*0.18)
		p.fill(k, rectangle(box{c.x - half, c.y - thick/2, half - 2*r, thick}))
		p.fill(k, rectangle(box{c.x + 2*r, c.y - thick/2, half - 2*r, thick}))
		p.fill(k, polygon(point{c.x, c.y - r}, point{c.x + r, c.y}, point{c.x, c.y + r}, point{c.x - r, c.y}))
	}}
}

// footer returns an item that draws the strength on the left and the contents on the right, or only
// one of them, centered, if the other is unknown.
func (p *page) footer(weight float64, k ink) item {
	if p.strength == "" && p.contents == "" {
		return item{}
	}
	return item{weight, func(b box) {
		m := textStyle{face: sans, maxSize: p.unit * 0.046, lines: 1, track: 0.06, align: left}
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
			m.maxSize = size // both use the font size of the strength, usually the longer text
			p.set(halves[0].inset(halves[0].w*0.03, 0), p.strength, k, m)
			m.align = right
			p.set(halves[1].inset(halves[1].w*0.03, 0), p.contents, k, m)
		}
	}}
}

// theme is the visual style that a brand's labels share.
type theme struct {
	paper       ink // background
	ink         ink // text on paper
	accent      ink // ornaments on paper
	panel       ink // background of bands and badges
	shine       ink // text and ornaments on panel
	bold        face
	light       face
	composition int // which of the product type's compositions
	motif       motif
}

// palette contains a theme's colors.
type palette struct{ paper, ink, accent, panel, shine uint32 }

var winePalettes = []palette{
	{0xf6f0e2, 0x2b1a1a, 0x7a1f2b, 0x5a1620, 0xf1dfb4},
	{0xfbf8f1, 0x20252b, 0x8a6d2f, 0x1f2a36, 0xe8d6a4},
	{0xf3ede0, 0x24301f, 0x5b6b2e, 0x36451f, 0xf0e6c8},
	{0xfaf5ee, 0x33203a, 0x6b3a6e, 0x46244d, 0xf0d9ea},
	{0xf5efe6, 0x2a2320, 0x9c5a2c, 0x3b2a22, 0xf3d9b1},
	{0x1d2026, 0xf3ead6, 0xc9a45c, 0xc9a45c, 0x1d2026},
	{0xf7e9e4, 0x4a1f2a, 0xb4485a, 0x8c2f43, 0xfdeee6},
	{0xeef1ec, 0x1c2b33, 0x2f6470, 0x20434d, 0xe6efe2},
}

var beerPalettes = []palette{
	{0xf2b632, 0x1d1b16, 0x8a3a12, 0x1d3b34, 0xf7e3b0},
	{0x12313f, 0xf6ead0, 0xf08a3c, 0xb8401c, 0xfff4e0},
	{0xe8f0e4, 0x17301f, 0x2f7d4f, 0x1f5a38, 0xf7e9a8},
	{0xb83c20, 0xfff6e4, 0xffd166, 0x2a2320, 0xffd166},
	{0xfdf3dc, 0x1c2541, 0x3a7ca5, 0x16425b, 0xf9d98c},
	{0x2d1e2f, 0xf9e7d2, 0xf45d90, 0x5c2751, 0xffd9a0},
	{0x9fd3c7, 0x142d4c, 0x385170, 0x142d4c, 0xececec},
	{0x23211f, 0xf4ead5, 0xd8a23a, 0x6b4a1e, 0xfbe8bd},
}

var spiritPalettes = []palette{
	{0x14130f, 0xf0dfb6, 0xc19a4b, 0xc19a4b, 0x14130f},
	{0xe9dcc0, 0x271c10, 0x7d4a1a, 0x3b2613, 0xecd9ad},
	{0xf4f1ea, 0x16202c, 0x2d4f73, 0x16304a, 0xe9e2cf},
	{0x10302a, 0xf1e7c9, 0xc8a95a, 0xc8a95a, 0x10302a},
	{0xf7f5f0, 0x1b1b1b, 0x9a2a2a, 0x1b1b1b, 0xf1e6d0},
	{0x3a1519, 0xf4e2c4, 0xd0a14e, 0xd0a14e, 0x2b0d10},
	{0xdfe7e6, 0x15292b, 0x2c6e6a, 0x17444a, 0xeaf1ea},
}

// themeOf returns the theme of a label. The brand determines the colors and the composition, and
// the product determines the ornament.
func themeOf(c *cola.Cola) theme {
	brand := hashOf(string(c.ProductType), c.BrandName)
	palettes, motifs := winePalettes, wineMotifs
	bold, light := serifBold, serifItalic
	switch c.ProductType {
	case vocabulary.MaltBeverage:
		palettes, motifs = beerPalettes, beerMotifs
		bold, light = sansBold, sans
	case vocabulary.DistilledSpirits:
		palettes, motifs = spiritPalettes, spiritMotifs
		if brand>>40&3 == 0 {
			bold = sansBold
		}
	default:
		if brand>>40&3 == 0 {
			bold = serif
		}
	}
	colors := palettes[brand%uint64(len(palettes))]
	ornament := hashOf(c.BrandName, string(c.ClassID), string(c.ProductName))
	return theme{
		paper: hex(colors.paper), ink: hex(colors.ink), accent: hex(colors.accent),
		panel: hex(colors.panel), shine: hex(colors.shine),
		bold: bold, light: light,
		composition: int(brand >> 20 % 3),
		motif:       motifs[ornament>>8%uint64(len(motifs))],
	}
}

// hashOf returns a hash of the strings.
func hashOf(texts ...string) uint64 {
	h := fnv.New64a()
	for _, t := range texts {
		h.Write([]byte(t)) // never fails
		h.Write([]byte{0})
	}
	v := h.Sum64()
	return v ^ v>>32
}
