package vocabulary

import "fmt"

// GTIN is the numeric value of a global trade item number. Two values identify the same item if
// their GTINs are equal. The check digit may be wrong, as on some real labels.
type GTIN uint64

const (
	minBarcodeDigits = 8
	maxBarcodeDigits = 14
)

// String returns the 14 digits.
func (g GTIN) String() string { return fmt.Sprintf("%014d", uint64(g)) }

// barcodeDigits copies the digits of s to d. ok is false unless s has 8 to 14 digits and otherwise
// only spaces and hyphens. UPC-E without its number system or check digit has 6 or 7 digits and is
// rejected, because it looks like any other short number.
func barcodeDigits(s string, d *[maxBarcodeDigits]byte) (n int, ok bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ' || c == '-':
		case c < '0' || c > '9' || n == maxBarcodeDigits:
			return 0, false
		default:
			d[n] = c
			n++
		}
	}
	return n, n >= minBarcodeDigits
}

// BarcodeShaped reports whether s has 8 to 14 digits and otherwise only spaces and hyphens.
func BarcodeShaped(s string) bool {
	var d [maxBarcodeDigits]byte
	_, ok := barcodeDigits(s, &d)
	return ok
}

// GTINs returns the numbers that a barcode value may stand for, or nil if it is not BarcodeShaped.
// The first is the value itself. Eight digits that form a UPC-E symbol with a correct check digit
// also stand for the UPC-A number that it abbreviates. If the check digit were ignored, most EAN-8
// values would also match an unrelated item.
func GTINs(value string) []GTIN {
	var d [maxBarcodeDigits]byte
	n, ok := barcodeDigits(value, &d)
	if !ok {
		return nil
	}
	numbers := []GTIN{number(d[:n])}
	if n == 8 {
		if a, ok := expandUPCE([8]byte(d[:8])); ok && number(a[:]) != numbers[0] {
			numbers = append(numbers, number(a[:]))
		}
	}
	return numbers
}

// SameBarcode reports whether two barcode values identify the same item: they share a GTIN or are
// equal as text.
func SameBarcode(a, b string) bool {
	if a == b {
		return true
	}
	bs := GTINs(b)
	for _, x := range GTINs(a) {
		for _, y := range bs {
			if x == y {
				return true
			}
		}
	}
	return false
}

// CheckDigit returns the GS1 check digit, '0' to '9', for the digits before it, or 0 if they are
// not all digits. It works for GTINs of any length.
func CheckDigit(digits string) byte {
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0
		}
	}
	return checkDigit([]byte(digits))
}

// ValidGTIN reports whether s is a GTIN-8, UPC-E, UPC-A, EAN-13 or GTIN-14 with a correct check
// digit. It ignores spaces and hyphens.
func ValidGTIN(s string) bool {
	var d [maxBarcodeDigits]byte
	n, ok := barcodeDigits(s, &d)
	if !ok || n == 9 || n == 10 || n == 11 {
		return false
	}
	if checkDigit(d[:n-1]) == d[n-1] {
		return true
	}
	if n != 8 {
		return false
	}
	_, ok = expandUPCE([8]byte(d[:8]))
	return ok
}

// checkDigit is CheckDigit without validation; d must contain only ASCII digits.
func checkDigit(d []byte) byte {
	sum := 0
	for i, c := range d {
		v := int(c - '0')
		if (len(d)-i)%2 == 1 {
			v *= 3
		}
		sum += v
	}
	return byte('0' + (10-sum%10)%10)
}

// expandUPCE returns the UPC-A number that a UPC-E symbol abbreviates. The last of the six middle
// digits encodes the position of the zeros. ok is false if the number system is neither 0 nor 1, or
// the check digit is wrong for the UPC-A number.
func expandUPCE(e [8]byte) (a [12]byte, ok bool) {
	if e[0] > '1' {
		return a, false
	}
	for i := range a {
		a[i] = '0'
	}
	a[0], a[11] = e[0], e[7]
	switch last := e[6]; last {
	case '0', '1', '2':
		copy(a[1:3], e[1:3])
		a[3] = last
		copy(a[8:11], e[3:6])
	case '3':
		copy(a[1:4], e[1:4])
		copy(a[9:11], e[4:6])
	case '4':
		copy(a[1:5], e[1:5])
		a[10] = e[5]
	default:
		copy(a[1:6], e[1:6])
		a[10] = last
	}
	return a, checkDigit(a[:11]) == a[11]
}

// number converts at most 14 digits.
func number(d []byte) (g GTIN) {
	for _, c := range d {
		g = g*10 + GTIN(c-'0')
	}
	return g
}

// BarcodeType guesses the symbology from the number of digits, or returns "". Eight digits are
// EAN-8 unless only UPC-E's check digit is correct.
func BarcodeType(value string) string {
	var d [maxBarcodeDigits]byte
	n, ok := barcodeDigits(value, &d)
	if !ok {
		return ""
	}
	switch n {
	case 8:
		if _, upce := expandUPCE([8]byte(d[:8])); upce && checkDigit(d[:7]) != d[7] {
			return "UPC-E"
		}
		return "EAN-8"
	case 12:
		return "UPC-A"
	case 13:
		return "EAN-13"
	case 14:
		return "ITF-14"
	}
	return ""
}
