package barcode

import (
	"math"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// itfDigits maps the wide elements of a digit, first element as the highest bit, to the digit.
var itfDigits = map[int]byte{
	0b00110: '0', 0b10001: '1', 0b01001: '2', 0b11000: '3', 0b00101: '4',
	0b10100: '5', 0b01100: '6', 0b00011: '7', 0b10010: '8', 0b01010: '9',
}

// Runs of an ITF-14: four narrow ones, seven pairs of digits, and a wide bar, a narrow space and a
// narrow bar.
const (
	itfStart = 4
	itfRuns  = itfStart + 7*10 + 3
)

// decodeITF14 reads an Interleaved 2 of 5 symbol with 14 digits including a check digit. Other
// lengths are not read: part of a longer symbol can be a valid shorter one.
func decodeITF14(runs []float64, i int) (symbol, bool) {
	if i+itfRuns >= len(runs) {
		return symbol{}, false
	}
	bars := runs[i : i+itfRuns]
	narrow := sum(bars[:itfStart]) / itfStart
	for _, w := range bars[:itfStart] {
		if math.Abs(w-narrow) > 0.5*narrow {
			return symbol{}, false
		}
	}
	if !quiet(runs, i, itfRuns, narrow, 6) {
		return symbol{}, false
	}
	digits := make([]byte, 0, 14)
	widths := itfWidths{narrow: narrow}
	for at := itfStart; at < itfRuns-3; at += 10 {
		for color := range 2 { // bars encode the first digit of a pair, spaces the second
			digit, ok := widths.digit(bars[at+color : at+10])
			if !ok {
				return symbol{}, false
			}
			digits = append(digits, digit)
		}
	}
	stop := bars[itfRuns-3:]
	if stop[0] < 1.5*stop[2] || stop[0] < 1.5*stop[1] || stop[0] > 5*narrow {
		return symbol{}, false
	}
	s := symbol{typ: ITF14, value: string(digits), length: itfRuns, module: narrow, misfit: widths.misfit()}
	return s, vocabulary.CheckDigit(s.value[:13]) == s.value[13] && s.misfit <= 0.25
}

// itfWidths checks that the narrow elements of a symbol have one width, and the wide ones another.
type itfWidths struct {
	narrow float64 // average width of the elements of the start pattern
	thin   fit
	wide   []float64
}

// digit reads every other run of a pair of digits: two of the five are wide.
func (t *itfWidths) digit(runs []float64) (byte, bool) {
	order := [5]int{0, 2, 4, 6, 8}
	for i := 1; i < 5; i++ {
		for j := i; j > 0 && runs[order[j]] > runs[order[j-1]]; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	if runs[order[1]] < 1.5*runs[order[2]] || runs[order[0]] > 1.6*runs[order[1]] {
		return 0, false
	}
	for _, i := range order[2:] {
		t.thin.add(runs[i]/t.narrow - 1)
	}
	t.wide = append(t.wide, runs[order[0]], runs[order[1]])
	pattern := 1<<(4-order[0]/2) | 1<<(4-order[1]/2)
	digit, ok := itfDigits[pattern]
	return digit, ok && t.thin.worst < 0.8
}

func (t *itfWidths) misfit() float64 {
	mean := sum(t.wide) / float64(len(t.wide))
	if mean < 1.8*t.narrow || mean > 3.6*t.narrow {
		return math.Inf(1)
	}
	var f fit
	for _, w := range t.wide {
		f.add((w - mean) / t.narrow)
	}
	return max(t.thin.misfit(), f.misfit())
}
