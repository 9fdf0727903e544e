package cola

import "fmt"

// GTIN is a global trade item number as a number: its digits, read as the 14-digit form with leading zeros. Labels in the
// wild carry wrong check digits, so a GTIN is not known to be valid; two values are the same item when their digits are.
type GTIN uint64

// Lengths of a barcode value, in digits.
const (
	minBarcodeDigits = 8
	maxBarcodeDigits = 14
)

// String returns the 14 digits.
func (g GTIN) String() string { return fmt.Sprintf("%014d", uint64(g)) }

// barcodeDigits copies the digits of s to d. It fails when s holds anything but digits, spaces and hyphens, or when there
// are not 8 to 14 digits. (UPC-E written without its number system or check digit has 6 or 7: it cannot be told from any
// other short number, so it is not taken for a barcode.)
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

// BarcodeShaped reports whether s could be the digits of a barcode: 8 to 14 of them, with any spaces or hyphens between and
// around.
func BarcodeShaped(s string) bool {
	var d [maxBarcodeDigits]byte
	_, ok := barcodeDigits(s, &d)
	return ok
}

// GTINs returns the numbers that a barcode value may stand for, or nil when the value is not BarcodeShaped. The first is
// always the digits themselves. Eight digits may also be a UPC-E symbol, whose zeros are left out: when its number system
// and check digit allow it, the UPC-A number it abbreviates comes second. The check digit is asked for here, and only here,
// because otherwise most EAN-8 values would stand for an unrelated second item.
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

// SameBarcode reports whether two barcode values mean the same item: they have a number in common or, for values that are
// not numbers, are equal as they stand.
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

// CheckDigit returns the GS1 check digit, '0' to '9', that belongs after the digits, or 0 when they are not all digits. The
// weights are counted from the right, so it serves every length of GTIN.
func CheckDigit(digits string) byte {
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0
		}
	}
	return checkDigit([]byte(digits))
}

// ValidGTIN reports whether s is a GTIN-8, UPC-E, UPC-A, EAN-13 or GTIN-14, spaces and hyphens aside, whose check digit is
// right.
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

// checkDigit is CheckDigit of what is known to be digits.
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

// expandUPCE returns the UPC-A number that a UPC-E symbol abbreviates. The last of the six middle digits says where the
// zeros were. It fails when the number system is neither 0 nor 1, or the check digit is not that of the UPC-A number.
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

// number reads at most 14 digits.
func number(d []byte) (g GTIN) {
	for _, c := range d {
		g = g*10 + GTIN(c-'0')
	}
	return g
}
