package labelart

import (
	"math"
	"slices"
	"strings"
)

// symbol is a barcode: its bars and its human-readable digits.
type symbol struct {
	bars   string // one character per module: 1 dark, 0 light; empty if the value is shown only as text
	guards string // for each module, 1 if its bar is longer
	digits string
	quiet  [2]int // light modules required on each side
}

// newSymbol returns the barcode for a value. UPC-A, UPC-E, EAN-13 and EAN-8 have bars, with the
// record's digits even if the check digit is wrong. Other values appear as text only.
func newSymbol(kind, value string) *symbol {
	digits := strings.NewReplacer(" ", "", "-", "").Replace(value)
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return &symbol{digits: clean(value, 40)}
		}
	}
	shortened := strings.Contains(strings.ToUpper(kind), "UPC") // UPC-E
	switch {
	case len(digits) == 12:
		return ean13Symbol("0"+digits, digits)
	case len(digits) == 13:
		return ean13Symbol(digits, digits)
	case len(digits) == 8 && shortened && digits[0] <= '1':
		return upceSymbol(digits)
	case len(digits) == 8:
		return ean8Symbol(digits)
	}
	return &symbol{digits: clean(value, 40)}
}

// ean13Sets maps the first digit of an EAN-13 to the bar sets of the next six digits.
var ean13Sets = [10]string{
	"aaaaaa", "aababb", "aabbab", "aabbba", "abaabb", "abbaab", "abbbaa", "ababab", "ababba", "abbaba",
}

// upceSets maps the check digit of a UPC-E in number system 0 to the bar sets of its six digits.
// Number system 1 swaps the sets.
var upceSets = [10]string{
	"bbbaaa", "bbabaa", "bbaaba", "bbaaab", "babbaa", "baabba", "baaabb", "bababa", "babaab", "baabab",
}

var exchangeSets = strings.NewReplacer("a", "b", "b", "a")

func ean13Symbol(digits, shown string) *symbol {
	s := &symbol{digits: shown, quiet: [2]int{11, 9}}
	return s.guard("101").data(digits[1:7], ean13Sets[digits[0]-'0']).guard("01010").data(digits[7:],
		"cccccc").guard("101")
}

func ean8Symbol(digits string) *symbol {
	s := &symbol{digits: digits, quiet: [2]int{9, 9}}
	return s.guard("101").data(digits[:4], "aaaa").guard("01010").data(digits[4:], "cccc").guard("101")
}

func upceSymbol(digits string) *symbol {
	s := &symbol{digits: digits, quiet: [2]int{9, 9}}
	sets := upceSets[digits[7]-'0']
	if digits[0] == '1' {
		sets = exchangeSets.Replace(sets)
	}
	return s.guard("101").data(digits[1:7], sets).guard("010101")
}

func (s *symbol) guard(bars string) *symbol {
	s.bars += bars
	s.guards += strings.Repeat("1", len(bars))
	return s
}

// barsA contains the bars of the digits in set a. Set c swaps dark and light, and set b is set c
// reversed.
var barsA = [10]string{
	"0001101", "0011001", "0010011", "0111101", "0100011", "0110001", "0101111", "0111011", "0110111", "0001011",
}

// data appends the bars of digits, each in its set.
func (s *symbol) data(digits, sets string) *symbol {
	for i := range len(digits) {
		bars := []byte(barsA[digits[i]-'0'])
		if sets[i] != 'a' {
			for j := range bars {
				bars[j] ^= '0' ^ '1'
			}
		}
		if sets[i] == 'b' {
			slices.Reverse(bars)
		}
		s.bars += string(bars)
		s.guards += strings.Repeat("0", len(bars))
	}
	return s
}

// Barcodes are black on white regardless of the label's colors.
var (
	black = hex(0x000000)
	white = hex(0xffffff)
)

// modules returns the width of the symbol with its quiet zones.
func (s *symbol) modules() int { return s.quiet[0] + len(s.bars) + s.quiet[1] }

// minAspect is the minimum ratio of height to length of a barcode panel. In a flatter panel, a
// slanted scan line would run off the bars.
const minAspect = 0.2

// bars draws the page's barcode on a white panel in the center of a box. It aligns bars to whole
// pixels, because a blurred edge within a pixel reduces a scanner's tolerance. If the bars do not
// fit, it draws only the digits.
func (p *page) bars(b box, upright bool) {
	s := p.barcode
	length, breadth := b.w, b.h
	if upright {
		length, breadth = breadth, length
	}
	modules := s.modules()
	module := math.Floor(math.Min(length/float64(modules), breadth/float64(modules)/minAspect))
	if stated := math.Floor(p.stated / float64(len(s.bars))); stated >= 1 {
		module = math.Min(module, stated)
	}
	if s.bars == "" || module < 1 {
		p.set(b, s.digits, p.ink, textStyle{face: sans, maxSize: b.side() * 0.2, lines: 1, track: 0.1, turned: upright})
		return
	}
	w := module * float64(modules)
	h := math.Floor(math.Min(breadth, w*0.62))
	panel := box{math.Round(b.x + (b.w-w)/2), math.Round(b.y + (b.h-h)/2), w, h}
	if upright {
		panel = box{math.Round(b.x + (b.w-h)/2), math.Round(b.y + (b.h-w)/2), h, w}
	}
	p.fill(white, rectangle(panel))
	text := math.Min(h*0.2, module*9)
	top := math.Max(1, math.Floor(h*0.05))
	for at := 0; at < len(s.bars); {
		end := at
		for end < len(s.bars) && s.bars[end] == s.bars[at] && s.guards[end] == s.guards[at] {
			end++
		}
		if s.bars[at] == '1' {
			tall := h - top - text
			if s.guards[at] == '1' {
				tall += text * 0.45
			}
			p.fill(black, rectangle(panel.along(upright, module*float64(s.quiet[0]+at),
				top, module*float64(end-at), math.Floor(tall))))
		}
		at = end
	}
	p.digitsBelow(panel.along(upright, 0, h-text*0.98, w, text), upright)
}

// along returns a part of a panel: x and w along the barcode, y and h across it. An upright barcode
// starts at the bottom.
func (b box) along(upright bool, x, y, w, h float64) box {
	if upright {
		return box{b.x + y, b.y + b.h - x - w, h, w}
	}
	return box{b.x + x, b.y + y, w, h}
}

// digitsBelow draws the barcode's digits in the light band below the bars.
func (p *page) digitsBelow(b box, upright bool) {
	m := textStyle{face: sans, maxSize: b.side() * 0.86, lines: 1, track: 0.24, leading: 1, turned: upright}
	// The digits have a white background, so that they do not touch the longer bars behind them.
	size := m.maxSize
	width := m.face.measure(p.barcode.digits, m.track)*size + size*0.6
	ground := box{b.x + (b.w-width)/2, b.y, width, b.h}
	if upright {
		ground = box{b.x, b.y + (b.h-width)/2, b.w, width}
	}
	p.fill(white, rectangle(ground))
	p.set(b, p.barcode.digits, black, m)
}
