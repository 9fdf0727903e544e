package labelart

import (
	"image"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"pgregory.net/rapid"
)

// scan reads a barcode from an image as a scanner does: along straight lines, by the widths of dark
// and light runs. It returns the digits, or "" if no line was readable. It shares no code with the
// code that draws barcodes.
func scan(img *image.RGBA, upright bool) string {
	b := img.Bounds()
	across, along := b.Dy(), b.Dx()
	dark := func(line, at int) bool {
		x, y := b.Min.X+at, b.Min.Y+line
		if upright {
			x, y = b.Min.X+line, b.Max.Y-1-at
		}
		c := img.RGBAAt(x, y)
		return int(c.R)+int(c.G)+int(c.B) < 3*128
	}
	if upright {
		across, along = b.Dx(), b.Dy()
	}
	for line := range across {
		var runs []int // alternating widths of light and dark runs, starting with light
		length, now := 0, false
		for at := range along {
			if dark(line, at) != now {
				runs, length, now = append(runs, length), 0, !now
			}
			length++
		}
		runs = append(runs, length)
		for start := 1; start < len(runs); start += 2 {
			for _, count := range []int{59, 43, 33} { // EAN-13 and UPC-A, EAN-8, UPC-E
				if start+count >= len(runs) {
					continue
				}
				if digits := readRuns(runs, start, count); digits != "" && !strings.Contains(digits, "?") {
					return digits
				}
			}
		}
	}
	return ""
}

// symbolModules maps the number of runs in a symbol to its width in modules.
var symbolModules = map[int]int{59: 95, 43: 67, 33: 51}

// readRuns reads a symbol that starts with a dark run. The widths of its runs must be whole
// modules, and its quiet zones must be wide enough.
func readRuns(runs []int, start, count int) string {
	total := 0
	for _, r := range runs[start : start+count] {
		total += r
	}
	modules := symbolModules[count]
	unit := total / modules
	if unit == 0 || total%modules != 0 || runs[start-1] < 9*unit || runs[start+count] < 9*unit {
		return ""
	}
	widths := make([]int, count)
	for i, r := range runs[start : start+count] {
		if r%unit != 0 || r/unit > 4 {
			return ""
		}
		widths[i] = r / unit
	}
	switch count {
	case 59:
		return readEAN13(widths)
	case 43:
		return readDigits(widths[3:19]) + readDigits(widths[24:40])
	}
	return readUPCE(widths)
}

// digitWidths are the widths of the four runs of each digit in odd parity, from the GS1 General
// Specifications.
var digitWidths = []string{"3211", "2221", "2122", "1411", "1132", "1231", "1114", "1312", "1213", "3112"}

// readDigit returns a digit and whether it has even parity, in which the widths are reversed.
func readDigit(w []int) (digit byte, even bool) {
	s := ""
	for _, v := range w {
		s += string(rune('0' + v))
	}
	for i, odd := range digitWidths {
		if s == odd {
			return byte('0' + i), false
		}
		if s == string([]byte{odd[3], odd[2], odd[1], odd[0]}) {
			return byte('0' + i), true
		}
	}
	return '?', false
}

func readDigits(w []int) string {
	s := ""
	for ; len(w) >= 4; w = w[4:] {
		d, _ := readDigit(w[:4])
		s += string(rune(d))
	}
	return s
}

// parityLetter returns the letter for the parity of a digit.
func parityLetter(even bool) string {
	if even {
		return "E"
	}
	return "O"
}

func readEAN13(w []int) string {
	parity, digits := "", ""
	for i := range 6 {
		d, even := readDigit(w[3+4*i:][:4])
		digits += string(rune(d))
		parity += parityLetter(even)
	}
	first := strings.Index("OOOOOO OOEOEE OOEEOE OOEEEO OEOOEE OEEOOE OEEEOO OEOEOE OEOEEO OEEOEO ", parity+" ")
	if first < 0 {
		return ""
	}
	return string(rune('0'+first/7)) + digits + readDigits(w[32:56])
}

func readUPCE(w []int) string {
	parity, digits := "", ""
	for i := range 6 {
		d, even := readDigit(w[3+4*i:][:4])
		digits += string(rune(d))
		parity += parityLetter(even)
	}
	system := "0"
	check := strings.Index("EEEOOO EEOEOO EEOOEO EEOOOE EOEEOO EOOEEO EOOOEE EOEOEO EOEOOE EOOEOE ", parity+" ")
	if check < 0 {
		system = "1"
		check = strings.Index("OOOEEE OOEOEE OOEEOE OOEEEO OEOOEE OEEOOE OEEEOO OEOEOE OEOEEO OEEOEO ", parity+" ")
	}
	if check < 0 {
		return ""
	}
	return system + digits + string(rune('0'+check/7))
}

// withBarcode returns a record with a barcode on its back label.
func withBarcode(kind cola.Text, value string, w, h int) (*cola.Cola, *cola.Image) {
	c, img := label(vocabulary.Wine, "back", w, h)
	c.Barcodes = []cola.Barcode{{
		BarcodeType:           kind,
		BarcodeValue:          value,
		TTBImageID:            cola.Text(img.TTBImageID),
		RelativeImagePosition: "bottom right",
	}}
	return c, img
}

func mustScan(t testing.TB, c *cola.Cola, img *cola.Image) string {
	t.Helper()
	d, err := layout(c, img)
	if err != nil {
		t.Fatal(err)
	}
	picture := d.raster()
	if upright := len(c.Barcodes) > 0 && c.Barcodes[0].Orientation == "vertical"; upright {
		if digits := scan(picture, upright); digits != "" {
			return digits
		}
	}
	return scan(picture, false) // an upright barcode without enough room is drawn horizontally
}

func TestBarcodes(t *testing.T) {
	tests := []struct {
		kind        cola.Text
		value, want string // a UPC-A symbol scans as the equivalent EAN-13
	}{
		{"UPC-A", "036000291452", "0036000291452"},
		{"UPC-A", "0 36000-29145 2", "0036000291452"},
		{"EAN-13", "4006381333931", "4006381333931"},
		{"EAN-13", "9780201379624", "9780201379624"},
		{"", "5901234123457", "5901234123457"},
		{"EAN-8", "73513537", "73513537"},
		{"UPC-E", "04252614", "04252614"},
		{"UPC-E", "12345670", "12345670"},
		{"UPC-A", "036000291453", "0036000291453"}, // a wrong check digit is drawn unchanged
	}
	for _, test := range tests {
		for _, side := range []cola.Text{"bottom right", "bottom left", "bottom center", ""} {
			c, img := withBarcode(test.kind, test.value, 900, 1100)
			c.Barcodes[0].RelativeImagePosition = side
			if got := mustScan(t, c, img); got != test.want {
				t.Errorf("%s %q at position %q scans as %q, want %q", test.kind, test.value, side, got, test.want)
			}
		}
		for _, side := range []cola.Text{"left", "right"} {
			c, img := withBarcode(test.kind, test.value, 900, 1100)
			c.Barcodes[0].Orientation, c.Barcodes[0].RelativeImagePosition = "vertical", side
			if got := mustScan(t, c, img); got != test.want {
				t.Errorf("%s %q upright at the %s scans as %q, want %q", test.kind, test.value, side, got, test.want)
			}
		}
	}
}

func TestRandomBarcodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`[0-9]{12}`).Draw(t, "digits")
		value := digits + string(rune(vocabulary.CheckDigit(digits)))
		d := &page{drawing: &drawing{w: 260, h: 120}, barcode: newSymbol("EAN-13", value)}
		d.fill(white, rectangle(d.bounds()))
		d.bars(d.bounds(), false)
		if got := scan(d.raster(), false); got != value {
			t.Fatalf("%s scans as %q, want the value", value, got)
		}
	})
}

func TestInvalidBarcodes(t *testing.T) {
	for _, value := range []string{"LOT-2019/A", "123", "10036000291459", "１２３４５６７８"} {
		c, img := withBarcode("CODE-128", value, 900, 1100)
		if _, _, text := svgText(t, mustSVG(t, c, img)); !strings.Contains(text, value) {
			t.Errorf("back label does not contain the value %q:\n%s", value, text)
		}
		if got := mustScan(t, c, img); got != "" {
			t.Errorf("%q scans as %q, want no bars", value, got)
		}
	}
}

func TestOtherImagesBarcodes(t *testing.T) {
	c, img := withBarcode("UPC-A", "036000291452", 900, 1100)
	c.Barcodes[0].TTBImageID = "26001001000001-9"
	if got := mustScan(t, c, img); got != "" {
		t.Errorf("barcode of another image is drawn: %s", got)
	}
	c.Barcodes, c.BarcodeType, c.BarcodeValue = nil, "UPC-A", "036000291452"
	if got := mustScan(t, c, img); got != "0036000291452" {
		t.Errorf("main barcode of a label without a list scans as %q", got)
	}
}

func TestDemoBarcodes(t *testing.T) {
	read, carried := 0, 0
	for _, c := range sampleLabels(110) {
		for i := range c.Barcodes {
			for j := range c.Images {
				if c.Images[j].TTBImageID != string(c.Barcodes[i].TTBImageID) {
					continue
				}
				carried++
				want := c.Barcodes[i].BarcodeValue
				if len(want) == 12 {
					want = "0" + want
				}
				if mustScan(t, c, &c.Images[j]) == want {
					read++
				}
			}
		}
	}
	if carried < 70 || read != carried {
		t.Errorf("%d of %d barcodes scan, want all of at least 70", read, carried)
	}
}
