package vocabulary

import "testing"

func TestPermitteeTypeOf(t *testing.T) {
	for permit, want := range map[string]string{
		"DSP-KY-113":    "Distilled Spirits Plant",
		"dsp-ky-113 ":   "Distilled Spirits Plant",
		"BR-ME-MAI-7":   "Brewery",
		"BR-CA-SAN-123": "Brewery",
		"BR-VT-21009":   "Brewery",
		"BW-NJ-68":      "Bonded Winery",
		"BWN-CA-5412":   "Bonded Winery",
		"BWC-CA-12":     "Bonded Wine Cellar",
		"TPWBH-NY-15":   "Taxpaid Wine Bottling House",
		"AFP-IA-20001":  "Alcohol Fuel Plant",
		"NJ-I-721":      "Importer (Alcohol)",
		"ME-I-15006":    "Importer (Alcohol)",
		"CA-P-123":      "Wholesaler (Alcohol)",
		"CA-W-21448":    "Wine Producer",
		"CA-WS-2956":    "Wine Producer",
		"BW-68":         "Bonded Winery",
		"AK-S-20002":    "Distilled Spirits Plant",
		"CA-X-1":        "",
		"CAL-I-1":       "",
		"C1-I-1":        "",
		"CA-I":          "",
		"DSP":           "",
		"DSP-":          "",
		"DSP-KY-1-2-3":  "",
		"":              "",
		"-":             "",
		"I":             "",
	} {
		if got := PermitteeTypeOf(permit); got != want {
			t.Errorf("PermitteeTypeOf(%q) = %q, want %q", permit, got, want)
		}
	}
}

func TestNormalizePermitteeType(t *testing.T) {
	for in, want := range map[string]string{"WINE PRODUCER": "Wine Producer", "importer (alcohol)": "Importer (Alcohol)", "Bonded Winery": "Bonded Winery"} {
		if got, ok := NormalizePermitteeType(in); got != want || !ok {
			t.Errorf("NormalizePermitteeType(%q) = %q, %t, want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{"Tobacco Importer", ""} {
		if got, ok := NormalizePermitteeType(in); got != in || ok {
			t.Errorf("NormalizePermitteeType(%q) = %q, %t, want it unchanged", in, got, ok)
		}
	}
}

func TestNormalizePermit(t *testing.T) {
	for in, want := range map[string]string{" nj-i-721\t": "NJ-I-721", "BR-ME-MAI-7": "BR-ME-MAI-7", "": "", "  ": ""} {
		if got := NormalizePermit(in); got != want {
			t.Errorf("NormalizePermit(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestRealPermitTypes(t *testing.T) {
	for _, row := range sharedCSV(t, "ttb/cola_export.csv") {
		if PermitteeTypeOf(row[1]) == "" {
			t.Errorf("no type for permit %s of %s", row[1], row[0])
		}
	}
}
