package vocabulary

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestBarcodeShaped(t *testing.T) {
	for _, yes := range []string{
		"12345678", "036000291452", "0 36000 29145 2", "0-36000-29145-2", " 4006381333931 ", "-1234-5678-", "4  006381--333931", "11054001000049",
	} {
		if !BarcodeShaped(yes) {
			t.Errorf("BarcodeShaped(%q) = false, want true", yes)
		}
	}
	for _, no := range []string{
		"", "-", "1234567", "123456", "123456789012345", "1 2 3 4 5 6 7", "03600029145X", "0360\t00291452", "036000291452\n", "０３６０００２９１４５２", "1234.5678", "lenz",
	} {
		if BarcodeShaped(no) {
			t.Errorf("BarcodeShaped(%q) = true, want false", no)
		}
	}
}

func TestGTINs(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        []string
	}{
		{"UPC-A", "036000291452", []string{"00036000291452"}},
		{"spaced", " 0 36000-29145 2", []string{"00036000291452"}},
		{"EAN-13", "4006381333931", []string{"04006381333931"}},
		{"GTIN-14", "10614141000415", []string{"10614141000415"}},
		{"wrong check digit", "036000291459", []string{"00036000291459"}},
		{"EAN-8", "96385074", []string{"00000096385074"}},
		{"UPC-E ending in 0", "04252614", []string{"00000004252614", "00042100005264"}},
		{"UPC-E ending in 2", "01234523", []string{"00000001234523", "00012200003453"}},
		{"UPC-E ending in 3", "01234531", []string{"00000001234531", "00012300000451"}},
		{"UPC-E ending in 4", "01234543", []string{"00000001234543", "00012340000053"}},
		{"UPC-E ending in 5", "01234558", []string{"00000001234558", "00012345000058"}},
		{"UPC-E in number system 1", "11234562", []string{"00000011234562", "00112345000062"}},
		{"UPC-E with a wrong check digit", "04252615", []string{"00000004252615"}},
		{"number system 2", "24252614", []string{"00000024252614"}},
		{"nine digits", "123456789", []string{"00000123456789"}},
		{"too short", "0425261", nil},
		{"not digits", "LOT 036000291452", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, g := range GTINs(tt.value) {
				got = append(got, g.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("GTINs(%q) (-want +got):\n%s", tt.value, diff)
			}
		})
	}
}

func TestSameBarcode(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"036000291452", "0 36000 29145 2", true},
		{"036000291452", "0036000291452", true},  // UPC-A as EAN-13
		{"036000291452", "00036000291452", true}, // UPC-A as GTIN-14
		{"04252614", "042100005264", true},       // UPC-E and its UPC-A
		{"04252614", "0042100005264", true},      // UPC-E and its UPC-A as EAN-13
		{"036000291452", "036000291453", false},  // check digits must match
		{"036000291452", "36000291452", true},    // leading zero omitted
		{"LOT-7", "LOT-7", true},
		{"LOT-7", "LOT 7", false},
		{"lot-7", "LOT-7", false},
		{"", "", true},
		{"", "036000291452", false},
	} {
		if got := SameBarcode(tt.a, tt.b); got != tt.want {
			t.Errorf("SameBarcode(%q, %q) = %t, want %t", tt.a, tt.b, got, tt.want)
		}
		if got := SameBarcode(tt.b, tt.a); got != tt.want {
			t.Errorf("SameBarcode(%q, %q) = %t, want %t", tt.b, tt.a, got, tt.want)
		}
	}
}

func TestCheckDigit(t *testing.T) {
	for digits, want := range map[string]byte{
		"03600029145": '2', "400638133393": '1', "9638507": '4', "1061414100041": '5', "0000000": '0', "": '0', "12a": 0, "12 3": 0,
	} {
		if got := CheckDigit(digits); got != want {
			t.Errorf("CheckDigit(%q) = %q, want %q", digits, got, want)
		}
	}
}

func TestValidGTIN(t *testing.T) {
	for _, yes := range []string{"036000291452", "0-36000-29145-2", "4006381333931", "96385074", "04252614", "10614141000415"} {
		if !ValidGTIN(yes) {
			t.Errorf("ValidGTIN(%q) = false, want true", yes)
		}
	}
	for _, no := range []string{"036000291453", "4006381333932", "96385075", "04252615", "123456784", "36000291452", "", "abc", "1234567"} {
		if ValidGTIN(no) {
			t.Errorf("ValidGTIN(%q) = true, want false", no)
		}
	}
}

func digitString(n int) *rapid.Generator[string] {
	return rapid.StringMatching(fmt.Sprintf("[0-9]{%d}", n))
}

func TestCheckDigitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := digitString(rapid.SampledFrom([]int{11, 12, 13}).Draw(t, "length")).Draw(t, "payload")
		code := []byte(payload + string(CheckDigit(payload)))
		if !ValidGTIN(string(code)) {
			t.Fatalf("ValidGTIN(%s) = false, want true", code)
		}
		at := rapid.IntRange(0, len(code)-1).Draw(t, "at")
		code[at] = '0' + (code[at]-'0'+byte(rapid.IntRange(1, 9).Draw(t, "by")))%10
		if ValidGTIN(string(code)) {
			t.Fatalf("ValidGTIN(%s) = true with a wrong digit, want false", code)
		}
	})
}

// abbreviate converts UPC-A to UPC-E by the rules for manufacturers.
func abbreviate(upca string) (upce string, ok bool) {
	maker, item := upca[1:6], upca[6:11]
	switch {
	case strings.HasSuffix(maker, "000") || strings.HasSuffix(maker, "100") || strings.HasSuffix(maker, "200"):
		if item[:2] == "00" {
			return upca[:1] + maker[:2] + item[2:] + maker[2:3] + upca[11:], true
		}
	case strings.HasSuffix(maker, "00"):
		if item[:3] == "000" {
			return upca[:1] + maker[:3] + item[3:] + "3" + upca[11:], true
		}
	case strings.HasSuffix(maker, "0"):
		if item[:4] == "0000" {
			return upca[:1] + maker[:4] + item[4:] + "4" + upca[11:], true
		}
	default:
		if item[:4] == "0000" && item[4] >= '5' {
			return upca[:1] + maker + item[4:] + upca[11:], true
		}
	}
	return "", false
}

func TestUPCEExpansion(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		zeros := rapid.IntRange(0, 4).Draw(t, "zeros")
		maker := digitString(5-zeros).Draw(t, "maker") + strings.Repeat("0", zeros)
		payload := rapid.SampledFrom([]string{"0", "1"}).Draw(t, "system") + maker + "00" + digitString(3).Draw(t, "item")
		upca := payload + string(CheckDigit(payload))
		upce, ok := abbreviate(upca)
		if !ok {
			return
		}
		found++
		if !SameBarcode(upce, upca) || !ValidGTIN(upce) {
			t.Fatalf("SameBarcode(%s, %s) = false or the UPC-E is not a ValidGTIN", upce, upca)
		}
	})
	if found == 0 {
		t.Error("no generated number has a UPC-E form")
	}
}

func FuzzGTINs(f *testing.F) {
	for _, s := range []string{"036000291452", "04252614", "0 36000-29145 2", "1234567", "x", "99999999999999", "- - -"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		numbers := GTINs(s)
		if (numbers != nil) != BarcodeShaped(s) {
			t.Fatalf("GTINs(%q) = %v, BarcodeShaped = %t", s, numbers, BarcodeShaped(s))
		}
		if !SameBarcode(s, s) || !SameBarcode(s, " "+s+" ") && BarcodeShaped(s) {
			t.Fatalf("SameBarcode(%q, itself) = false", s)
		}
		for _, g := range numbers {
			if len(g.String()) != 14 || !slices.Contains(GTINs(g.String()), g) {
				t.Fatalf("GTINs(%q) contains %s, which is not its own GTIN", s, g)
			}
		}
		if ValidGTIN(s) && !BarcodeShaped(s) {
			t.Fatalf("ValidGTIN(%q) = true, but BarcodeShaped = false", s)
		}
	})
}
