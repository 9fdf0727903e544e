package labelart

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-fonts/liberation/liberationsansbold"
	"github.com/go-fonts/liberation/liberationsansregular"
	"github.com/go-fonts/liberation/liberationserifbold"
	"github.com/go-fonts/liberation/liberationserifitalic"
	"github.com/go-fonts/liberation/liberationserifregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// clean returns text that a label can show. It collapses white space, removes invalid UTF-8,
// noncharacters, and characters of Unicode category C (control, formatting and private-use
// characters), and truncates the text to the given number of characters, with an ellipsis.
func clean(s string, maxRunes int) string {
	var b strings.Builder
	count, space := 0, false
	for len(s) > 0 && count < maxRunes {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch {
		case r == utf8.RuneError && size <= 1:
		case unicode.IsSpace(r):
			space = b.Len() > 0
		case unicode.In(r, unicode.C) || r&0xfffe == 0xfffe:
		default:
			if space {
				b.WriteByte(' ')
				count++
				space = false
			}
			b.WriteRune(r)
			count++
		}
	}
	if count >= maxRunes && strings.TrimSpace(s) != "" {
		b.WriteRune('…')
	}
	return b.String()
}

// textStyle describes how to set text in a box.
type textStyle struct {
	face    face
	maxSize float64 // maximum font size
	lines   int     // maximum number of lines
	track   float64 // letter spacing in ems
	leading float64 // line height in ems; 0 means 1.18
	align   align
	top     bool // align with the top of the box rather than its center
	turned  bool // one line that reads upward
}

type align uint8

const (
	centered align = iota
	left
	right
)

func (m *textStyle) lineHeight() float64 {
	if m.leading == 0 {
		return 1.18
	}
	return m.leading
}

// minSize is the minimum font size. Smaller text would be illegible and is omitted.
const minSize = 1.5

// set draws text in a box, at the largest size that fits. Text that does not fit at the smallest
// legible size is truncated.
func (p *page) set(b box, text string, k ink, m textStyle) {
	if text == "" || b.w <= 0 || b.h <= 0 {
		return
	}
	room := b
	if m.turned {
		room = box{0, 0, b.h, b.w}
	}
	size, lines := fit(text, room, &m)
	if len(lines) == 0 {
		return
	}
	put := func(line string, x, y, width float64) {
		p.shapes = append(p.shapes, shape{fill: k, text: line, textRun: textRun{
			face: m.face, size: size, track: m.track, at: point{x, y}, width: width, turned: m.turned,
		}})
	}
	if m.turned {
		width := m.face.measure(lines[0], m.track) * size
		put(lines[0], b.x+b.w/2+0.34*size, b.y+(b.h+width)/2, width)
		return
	}
	height := float64(len(lines)) * m.lineHeight() * size
	y := b.y
	if !m.top {
		y += (b.h - height) / 2
	}
	// At this baseline, capitals, which are 0.7 em high, are centered in the line.
	y += (m.lineHeight()/2 + 0.34) * size
	for _, line := range lines {
		width := m.face.measure(line, m.track) * size
		x := b.x
		switch m.align {
		case centered:
			x += (b.w - width) / 2
		case right:
			x += b.w - width
		}
		put(line, x, y, width)
		y += m.lineHeight() * size
	}
}

// fit returns the largest size at which text fits a box, and the wrapped lines. It returns no lines
// if there is no room.
func fit(text string, b box, m *textStyle) (size float64, lines []string) {
	fits := func(size float64) ([]string, bool) {
		lines := wrap(text, m.face, b.w/size, m.track)
		if lines == nil || len(lines) > m.lines || float64(len(lines))*m.lineHeight()*size > b.h {
			return nil, false
		}
		return lines, true
	}
	most := min(m.maxSize, b.h/m.lineHeight())
	if most < minSize {
		return 0, nil
	}
	if lines, ok := fits(most); ok {
		return most, balance(lines, text, b.w/most, m)
	}
	low, high := minSize, most
	if _, ok := fits(low); !ok {
		return low, truncate(text, b, m)
	}
	for range 12 {
		middle := (low + high) / 2
		if _, ok := fits(middle); ok {
			low = middle
		} else {
			high = middle
		}
	}
	lines, _ = fits(low)
	return low, balance(lines, text, b.w/low, m)
}

// wrap breaks text into lines no wider than width, in ems. It returns nil if a single word is
// wider.
func wrap(text string, f face, width, track float64) []string {
	space := f.measure(" ", 0) + 2*track
	var lines []string
	start, used := 0, 0.0 // start and width of the line
	end := 0
	for at := 0; at < len(text); {
		stop := strings.IndexByte(text[at:], ' ')
		if stop < 0 {
			stop = len(text)
		} else {
			stop += at
		}
		word := f.measure(text[at:stop], track)
		if word > width {
			return nil
		}
		if end > start && used+space+word > width {
			lines = append(lines, text[start:end])
			start, used = at, word
		} else if end > start {
			used += space + word
		} else {
			used = word
		}
		end = stop
		at = stop + 1
	}
	return append(lines, text[start:end])
}

// balance makes the lines of a short text about equally wide without adding lines.
func balance(lines []string, text string, width float64, m *textStyle) []string {
	if len(lines) < 2 || len(lines) > 4 || m.align != centered {
		return lines
	}
	for range 12 {
		width *= 0.95
		narrower := wrap(text, m.face, width, m.track)
		if narrower == nil || len(narrower) > len(lines) {
			break
		}
		lines = narrower
	}
	return lines
}

// truncate shortens text to fit at the smallest size, and adds an ellipsis.
func truncate(text string, b box, m *textStyle) []string {
	const size = minSize
	lines := wrap(text, m.face, b.w/size, m.track)
	if lines == nil {
		lines = []string{text}
	}
	lines = lines[:max(1, min(len(lines), m.lines, int(b.h/(m.lineHeight()*size))))]
	last := &lines[len(lines)-1]
	*last += "…"
	for runes := []rune(*last); m.face.measure(*last, m.track)*size > b.w; {
		if len(runes) == 0 {
			return nil // even the ellipsis does not fit
		}
		runes = runes[:len(runes)*9/10]
		*last = string(runes) + "…"
	}
	return lines
}

// face is one of the label fonts.
type face uint8

const (
	serif face = iota
	serifBold
	serifItalic
	sans
	sansBold
	faces
)

// svgFamilies contains each face's font families for SVG: fonts with identical widths, the embedded
// one first.
var svgFamilies = [faces]string{
	serif:       `font-family="'Liberation Serif','Times New Roman',Times,serif"`,
	serifBold:   `font-family="'Liberation Serif','Times New Roman',Times,serif" font-weight="700"`,
	serifItalic: `font-family="'Liberation Serif','Times New Roman',Times,serif" font-style="italic"`,
	sans:        `font-family="'Liberation Sans',Arial,Helvetica,sans-serif"`,
	sansBold:    `font-family="'Liberation Sans',Arial,Helvetica,sans-serif" font-weight="700"`,
}

// typeface is a parsed font with the widths of its most common glyphs. It is immutable.
type typeface struct {
	font  *sfnt.Font
	em    float64 // units per em
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

// advance returns the width of a glyph in ems, from the font.
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

// measure returns the width of text in ems, including letter spacing of track ems.
func (f face) measure(s string, track float64) float64 {
	t := typefaces()[f]
	var buffer *sfnt.Buffer // takes several KB, and few strings need it
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

// glyph returns the outline of a glyph at the given font size, with its origin at the given point.
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
		case sfnt.SegmentOpQuadTo: // converted to a cubic curve, so that outlines have a single kind of curve
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
