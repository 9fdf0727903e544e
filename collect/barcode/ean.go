package barcode

import (
	"math"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// digitWidths lists the run widths, in modules, of the digits 0 to 9 in set A (space first) and in
// set C (bar first). Set B is set A reversed.
var digitWidths = [10][4]int{
	{3, 2, 1, 1}, {2, 2, 2, 1}, {2, 1, 2, 2}, {1, 4, 1, 1}, {1, 1, 3, 2},
	{1, 2, 3, 1}, {1, 1, 1, 4}, {1, 3, 1, 2}, {1, 2, 1, 3}, {3, 1, 1, 2},
}

// firstDigits maps the sets of the six encoded digits on the left, with 1 for B, to the implied
// first digit of an EAN-13.
var firstDigits = map[int]byte{
	0b000000: '0', 0b001011: '1', 0b001101: '2', 0b001110: '3', 0b010011: '4',
	0b011001: '5', 0b011100: '6', 0b010101: '7', 0b010110: '8', 0b011010: '9',
}

// upceChecks maps the sets of the six digits, with 1 for B, to the check digit of a UPC-E in number
// system 0. Number system 1 swaps the sets.
var upceChecks = map[int]byte{
	0b111000: '0', 0b110100: '1', 0b110010: '2', 0b110001: '3', 0b101100: '4',
	0b100110: '5', 0b100011: '6', 0b101010: '7', 0b101001: '8', 0b100101: '9',
}

// layout describes a symbology with digits of four runs and seven modules each.
type layout struct {
	runs, modules int
	digits        []int // runs where digits start
	guards        []int // runs of one module
	misfit        float64
	quiet         float64
}

// EAN-8 and UPC-E are short, so text and ornaments resemble them more often. Their limits are
// therefore stricter.
var (
	ean13Layout = newLayout(6, 5, 6, 3, 0.34, quietZone)
	ean8Layout  = newLayout(4, 5, 4, 3, 0.24, 6)
	upceLayout  = newLayout(6, 6, 0, 0, 0.22, 6)
)

func newLayout(left, middle, right, end int, misfit, quiet float64) *layout {
	l := &layout{misfit: misfit, quiet: quiet}
	guard := func(n int) {
		for range n {
			l.guards = append(l.guards, l.runs)
			l.runs++
			l.modules++
		}
	}
	digits := func(n int) {
		for range n {
			l.digits = append(l.digits, l.runs)
			l.runs += 4
			l.modules += 7
		}
	}
	guard(3)
	digits(left)
	guard(middle)
	digits(right)
	guard(end)
	return l
}

// decodeEAN13 reads an EAN-13 or a UPC-A. The sets of the left digits encode the first digit.
// Together with the check digit, they also exclude most false positives.
func decodeEAN13(runs []float64, i int) (symbol, bool) {
	digits, sets, s, ok := ean13Layout.decode(runs, i)
	if !ok || sets&0b111111 != 0 {
		return s, false
	}
	first, ok := firstDigits[sets>>6]
	if !ok {
		return s, false
	}
	s.typ, s.value = EAN13, string(first)+digits
	if vocabulary.CheckDigit(s.value[:12]) != s.value[12] {
		return s, false
	}
	if first == '0' {
		s.typ, s.value = UPCA, digits
	}
	return s, true
}

func decodeEAN8(runs []float64, i int) (symbol, bool) {
	digits, sets, s, ok := ean8Layout.decode(runs, i)
	s.typ, s.value = EAN8, digits
	return s, ok && sets == 0 && vocabulary.CheckDigit(digits[:7]) == digits[7]
}

// decodeUPCE reads a UPC-E. The sets of its digits encode the check digit and the number system.
func decodeUPCE(runs []float64, i int) (symbol, bool) {
	digits, sets, s, ok := upceLayout.decode(runs, i)
	if !ok {
		return s, false
	}
	system := "0"
	check, ok := upceChecks[sets]
	if !ok {
		system = "1"
		check, ok = upceChecks[sets^0b111111]
	}
	s.typ, s.value = UPCE, system+digits+string(check)
	// A valid UPC-E has two GTINs: its own, and that of the UPC-A it abbreviates.
	return s, ok && len(vocabulary.GTINs(s.value)) == 2
}

// decode returns the digits of a symbol that starts with run i, and the sets of the digits as bits:
// 1 for B, 0 for A on the left and C on the right. The cheap checks come first, because very few
// runs in an image start a symbol.
func (l *layout) decode(runs []float64, i int) (digits string, sets int, s symbol, ok bool) {
	if i+l.runs >= len(runs) {
		return "", 0, s, false
	}
	bars := runs[i : i+l.runs]
	module := sum(bars) / float64(l.modules)
	if math.Abs(bars[0]+bars[1]-2*module) > module || math.Abs(bars[1]+bars[2]-2*module) > module ||
		!quiet(runs, i, l.runs, module, l.quiet) {
		return "", 0, s, false
	}
	var f fit
	g := growth(bars, module, l.guards...)
	for _, at := range l.guards {
		f.add(even(bars, at, g)/module - 1)
	}
	if f.worst > 0.75 {
		return "", 0, s, false
	}
	read := make([]byte, 0, len(l.digits))
	previous := 0.0
	for _, at := range l.digits {
		digit, set, ok := readDigit(bars, at, module, g, &f)
		width := sum(bars[at : at+4])
		if !ok || previous > 0 && math.Abs(width-previous) > maxChange*7*module {
			return "", 0, s, false
		}
		previous = width
		read, sets = append(read, digit), sets<<1|set
	}
	s = symbol{length: l.runs, module: module, misfit: f.misfit()}
	return string(read), sets, s, s.misfit <= l.misfit
}

// maxDistortion is how much wider or narrower than average a digit may be; maxChange limits the
// difference from the digit before it. Curved surfaces and perspective distort a symbol, but
// gradually. If the edge between two digits is a module off, one digit is 8 modules wide and the
// other 6.
const (
	maxDistortion = 0.22
	maxChange     = 0.2
)

// readDigit returns the digit whose pattern is closest to four runs. Widths are relative to the
// digit's total width, so that a gradual change of scale along the symbol does not matter. Even
// a digit that is clearly closest is rejected if an edge is off by nearly a module, because then a
// bar is missing or damaged.
func readDigit(bars []float64, at int, module, g float64, f *fit) (digit byte, set int, ok bool) {
	width := sum(bars[at : at+4])
	if math.Abs(width-7*module) > maxDistortion*7*module {
		return 0, 0, false
	}
	var w [4]float64
	for k := range w {
		w[k] = even(bars, at+k, g) * 7 / width
	}
	best, distance := 0, math.Inf(1)
	for d, pattern := range &digitWidths {
		a, b := 0.0, 0.0
		for k, v := range w {
			da, db := v-float64(pattern[k]), v-float64(pattern[3-k])
			a, b = a+da*da, b+db*db
		}
		if a < distance {
			best, set, distance = d, 0, a
		}
		// Set B occurs on the left only, where digits start with a space.
		if at%2 == 1 && b < distance {
			best, set, distance = d, 1, b
		}
	}
	for k, v := range w {
		if set == 0 {
			f.add(v - float64(digitWidths[best][k]))
		} else {
			f.add(v - float64(digitWidths[best][3-k]))
		}
	}
	return byte('0' + best), set, f.worst <= 0.85
}
