package barcode

import (
	"math"
	"strings"
)

// code128Widths lists the widths of the six runs, bar first, for each value from 0 to 105.
var code128Widths = strings.Fields(`
212222 222122 222221 121223 121322 131222 122213 122312 132212 221213
221312 231212 112232 122132 122231 113222 123122 123221 223211 221132
221231 213212 223112 312131 311222 321122 321221 312212 322112 322211
212123 212321 232121 111323 131123 131321 112313 132113 132311 211313
231113 231311 112133 112331 132131 113123 113321 133121 313121 211331
231131 213113 213311 213131 311123 311321 331121 312113 312311 332111
314111 221411 431111 111224 111422 121124 121421 141122 141221 112214
112412 122114 122411 142112 142211 241211 221114 413111 241112 134111
111242 121142 121241 114212 124112 124211 411212 421112 421211 212141
214121 412121 111143 111341 131141 114113 114311 411113 411311 113141
114131 311141 411131 211412 211214 211232`)

// Special values. Their meaning depends on the code set.
const (
	code128Shift  = 98
	code128C      = 99
	code128B      = 100
	code128A      = 101
	code128FNC1   = 102
	code128StartA = 103
	code128StartC = 105
)

// Limits on the length of a symbol, in values including start and check.
const (
	code128MinValues = 6
	code128MaxValues = 60
)

// decodeCode128 reads a Code 128 or GS1-128 symbol that encodes only printable characters. It
// ignores FNC1, the only function character that labels use. Very short symbols are not read: with
// few values, too many false positives pass the check. The number of values is bounded, because
// damage could hide the stop pattern.
func decodeCode128(runs []float64, i int) (symbol, bool) {
	if i+6*code128MinValues+7 >= len(runs) {
		return symbol{}, false
	}
	module := sum(runs[i:i+6]) / 11
	if runs[i-1] < 6*module && i > 1 {
		return symbol{}, false
	}
	var f fit
	var values []int
	at := i
	for ; at+7 < len(runs) && len(values) <= code128MaxValues; at += 6 {
		if len(values) >= code128MinValues && code128Stop(runs[at:at+7], module, &f) {
			break
		}
		value, ok := code128Value(runs[at:at+6], module, &f)
		if !ok || (value >= code128StartA) != (at == i) {
			return symbol{}, false
		}
		values = append(values, value)
	}
	length := at + 7 - i
	if at+7 >= len(runs) || len(values) < code128MinValues || len(values) > code128MaxValues ||
		!quiet(runs, i, length, module, 6) || !code128Check(values) {
		return symbol{}, false
	}
	text, ok := code128Text(values[:len(values)-1])
	s := symbol{typ: Code128, value: text, length: length, module: module, misfit: f.misfit()}
	return s, ok && s.misfit <= 0.25
}

// code128Value returns the value with the pattern that fits six runs best. It compares distances
// between edges of the same kind, which bar growth does not change.
func code128Value(runs []float64, module float64, f *fit) (value int, ok bool) {
	width := sum(runs)
	if math.Abs(width-11*module) > maxDistortion*11*module {
		return 0, false
	}
	var edges [5]float64
	for k := range edges {
		edges[k] = (runs[k] + runs[k+1]) * 11 / width
	}
	bars := (runs[0] + runs[2] + runs[4]) * 11 / width
	distance := math.Inf(1)
	for v, pattern := range code128Widths {
		d := 0.0
		for k, e := range edges {
			off := e - float64(pattern[k]-'0'+pattern[k+1]-'0')
			d += off * off
		}
		// Values with the same edge distances can differ in total bar width. The bar width gets
		// little weight, because ink spread changes it.
		off := bars - float64(pattern[0]-'0'+pattern[2]-'0'+pattern[4]-'0')
		if d += off * off / 16; d < distance {
			value, distance = v, d
		}
	}
	for k, e := range edges {
		f.add(e - float64(code128Widths[value][k]-'0'+code128Widths[value][k+1]-'0'))
	}
	return value, f.worst <= 0.8
}

// code128Stop reports whether seven runs are the stop pattern.
func code128Stop(runs []float64, module float64, f *fit) bool {
	const pattern = "2331112"
	if math.Abs(sum(runs)-13*module) > maxDistortion*13*module {
		return false
	}
	own := *f
	for k := range 6 {
		off := (runs[k]+runs[k+1])/module - float64(pattern[k]-'0'+pattern[k+1]-'0')
		if math.Abs(off) > 0.8 {
			return false
		}
		own.add(off)
	}
	*f = own
	return true
}

func code128Check(values []int) bool {
	check := values[0]
	for i, v := range values[1 : len(values)-1] {
		check += (i + 1) * v
	}
	return check%103 == values[len(values)-1]
}

// code128Text decodes the values before the check value. It fails for control characters and
// function characters other than FNC1.
func code128Text(values []int) (string, bool) {
	var text strings.Builder
	set := code128A - (values[0] - code128StartA) // code128A, B or C
	shifted := false
	for _, v := range values[1:] {
		in := set
		if shifted {
			in, shifted = code128A+code128B-set, false
		}
		switch {
		case v == code128FNC1:
		case in == code128C && v < 100:
			text.WriteByte(byte('0' + v/10))
			text.WriteByte(byte('0' + v%10))
		case in != code128C && v < 64, in == code128B && v < 95:
			text.WriteByte(byte(' ' + v))
		case in != code128C && v == code128Shift:
			shifted = true
		case v >= code128C && v <= code128A && v != in:
			set = v
		default:
			return "", false
		}
	}
	return text.String(), text.Len() > 0
}
