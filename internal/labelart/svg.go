package labelart

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

// writeSVG writes the drawing as SVG.
func (d *drawing) writeSVG(w io.Writer) error {
	b := make([]byte, 0, 16<<10)
	b = append(b, `<svg xmlns="http://www.w3.org/2000/svg" width="`...)
	b = strconv.AppendInt(b, int64(d.w), 10)
	b = append(b, `" height="`...)
	b = strconv.AppendInt(b, int64(d.h), 10)
	b = fmt.Appendf(b, `" viewBox="0 0 %d %d" role="img" font-kerning="none"><title>`, d.w, d.h)
	b = append(appendEscaped(b, d.title), "</title>\n"...)
	for i := range d.shapes {
		s := &d.shapes[i]
		if s.text != "" {
			b = s.appendText(b)
		} else {
			b = s.appendPath(b)
		}
	}
	b = append(b, "</svg>\n"...)
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("write label image: %w", err)
	}
	return nil
}

func (s *shape) appendPath(b []byte) []byte {
	b = fmt.Appendf(b, `<path fill="#%02x%02x%02x" d="`, s.fill.r, s.fill.g, s.fill.b)
	for i := range s.path {
		b = append(b, "MLCZ"[s.path[i].command])
		for j, p := range s.path[i].points() {
			if j > 0 {
				b = append(b, ' ')
			}
			b = appendNumber(append(appendNumber(b, p.x), ' '), p.y)
		}
	}
	return append(b, "\"/>\n"...)
}

func (s *shape) appendText(b []byte) []byte {
	b = append(b, `<text x="`...)
	b = append(appendNumber(b, s.at.x), `" y="`...)
	b = append(appendNumber(b, s.at.y), `" `...)
	b = append(b, svgFamilies[s.face]...)
	b = append(appendNumber(append(b, ` font-size="`...), s.size), '"')
	if s.track != 0 {
		b = append(appendNumber(append(b, ` letter-spacing="`...), s.track*s.size), '"')
	}
	if s.turned {
		b = append(appendNumber(append(b, ` transform="rotate(-90 `...), s.at.x), ' ')
		b = append(appendNumber(b, s.at.y), `)"`...)
	}
	b = append(appendNumber(append(b, ` textLength="`...), s.width+s.track*s.size), '"') // it counts the space after the last letter
	b = fmt.Appendf(b, ` lengthAdjust="spacingAndGlyphs" fill="#%02x%02x%02x">`, s.fill.r, s.fill.g, s.fill.b)
	return append(appendEscaped(b, s.text), "</text>\n"...)
}

// appendNumber writes a coordinate to a hundredth of a pixel.
func appendNumber(b []byte, v float64) []byte {
	return strconv.AppendFloat(b, math.Round(v*100)/100, 'f', -1, 64)
}

// appendEscaped writes text as XML character data. What XML cannot hold at all has been taken out of it before.
func appendEscaped(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '&':
			b = append(b, "&amp;"...)
		case '<':
			b = append(b, "&lt;"...)
		case '>':
			b = append(b, "&gt;"...)
		default:
			b = append(b, c)
		}
	}
	return b
}
