package labelart

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
)

// writeSVG writes the drawing as SVG.
func (d *drawing) writeSVG(w io.Writer) error {
	b := make([]byte, 0, 16<<10)
	b = fmt.Appendf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" font-kerning="none"><title>%[3]s</title>`+"\n",
		d.w, d.h, html.EscapeString(d.title))
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
			b = strconv.AppendFloat(b, rounded(p.x), 'f', -1, 64)
			b = strconv.AppendFloat(append(b, ' '), rounded(p.y), 'f', -1, 64)
		}
	}
	return append(b, "\"/>\n"...)
}

func (s *shape) appendText(b []byte) []byte {
	b = fmt.Appendf(b, `<text x="%v" y="%v" %s font-size="%v"`, rounded(s.at.x), rounded(s.at.y), svgFamilies[s.face], rounded(s.size))
	if s.track != 0 {
		b = fmt.Appendf(b, ` letter-spacing="%v"`, rounded(s.track*s.size))
	}
	if s.turned {
		b = fmt.Appendf(b, ` transform="rotate(-90 %v %v)"`, rounded(s.at.x), rounded(s.at.y))
	}
	// The length includes the space after the last letter.
	return fmt.Appendf(b, ` textLength="%v" lengthAdjust="spacingAndGlyphs" fill="#%02x%02x%02x">%s</text>`+"\n",
		rounded(s.width+s.track*s.size), s.fill.r, s.fill.g, s.fill.b, html.EscapeString(s.text))
}

// rounded returns a coordinate to a hundredth of a pixel.
func rounded(v float64) float64 { return math.Round(v*100) / 100 }
