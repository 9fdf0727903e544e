package ttbsite

import (
	"bytes"
	"fmt"
	"image"
	"image/color/palette"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/labelart"
)

// Content returns the bytes of an image. A generated image with a barcode shows a drawn label. The
// others are color patterns, different for each image, because patterns are much faster to draw.
func (i LabelImage) Content(l *Label) ([]byte, error) {
	switch {
	case i.file != "":
		return os.ReadFile(i.file)
	case i.Barcode != "":
		return i.draw(l)
	}
	random := rand.New(rand.NewPCG(uint64(l.ID), uint64(i.Width)))
	m := image.NewPaletted(image.Rect(0, 0, i.Width, i.Height), palette.WebSafe)
	for y := range i.Height {
		row := m.Pix[y*m.Stride:][:i.Width]
		if y%20 > 0 {
			copy(row, m.Pix[(y-1)*m.Stride:])
			continue
		}
		for x := range row {
			if row[x] = row[max(x-1, 0)]; x%20 == 0 {
				row[x] = uint8(random.IntN(len(palette.WebSafe)))
			}
		}
	}
	var b bytes.Buffer
	if i.isPNG() {
		err := png.Encode(&b, m)
		return b.Bytes(), err
	}
	err := jpeg.Encode(&b, m, nil)
	return b.Bytes(), err
}

func (i LabelImage) isPNG() bool { return strings.EqualFold(path.Ext(i.FileName), ".png") }

// draw returns an image of a label with its barcode, as a PNG.
func (i LabelImage) draw(l *Label) ([]byte, error) {
	record := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: l.ID, BrandName: l.Brand, ProductName: cola.Text(l.Fanciful), ProductType: l.Class.ProductType,
		ClassName: cola.Text(l.Class.Name), OriginName: cola.Text(l.Origin.Name), PermitNumber: l.Permit,
	}}
	drawn := cola.Image{
		TTBImageID: i.FileName, ContainerPosition: "back", WidthPixels: cola.Some(i.Width), HeightPixels: cola.Some(i.Height),
	}
	record.Barcodes = []cola.Barcode{{BarcodeType: "EAN-13", BarcodeValue: i.Barcode, TTBImageID: cola.Text(i.FileName)}}
	var b bytes.Buffer
	err := labelart.Draw(&b, labelart.PNG, &record, &drawn)
	return b.Bytes(), err
}

// ean13 returns the nth generated EAN-13.
func ean13(n int) string {
	digits := fmt.Sprintf("400638%06d", n%1_000_000)
	return digits + string(vocabulary.CheckDigit(digits))
}
