package demo

import (
	"math"
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// sizeRange is a range of label sizes, in twentieths of an inch. Scan resolutions are multiples of
// 20 dots per inch, so that sizes in pixels and inches match exactly.
type sizeRange struct{ loW, hiW, loH, hiH int }

var (
	resolutions = []int{100, 120, 140, 160, 200, 200, 240, 300}

	frontSize = sizeRange{54, 86, 60, 100}
	backSize  = sizeRange{50, 80, 60, 100}
	wrapSize  = sizeRange{140, 172, 72, 104} // wraps around a can
	boxSize   = sizeRange{90, 150, 90, 150}
	neckSize  = sizeRange{50, 84, 18, 32}
	stripSize = sizeRange{90, 150, 14, 22}
	otherSize = sizeRange{30, 60, 30, 60}
)

func (s sizeRange) draw(d *rng) (w, h int) { return d.between(s.loW, s.hiW), d.between(s.loH, s.hiH) }

// addImages adds one to five label images and, on one of them, the product's barcode if it has one.
func addImages(d *rng, c *cola.Cola, p *product) {
	positions := imagePositions(d, p)
	coded := codedPosition(positions)
	qr := c.QRCodeURL != ""
	c.Images = make([]cola.Image, 0, len(positions))
	for i, position := range positions {
		img := newImage(d, c.TTBID, i, position, p)
		if position == coded && p.barcode.value != "" && len(c.Barcodes) == 0 && !d.chance(0.05) {
			addBarcode(d, c, &img, p.barcode)
		}
		if qr && position != "neck" && position != "strip" && (position == coded || i == len(positions)-1) {
			img.QRCodeCount, qr = cola.Some(1), false
		}
		c.Images = append(c.Images, img)
	}
}

// imagePositions returns the positions of a label's images, front first, as applicants upload them.
func imagePositions(d *rng, p *product) []cola.Text {
	wrap := p.contents.Kind == "can" || p.contents.Kind == "pouch" || p.contents.Kind == "pod"
	positions := make([]cola.Text, 0, 5)
	if !d.chance(0.025) {
		positions = append(positions, "front")
	}
	if backs := 0.86; len(positions) == 0 || !wrap && d.chance(backs) || wrap && d.chance(0.3) {
		positions = append(positions, "back")
	}
	bottle := p.contents.Kind == "bottle"
	if bottle && d.chance(0.14) {
		positions = append(positions, "neck")
	}
	if bottle && (p.kind == vocabulary.DistilledSpirits && d.chance(0.2) || d.chance(0.05)) {
		positions = append(positions, "strip")
	}
	if d.chance(0.08) || p.contents.Kind == "keg" && d.chance(0.7) {
		positions = append(positions, "other")
	}
	if len(positions) < 5 && d.chance(0.015) {
		positions = append(positions, "other")
	}
	return positions
}

// codedPosition returns the position with the barcode: the back if there is one.
func codedPosition(positions []cola.Text) cola.Text {
	for _, p := range positions {
		if p == "back" {
			return p
		}
	}
	return positions[0]
}

func newImage(d *rng, id cola.TTBID, index int, position cola.Text, p *product) cola.Image {
	w, h := sizeFor(position, p.contents.Kind).draw(d)
	dpi := pick(d, resolutions)
	pixels := w * dpi / 20 * (h * dpi / 20)
	name := id.String() + "-" + strconv.Itoa(index+1)
	return cola.Image{
		TTBImageID:        name,
		ImageIndex:        index,
		ContainerPosition: position,
		ExtensionType:     pick(d, []cola.Text{"jpg", "jpg", "jpg", "jpg", "jpeg", "png", "png", "png"}),
		WidthPixels:       cola.Some(w * dpi / 20),
		HeightPixels:      cola.Some(h * dpi / 20),
		WidthInches:       cola.Some(float64(w) / 20),
		HeightInches:      cola.Some(float64(h) / 20),
		FileSizeMB:        cola.Some(math.Max(0.01, math.Round(float64(pixels)*(0.2+0.5*d.unit())/1e4)/100)),
		BarcodeCount:      cola.Some(0),
		QRCodeCount:       cola.Some(0),
		ImageURL:          cola.Text("/images/" + name),
	}
}

func sizeFor(position, container cola.Text) sizeRange {
	switch position {
	case "neck":
		return neckSize
	case "strip":
		return stripSize
	case "other":
		return otherSize
	}
	switch container {
	case "can":
		if position == "front" {
			return wrapSize
		}
	case "box", "bag":
		return boxSize
	}
	if position == "back" {
		return backSize
	}
	return frontSize
}

// Barcode placements in an image, by the reading direction of the digits.
var (
	acrossPlaces = []cola.Text{"bottom right", "bottom right", "bottom left", "bottom center"}
	uprightSides = []cola.Text{"right", "left"}
)

// addBarcode adds the product's barcode to an image. Modules are about 13 thousandths of an inch
// wide, as in print, or narrower if the image is small.
func addBarcode(d *rng, c *cola.Cola, img *cola.Image, bars code) {
	dpi := float64(img.WidthPixels.V) / img.WidthInches.V
	room := min(img.WidthPixels.V, img.HeightPixels.V) / (bars.modules() + 24) // including quiet zones and a margin
	module := min(max(1, int(dpi*0.013)), room)
	if module < 1 {
		return
	}
	b := cola.Barcode{
		BarcodeType:           bars.symbology,
		BarcodeValue:          bars.value,
		TTBImageID:            cola.Text(img.TTBImageID),
		Orientation:           "horizontal",
		RelativeImagePosition: pick(d, acrossPlaces),
		WidthPixels:           cola.Some(module * bars.modules()),
		HeightPixels:          cola.Some(module * bars.modules() * d.between(40, 65) / 100),
	}
	if d.chance(0.14) {
		b.Orientation, b.RelativeImagePosition = "vertical", pick(d, uprightSides)
		b.WidthPixels, b.HeightPixels = b.HeightPixels, b.WidthPixels // dimensions of the bounding box
	}
	img.BarcodeCount = cola.Some(1)
	c.Barcodes = append(c.Barcodes, b)
}

// code is a barcode: its symbology and its digits, including the check digit.
type code struct {
	symbology cola.Text
	value     string
}

// Symbologies of demo labels, as the registry names them.
const (
	upcA  cola.Text = "UPC-A"
	upcE  cola.Text = "UPC-E"
	ean13 cola.Text = "EAN-13"
	ean8  cola.Text = "EAN-8"
)

// modules returns the width of a symbol in modules, without quiet zones.
func (c code) modules() int {
	switch c.symbology {
	case ean8:
		return 67
	case upcE:
		return 51
	}
	return 95
}

// barcodeFor returns the barcode of a product, if it has one. The company part identifies the
// permittee and the item part the product. Most barcodes on imports start with the producing
// country's GS1 prefix; all other barcodes are UPC numbers.
func barcodeFor(d *rng, p *product, key productKey) code {
	if d.chance(0.16) || p.contents.Kind == "keg" || p.contents.Kind == "cask" {
		return code{}
	}
	company := int(mix(uint64(p.brand.holder)+1) % 89_999)
	item := int(mix(uint64(key.brand)<<20^uint64(key.number)+kindNumber(key.kind)) % 100_000)
	if c := p.brand.country; c == nil || c.GS1[0] < "1" || d.chance(0.3) { // Canada uses UPC numbers too
		if p.contents.Kind == "can" && d.chance(0.07) {
			return upceCode(company, item)
		}
		system := "0678"[company%4 : company%4+1]
		return checked(upcA, system+padded(10_000+company, 5)+padded(item, 5))
	}
	country := pick(d, p.brand.country.GS1)
	if d.chance(0.05) {
		return checked(ean8, country+padded(item%10_000, 4))
	}
	return checked(ean13, country+padded(company, 5)+padded(item%10_000, 4))
}

// checked appends the check digit.
func checked(symbology cola.Text, digits string) code {
	return code{symbology, digits + string(rune(vocabulary.CheckDigit(digits)))}
}

// upceCode returns a UPC-E symbol: number system 0, a manufacturer number of the form XX000 and an
// item number below 1,000. Its check digit is that of the equivalent UPC-A number.
func upceCode(company, item int) code {
	maker, number := padded(company%90+10, 2), padded(item%1000, 3)
	check := vocabulary.CheckDigit("0" + maker + "00000" + number)
	return code{upcE, "0" + maker + number + "0" + string(rune(check))}
}

// padded formats a number with leading zeros.
func padded(n, width int) string {
	s := strconv.Itoa(n)
	for len(s) < width {
		s = "0" + s
	}
	return s
}
