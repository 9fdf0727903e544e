package labelart

import (
	"fmt"
	"html"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"strconv"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/vector"
)

// jpegQuality is high enough for legible small print and barcodes.
const jpegQuality = 90

// writeRaster writes the drawing as JPEG or PNG.
func (d *drawing) writeRaster(w io.Writer, f Format) (err error) {
	if f == JPEG {
		err = jpeg.Encode(w, d.raster(), &jpeg.Options{Quality: jpegQuality})
	} else {
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, d.raster())
	}
	if err != nil {
		return fmt.Errorf("write label image: %w", err)
	}
	return nil
}

// raster draws the shapes with anti-aliasing.
func (d *drawing) raster() *image.RGBA {
	c := &canvas{image: image.NewRGBA(image.Rect(0, 0, d.w, d.h))}
	for i := range d.shapes {
		s := &d.shapes[i]
		if s.text != "" {
			c.text(s)
		} else {
			c.fill(s.path, s.fill)
		}
	}
	return c.image
}

// canvas fills outlines and reuses its buffers.
type canvas struct {
	image  *image.RGBA
	vector vector.Rasterizer
	mask   image.Alpha
	glyphs sfnt.Buffer
}

// fill fills an outline. Its cost depends on the outline's bounding box, not on the size of the
// image.
func (c *canvas) fill(o outline, k ink) {
	area := o.area().Intersect(c.image.Bounds())
	if area.Empty() {
		return
	}
	w, h := area.Dx(), area.Dy()
	c.vector.Reset(w, h)
	x, y := float64(area.Min.X), float64(area.Min.Y)
	at := func(p point) (float32, float32) { return float32(p.x - x), float32(p.y - y) }
	for i := range o {
		s := &o[i]
		switch s.command {
		case moveTo:
			c.vector.MoveTo(at(s.p[0]))
		case lineTo:
			c.vector.LineTo(at(s.p[0]))
		case cubeTo:
			ax, ay := at(s.p[0])
			bx, by := at(s.p[1])
			cx, cy := at(s.p[2])
			c.vector.CubeTo(ax, ay, bx, by, cx, cy)
		case closePath:
			c.vector.ClosePath()
		}
	}
	if cap(c.mask.Pix) < w*h {
		c.mask.Pix = make([]uint8, w*h)
	}
	c.mask.Pix, c.mask.Stride, c.mask.Rect = c.mask.Pix[:w*h], w, image.Rect(0, 0, w, h)
	c.vector.DrawOp = draw.Src
	c.vector.Draw(&c.mask, c.mask.Rect, image.Opaque, image.Point{})
	draw.DrawMask(c.image, area, image.NewUniform(k.rgba()), image.Point{}, &c.mask, image.Point{}, draw.Over)
}

// text fills the glyphs of a line in sequence.
func (c *canvas) text(s *shape) {
	t := typefaces()[s.face]
	x := 0.0
	for _, r := range s.text {
		glyph := t.glyph(&c.glyphs, r, s.size, point{})
		for i := range glyph {
			for j := range glyph[i].p {
				p := &glyph[i].p[j]
				p.x += x
				if s.turned {
					p.x, p.y = p.y, -p.x
				}
				p.x += s.at.x
				p.y += s.at.y
			}
		}
		c.fill(glyph, s.fill)
		x += (s.face.measure(string(r), 0) + s.track) * s.size
	}
}

// area returns the pixels that an outline may cover. Curves stay within their control points.
func (o outline) area() image.Rectangle {
	minX, minY, maxX, maxY := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for i := range o {
		for _, p := range o[i].points() {
			minX, maxX = math.Min(minX, p.x), math.Max(maxX, p.x)
			minY, maxY = math.Min(minY, p.y), math.Max(maxY, p.y)
		}
	}
	if !(minX <= maxX && maxX-minX < 4*MaxSide && maxY-minY < 4*MaxSide) { // empty, too large or NaN
		return image.Rectangle{}
	}
	return image.Rect(int(math.Floor(minX)), int(math.Floor(minY)), int(math.Ceil(maxX)), int(math.Ceil(maxY)))
}

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
	b = fmt.Appendf(b, `<text x="%v" y="%v" %s font-size="%v"`,
		rounded(s.at.x), rounded(s.at.y), svgFamilies[s.face], rounded(s.size))
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

// rounded rounds a coordinate to a hundredth of a pixel.
func rounded(v float64) float64 { return math.Round(v*100) / 100 }
