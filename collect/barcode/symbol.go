package barcode

import "math"

// symbol is a barcode found in the runs of a line.
type symbol struct {
	typ    Type
	value  string
	length int     // number of runs
	module float64 // width of the narrowest bar
	misfit float64 // root mean square of the deviations from the pattern, in modules
}

// quietZone is the minimum space next to a symbol, in modules. Standards require 7 to 11, but real
// labels have less. If an image is cropped tightly, borderZone modules between the symbol and the
// image's border suffice.
const (
	quietZone  = 4.5
	borderZone = 2
)

// decoders read a symbol that starts with run i, which is not the first run.
var decoders = []func(runs []float64, i int) (symbol, bool){
	decodeEAN13, decodeEAN8, decodeUPCE, decodeITF14, decodeCode128,
}

// symbols calls found for each symbol in runs, from left to right. Runs of either color can be the
// bars, because some labels print light bars on a dark background.
func symbols(runs []float64, found func(i int, s symbol)) {
	for i := 1; i+shortest < len(runs); i++ {
		// In all symbologies, the first bar and space together span at most 3 modules. This
		// excludes most runs early.
		if first := runs[i] + runs[i+1]; runs[i-1]*3 < first*quietZone && (i > 1 || runs[0]*3 < first*borderZone) {
			continue
		}
		for _, decode := range decoders {
			if s, ok := decode(runs, i); ok {
				found(i, s)
			}
		}
	}
}

// shortest is the number of runs of the shortest symbol, a UPC-E.
const shortest = 33

// quiet reports whether there is enough space on both sides of a symbol.
func quiet(runs []float64, i, length int, module, zone float64) bool {
	end := i + length
	left := runs[i-1] >= zone*module || i == 1 && runs[0] >= borderZone*module
	right := runs[end] >= zone*module || end == len(runs)-1 && runs[end] >= borderZone*module
	return left && right
}

func sum(runs []float64) (total float64) {
	for _, w := range runs {
		total += w
	}
	return total
}

// fit accumulates the deviations of runs from a pattern.
type fit struct {
	squares float64
	n       int
	worst   float64
}

func (f *fit) add(deviation float64) {
	f.squares += deviation * deviation
	f.n++
	f.worst = max(f.worst, math.Abs(deviation))
}

func (f *fit) misfit() float64 { return math.Sqrt(f.squares / float64(f.n)) }

// growth returns how much wider bars are than their modules, on average, measured on runs of a
// single module. Printing and blur widen bars and narrow spaces by the same amount.
func growth(runs []float64, module float64, singles ...int) float64 {
	g := 0.0
	for _, i := range singles {
		if i%2 == 0 {
			g += runs[i] - module
		} else {
			g += module - runs[i]
		}
	}
	g /= float64(len(singles))
	return min(max(g, -0.6*module), 0.6*module)
}

// even returns the width of run i of a symbol, corrected for bar growth.
func even(runs []float64, i int, g float64) float64 {
	if i%2 == 0 {
		return runs[i] - g
	}
	return runs[i] + g
}
