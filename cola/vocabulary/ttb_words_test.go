package vocabulary

import "testing"

func TestProductTypeNamed(t *testing.T) {
	for word, want := range map[string]ProductType{
		"Malt Beverages": MaltBeverage, "MALT BEVERAGE": MaltBeverage, "Wine": Wine, "WINES": Wine, "Distilled Spirit": DistilledSpirits,
		"DISTILLED SPIRITS": DistilledSpirits, "Beer": "beer", "": "",
	} {
		if got := ProductTypeNamed(word); got != want {
			t.Errorf("ProductTypeNamed(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestClassNamed(t *testing.T) {
	for name, want := range map[string]Class{
		"table red wine": {"80", "TABLE RED WINE", Wine, "Wine > Red Wine"},
		"GIN":            {"210", "GIN", DistilledSpirits, "Liquor > Gin"},
		"ALE":            {"", "ALE", MaltBeverage, "Beer > Ale"},
	} {
		if got, ok := ClassNamed(name); !ok || got != want {
			t.Errorf("ClassNamed(%q) = %v, %t, want %v", name, got, ok, want)
		}
	}
	if c, ok := ClassNamed("MOONSHINE"); ok {
		t.Errorf("ClassNamed(MOONSHINE) = %v, want none", c)
	}
}

func TestOriginNamed(t *testing.T) {
	for _, test := range []struct{ name, domestic, id string }{
		{"FRANCE", "", "51"}, {"france", Imported, "51"}, {"FRANCE", Domestic, ""}, {"GEORGIA", "", ""},
		{"GEORGIA", Domestic, "08"}, {"GEORGIA", Imported, "6E"}, {"ATLANTIS", "", ""},
	} {
		if got, ok := OriginNamed(test.name, test.domestic); got.ID != test.id || ok != (test.id != "") {
			t.Errorf("OriginNamed(%q, %q) = %v, %t, want %q", test.name, test.domestic, got, ok, test.id)
		}
	}
}

func TestNormalizeAppellation(t *testing.T) {
	for s, want := range map[string]string{
		"CA - SONOMA": "SONOMA COUNTY", "CA - Lake": "Lake County", "CA - NAPA COUNTY": "NAPA COUNTY", "LA - ORLEANS": "LA - ORLEANS",
		"XX - SONOMA": "XX - SONOMA", "SONOMA VALLEY": "SONOMA VALLEY", "": "",
	} {
		if got := NormalizeAppellation(s); got != want {
			t.Errorf("NormalizeAppellation(%q) = %q, want %q", s, got, want)
		}
		if again := NormalizeAppellation(want); again != want {
			t.Errorf("NormalizeAppellation(%q) = %q, want no change", want, again)
		}
	}
}
