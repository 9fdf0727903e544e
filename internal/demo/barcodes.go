package demo

import (
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// code is a barcode: its symbology and its digits, check digit included.
type code struct {
	symbology cola.Text
	value     string
}

// The symbologies that demonstration labels carry, as the registry names them.
const (
	upcA  cola.Text = "UPC-A"
	upcE  cola.Text = "UPC-E"
	ean13 cola.Text = "EAN-13"
	ean8  cola.Text = "EAN-8"
)

// modules returns the width of a symbol in its narrowest bars, without the quiet zones on its sides.
func (c code) modules() int {
	switch c.symbology {
	case ean8:
		return 67
	case upcE:
		return 51
	}
	return 95
}

// barcodeFor returns the barcode of a product, or none. The company part is the permittee's at home and the producing
// country's abroad; the item part is the product's.
func barcodeFor(d *dice, p *product, key productKey) code {
	if d.chance(0.16) || p.contents.Kind == "keg" || p.contents.Kind == "cask" {
		return code{}
	}
	company := int(mix(uint64(p.brand.holder)+1) % 89_999)
	item := int(mix(uint64(key.brand)<<20^uint64(key.number)+kindNumber(key.kind)) % 100_000)
	if c := p.brand.country; c == nil || c.GS1[0] < "1" || d.chance(0.3) { // Canada has UPC numbers too
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

// upceCode returns a UPC-E symbol: number system 0, a manufacturer of the form XX000 and an item below 1,000. Its check
// digit is that of the UPC-A number it stands for.
func upceCode(company, item int) code {
	maker, number := padded(company%90+10, 2), padded(item%1000, 3)
	check := vocabulary.CheckDigit("0" + maker + "00000" + number)
	return code{upcE, "0" + maker + number + "0" + string(rune(check))}
}

// padded writes a number with leading zeros.
func padded(n, width int) string {
	s := strconv.Itoa(n)
	for len(s) < width {
		s = "0" + s
	}
	return s
}
