package vocabulary

import "testing"

func TestParseABV(t *testing.T) {
	for text, want := range map[string]float64{
		"12": 12, "12%": 12, "12.5 % by vol": 12.5, "12,5 %": 12.5, "ALC. 12.5% BY VOL.": 12.5, "40% alc./vol.": 40, "40% ALC/VOL": 40,
		"Alcohol 4.2 percent by volume": 4.2, "13.5% ABV": 13.5, "5% alc by vol": 5, " 7 \t% ": 7, ".5%": 0.5, "5 % vol": 5,
	} {
		if got, ok := ParseABV(text); !ok || got != want {
			t.Errorf("ParseABV(%q) = %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "%", "11-14%", "11% to 14%", "80 PROOF", "40% (80 PROOF)", "5% by weight", "1,250", "strong", "12%%", "12 ml", "-5%"} {
		if got, ok := ParseABV(text); ok {
			t.Errorf("ParseABV(%q) = %v, want none", text, got)
		}
	}
}

func TestParseVolume(t *testing.T) {
	type volume struct {
		v    float64
		unit string
	}
	for text, want := range map[string]volume{
		"750 MILLILITERS": {750, "milliliters"}, "750mL": {750, "milliliters"}, "1,5 L": {1.5, "liters"}, "70 cl": {700, "milliliters"},
		"12 FL. OZ.": {12, "fluid ounces"}, "8 fl.oz.": {8, "fluid ounces"}, "16 Fluid Ounces": {16, "fluid ounces"},
		"1 PINT 9.4 FL. OZ.": {25.4, "fluid ounces"}, "1 QUART 1 PINT": {3, "pints"}, "5.16 GALLONS": {5.16, "gallons"},
		"1 PINT .9 FL. OZ.": {16.9, "fluid ounces"}, "1 QT. 1 PT. .8 FL. OZ.": {48.8, "fluid ounces"}, "1 pt. 6 fl. oz. ": {22, "fluid ounces"},
		"1 PINT": {1, "pints"}, "1 Gal.": {1, "gallons"}, "1 beer barrel": {1, "beer barrels"},
	} {
		if v, unit, ok := ParseVolume(text); !ok || (volume{v, unit}) != want {
			t.Errorf("ParseVolume(%q) = %v %s, %t, want %v", text, v, unit, ok, want)
		}
	}
	for _, text := range []string{
		"", "750", "ML", "1,000 ML", "750 ML 25.4 FL. OZ.", "750 ML (25.4 FL OZ)", "9.4 FL. OZ. 1 PINT", "1 PINT 1 PINT", "1 barrel", "6 x 12 fl oz", "-1 L",
		"750 MILLILITERS, 1.5 LITERS",
	} {
		if v, unit, ok := ParseVolume(text); ok {
			t.Errorf("ParseVolume(%q) = %v %s, want none", text, v, unit)
		}
	}
}

// FuzzMeasures checks that every volume has a known unit, and that no measure is negative.
func FuzzMeasures(f *testing.F) {
	for _, seed := range []string{"12.5 % by vol", "1 PINT 9.4 FL. OZ.", "70cl", "1,5 L"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, unit, ok := ParseVolume(text); ok && (v < 0 || millilitersIn(unit) == 0) {
			t.Errorf("ParseVolume(%q) = %v %q", text, v, unit)
		}
		if v, ok := ParseABV(text); ok && v < 0 {
			t.Errorf("ParseABV(%q) = %v", text, v)
		}
	})
}
