package barcode

import (
	"image"
	"image/color"
	"math"
)

// Limits on the pixels of an image and of its plane.
const (
	maxPixels      = 1 << 30
	maxPlanePixels = 8 << 20
	minSide        = 16
)

// plane is a grayscale image, scaled down by a whole number. Label images have up to 600 dots per
// inch, and a fifth of that suffices to read a code, so scaling down loses no codes.
type plane struct {
	pix   []uint8 // 0 is black
	w, h  int
	scale int
}

// vec is a point or a direction in a plane. The center of the first pixel is (0.5, 0.5).
type vec struct{ x, y float64 }

func (a vec) add(b vec) vec           { return vec{a.x + b.x, a.y + b.y} }
func (a vec) sub(b vec) vec           { return vec{a.x - b.x, a.y - b.y} }
func (a vec) times(f float64) vec     { return vec{a.x * f, a.y * f} }
func (a vec) dot(b vec) float64       { return a.x*b.x + a.y*b.y }
func (a vec) length() float64         { return math.Hypot(a.x, a.y) }
func (a vec) unit() vec               { return a.times(1 / a.length()) }
func (a vec) normal() vec             { return vec{-a.y, a.x} }
func (a vec) distance(b vec) float64  { return a.sub(b).length() }
func (a vec) middle(b vec) (half vec) { return a.add(b).times(0.5) }

// newPlane returns the plane of an image, or nil if the image is too large or too small.
func newPlane(img image.Image) *plane {
	b := img.Bounds()
	if b.Dx() < minSide || b.Dy() < minSide || b.Dx() > maxPixels/b.Dy() {
		return nil
	}
	k := 1
	for (b.Dx()/k)*(b.Dy()/k) > maxPlanePixels {
		k++
	}
	p := &plane{w: b.Dx() / k, h: b.Dy() / k, scale: k}
	if p.w < minSide || p.h < minSide {
		return nil
	}
	p.pix = make([]uint8, p.w*p.h)
	row := grayRows(img)
	line, sums := make([]uint8, b.Dx()), make([]uint32, p.w)
	for y := range p.h {
		if k == 1 {
			row(b.Min.Y+y, p.pix[y*p.w:(y+1)*p.w])
			continue
		}
		clear(sums)
		for i := range k {
			row(b.Min.Y+y*k+i, line)
			for x := range sums {
				for _, v := range line[x*k : (x+1)*k] {
					sums[x] += uint32(v)
				}
			}
		}
		for x, sum := range sums {
			p.pix[y*p.w+x] = uint8(sum / uint32(k*k))
		}
	}
	return p
}

// grayRows returns a function that writes a row of an image in gray. Transparent pixels are white,
// as on paper.
func grayRows(img image.Image) func(y int, to []uint8) {
	b := img.Bounds()
	switch m := img.(type) {
	case *image.Gray:
		return func(y int, to []uint8) { copy(to, m.Pix[m.PixOffset(b.Min.X, y):]) }
	case *image.YCbCr:
		return func(y int, to []uint8) { copy(to, m.Y[m.YOffset(b.Min.X, y):]) }
	case *image.RGBA:
		return func(y int, to []uint8) {
			pix := m.Pix[m.PixOffset(b.Min.X, y):]
			for x := range to {
				c := pix[4*x : 4*x+4 : 4*x+4]
				to[x] = luminance(c[0], c[1], c[2]) + (255 - c[3])
			}
		}
	case *image.NRGBA:
		return func(y int, to []uint8) {
			pix := m.Pix[m.PixOffset(b.Min.X, y):]
			for x := range to {
				c := pix[4*x : 4*x+4 : 4*x+4]
				to[x] = onWhite(luminance(c[0], c[1], c[2]), c[3])
			}
		}
	case *image.CMYK:
		return func(y int, to []uint8) {
			pix := m.Pix[m.PixOffset(b.Min.X, y):]
			for x := range to {
				r, g, b := color.CMYKToRGB(pix[4*x], pix[4*x+1], pix[4*x+2], pix[4*x+3])
				to[x] = luminance(r, g, b)
			}
		}
	case *image.Paletted:
		var grays [256]uint8
		for i, c := range m.Palette {
			grays[i] = gray(c)
		}
		return func(y int, to []uint8) {
			for x, i := range m.Pix[m.PixOffset(b.Min.X, y):][:len(to)] {
				to[x] = grays[i]
			}
		}
	}
	return func(y int, to []uint8) {
		for x := range to {
			to[x] = gray(img.At(b.Min.X+x, y))
		}
	}
}

func gray(c color.Color) uint8 {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	return onWhite(luminance(n.R, n.G, n.B), n.A)
}

func luminance(r, g, b uint8) uint8 {
	return uint8((299*uint32(r) + 587*uint32(g) + 114*uint32(b) + 500) / 1000)
}

func onWhite(v, alpha uint8) uint8 {
	return uint8((uint32(v)*uint32(alpha) + 255*uint32(255-alpha)) / 255)
}

func (p *plane) contains(v vec) bool {
	return v.x >= 0 && v.y >= 0 && v.x < float64(p.w) && v.y < float64(p.h)
}

// at returns the value at a point between pixels, by linear interpolation.
func (p *plane) at(v vec) uint8 {
	x, y := v.x-0.5, v.y-0.5
	x = min(max(x, 0), float64(p.w-1)-1e-6)
	y = min(max(y, 0), float64(p.h-1)-1e-6)
	ix, iy := int(x), int(y)
	fx, fy := int32((x-float64(ix))*256), int32((y-float64(iy))*256)
	i := iy*p.w + ix
	a, b, c, d := int32(p.pix[i]), int32(p.pix[i+1]), int32(p.pix[i+p.w]), int32(p.pix[i+p.w+1])
	return uint8(((a*(256-fx)+b*fx)*(256-fy) + (c*(256-fx)+d*fx)*fy) >> 16)
}

// sharpAt returns the value at a point between pixels, by cubic interpolation. It restores narrow
// bars, which linear interpolation blurs.
func (p *plane) sharpAt(v vec) float64 {
	x, y := v.x-0.5, v.y-0.5
	ix, iy := int(math.Floor(x)), int(math.Floor(y))
	wx, wy := cubic(x-float64(ix)), cubic(y-float64(iy))
	sum := 0.0
	for j := range 4 {
		at := min(max(iy+j-1, 0), p.h-1) * p.w
		row := 0.0
		for i := range 4 {
			row += wx[i] * float64(p.pix[at+min(max(ix+i-1, 0), p.w-1)])
		}
		sum += wy[j] * row
	}
	return sum
}

// cubic returns the Catmull-Rom weights of the four pixels around a fraction.
func cubic(f float64) [4]float64 {
	f2, f3 := f*f, f*f*f
	return [4]float64{(-f3 + 2*f2 - f) / 2, (3*f3 - 5*f2 + 2) / 2, (-3*f3 + 4*f2 + f) / 2, (f3 - f2) / 2}
}
