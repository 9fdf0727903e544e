package labelart

import (
	"sync"

	"github.com/go-fonts/liberation/liberationsansbold"
	"github.com/go-fonts/liberation/liberationsansregular"
	"github.com/go-fonts/liberation/liberationserifbold"
	"github.com/go-fonts/liberation/liberationserifitalic"
	"github.com/go-fonts/liberation/liberationserifregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// face is one of the fonts that labels are set in.
type face uint8

const (
	serif face = iota
	serifBold
	serifItalic
	sans
	sansBold
	faces
)

// svgFamilies names the faces for SVG: fonts of equal widths, the one embedded here first.
var svgFamilies = [faces]string{
	serif:       `font-family="'Liberation Serif','Times New Roman',Times,serif"`,
	serifBold:   `font-family="'Liberation Serif','Times New Roman',Times,serif" font-weight="700"`,
	serifItalic: `font-family="'Liberation Serif','Times New Roman',Times,serif" font-style="italic"`,
	sans:        `font-family="'Liberation Sans',Arial,Helvetica,sans-serif"`,
	sansBold:    `font-family="'Liberation Sans',Arial,Helvetica,sans-serif" font-weight="700"`,
}

// typeface is a parsed font with the widths of its commonest glyphs. It does not change once made.
type typeface struct {
	font  *sfnt.Font
	em    float64 // units to the em
	ppem  fixed.Int26_6
	latin [0x180]float64 // widths in ems
}

var typefaces = sync.OnceValue(func() [faces]*typeface {
	return [faces]*typeface{
		serif:       parseFace(liberationserifregular.TTF),
		serifBold:   parseFace(liberationserifbold.TTF),
		serifItalic: parseFace(liberationserifitalic.TTF),
		sans:        parseFace(liberationsansregular.TTF),
		sansBold:    parseFace(liberationsansbold.TTF),
	}
})

func parseFace(ttf []byte) *typeface {
	f, err := sfnt.Parse(ttf)
	if err != nil {
		panic("labelart: embedded font: " + err.Error())
	}
	t := &typeface{font: f, em: float64(f.UnitsPerEm()), ppem: fixed.I(int(f.UnitsPerEm()))}
	var buffer sfnt.Buffer
	for r := range t.latin {
		t.latin[r] = t.advance(&buffer, rune(r))
	}
	return t
}

// advance looks a glyph's width up in the font, in ems.
func (t *typeface) advance(buffer *sfnt.Buffer, r rune) float64 {
	glyph, err := t.font.GlyphIndex(buffer, r)
	if err != nil {
		return 0
	}
	width, err := t.font.GlyphAdvance(buffer, glyph, t.ppem, font.HintingNone)
	if err != nil {
		return 0
	}
	return float64(width) / 64 / t.em
}

// measure returns the width of a text in ems, letters tracked apart by track ems.
func (f face) measure(s string, track float64) float64 {
	t := typefaces()[f]
	var buffer *sfnt.Buffer // has some kilobytes; few texts need it
	width := 0.0
	for _, r := range s {
		if int(r) < len(t.latin) {
			width += t.latin[r]
		} else {
			if buffer == nil {
				buffer = new(sfnt.Buffer)
			}
			width += t.advance(buffer, r)
		}
		width += track
	}
	return max(0, width-track)
}

// glyph returns the outline of a glyph of a size with its origin at a point.
func (t *typeface) glyph(buffer *sfnt.Buffer, r rune, size float64, at point) outline {
	index, err := t.font.GlyphIndex(buffer, r)
	if err != nil {
		return nil
	}
	segments, err := t.font.LoadGlyph(buffer, index, t.ppem, nil)
	if err != nil {
		return nil
	}
	scale := size / t.em / 64
	place := func(p fixed.Point26_6) point { return point{at.x + float64(p.X)*scale, at.y + float64(p.Y)*scale} }
	var o outline
	var last point
	for _, s := range segments {
		a := place(s.Args[0])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			o.move(a.x, a.y)
			last = a
		case sfnt.SegmentOpLineTo:
			o.line(a.x, a.y)
			last = a
		case sfnt.SegmentOpQuadTo: // raised to a cubic, so that outlines have one kind of curve
			b := place(s.Args[1])
			o.cube(last.x+(a.x-last.x)*2/3, last.y+(a.y-last.y)*2/3, b.x+(a.x-b.x)*2/3, b.y+(a.y-b.y)*2/3, b.x, b.y)
			last = b
		case sfnt.SegmentOpCubeTo:
			b, c := place(s.Args[1]), place(s.Args[2])
			o.cube(a.x, a.y, b.x, b.y, c.x, c.y)
			last = c
		}
	}
	return o
}
