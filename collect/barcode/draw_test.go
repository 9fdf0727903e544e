package barcode

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/oned"
	"github.com/makiuchi-d/gozxing/qrcode"
)

// drawn is a code that tests draw with the writers of another library.
type drawn struct {
	typ    Type
	value  string
	format gozxing.BarcodeFormat
	writer gozxing.Writer
}

var samples = []drawn{
	{EAN13, "4006381333931", gozxing.BarcodeFormat_EAN_13, oned.NewEAN13Writer()},
	{UPCA, "036000291452", gozxing.BarcodeFormat_UPC_A, oned.NewUPCAWriter()},
	{UPCE, "04252614", gozxing.BarcodeFormat_UPC_E, oned.NewUPCEWriter()},
	{EAN8, "96385074", gozxing.BarcodeFormat_EAN_8, oned.NewEAN8Writer()},
	{ITF14, "10614141000415", gozxing.BarcodeFormat_ITF, oned.NewITFWriter()},
	{Code128, "Lot 2024-07/A", gozxing.BarcodeFormat_CODE_128, oned.NewCode128Writer()},
	{QR, "https://example.com/wine?y=2024", gozxing.BarcodeFormat_QR_CODE, qrcode.NewQRCodeWriter()},
}

// fatal is the part of testing.TB that drawing needs.
type fatal interface {
	Helper()
	Fatal(args ...any)
}

// draw draws a code on a light background with a wide margin.
func (d drawn) draw(t fatal, module int) *image.Gray {
	t.Helper()
	hints := map[gozxing.EncodeHintType]any{gozxing.EncodeHintType_MARGIN: 0}
	bits, err := d.writer.Encode(d.value, d.format, 0, 0, hints)
	if err != nil {
		t.Fatal(err)
	}
	w, h := bits.GetWidth(), bits.GetHeight()
	rows := h
	if d.typ != QR {
		rows = w * 2 / 5
	}
	margin := 20 * module
	img := image.NewGray(image.Rect(0, 0, w*module+2*margin, rows*module+2*margin))
	for i := range img.Pix {
		img.Pix[i] = 240
	}
	for y := range rows * module {
		for x := range w * module {
			if bits.Get(x/module, min(y/module, h-1)) {
				img.SetGray(margin+x, margin+y, color.Gray{20})
			}
		}
	}
	return img
}

// planeOf returns the unscaled plane of an image.
func planeOf(img *image.Gray) *plane {
	return &plane{pix: img.Pix, w: img.Rect.Dx(), h: img.Rect.Dy(), scale: 1}
}

// rotated returns an image rotated clockwise and scaled.
func rotated(img *image.Gray, degrees, scale float64) *image.Gray {
	p := planeOf(img)
	c, s := math.Cos(degrees*math.Pi/180), math.Sin(degrees*math.Pi/180)
	w, h := float64(p.w), float64(p.h)
	out := image.NewGray(image.Rect(0, 0,
		int(scale*(math.Abs(w*c)+math.Abs(h*s))), int(scale*(math.Abs(w*s)+math.Abs(h*c)))))
	middle := vec{float64(out.Rect.Dx()) / 2, float64(out.Rect.Dy()) / 2}
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			d := vec{float64(x) + 0.5, float64(y) + 0.5}.sub(middle).times(1 / scale)
			at := vec{c*d.x + s*d.y + w/2, -s*d.x + c*d.y + h/2}
			value := uint8(240)
			if at.x >= 0 && at.y >= 0 && at.x < w && at.y < h {
				value = p.at(at)
			}
			out.Pix[y*out.Stride+x] = value
		}
	}
	return out
}

// changed returns an image of the same size with pixel values computed from their positions.
func changed(img *image.Gray, value func(x, y int) float64) *image.Gray {
	out := image.NewGray(img.Rect)
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			out.Pix[y*out.Stride+x] = uint8(min(max(value(x, y), 0), 255))
		}
	}
	return out
}

func noisy(img *image.Gray, rng *rand.Rand, amount float64) *image.Gray {
	return changed(img, func(x, y int) float64 { return float64(img.GrayAt(x, y).Y) + amount*rng.NormFloat64() })
}

// blurred averages squares with a side of 2r+1 pixels.
func blurred(img *image.Gray, r int) *image.Gray {
	return changed(img, func(x, y int) float64 {
		sum := 0.0
		for dy := -r; dy <= r; dy++ {
			for dx := -r; dx <= r; dx++ {
				at := image.Pt(min(max(x+dx, 0), img.Rect.Max.X-1), min(max(y+dy, 0), img.Rect.Max.Y-1))
				sum += float64(img.GrayAt(at.X, at.Y).Y)
			}
		}
		return sum / float64((2*r+1)*(2*r+1))
	})
}

func inverted(img *image.Gray) *image.Gray {
	return changed(img, func(x, y int) float64 { return 255 - float64(img.GrayAt(x, y).Y) })
}

// covered draws a light box over part of an image, given as fractions of its size.
func covered(img *image.Gray, x0, y0, x1, y1 float64) *image.Gray {
	w, h := float64(img.Rect.Dx()), float64(img.Rect.Dy())
	return changed(img, func(x, y int) float64 {
		if u, v := float64(x)/w, float64(y)/h; u >= x0 && u < x1 && v >= y0 && v < y1 {
			return 240
		}
		return float64(img.GrayAt(x, y).Y)
	})
}

// curved returns an image as if wrapped around a cylinder, with about 30% of the circumference
// visible.
func curved(img *image.Gray) *image.Gray {
	p := planeOf(img)
	half := float64(p.w) / 2
	return changed(img, func(x, y int) float64 {
		angle := math.Asin((float64(x) + 0.5 - half) / half * math.Sin(math.Pi/3.4))
		return float64(p.at(vec{half + angle/(math.Pi/3.4)*half, float64(y) + 0.5}))
	})
}
