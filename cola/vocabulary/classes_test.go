package vocabulary

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/internal/shareddata"
	"github.com/google/go-cmp/cmp"
)

func TestProductTypeOfClass(t *testing.T) {
	for _, tt := range []struct {
		ids  []string
		want ProductType
	}{
		{[]string{"80", "80A", "80a", "081", "84M", "89C", "931", "981", " 88 "}, Wine},
		{[]string{"100", "101", "331", "499", "641", "702", "799", "920", "926", "928", "943", "976", "977", "980", "983"}, DistilledSpirits},
		{[]string{"900", "901", "906", "909", "951", "957"}, MaltBeverage},
		{[]string{"", "A", "0", "79", "90", "99", "800", "899", "910", "950", "958", "990", "999", "1000", "0801", "80AB", "A80", "8 0", "-80", "80-", "８０"}, ""},
	} {
		for _, id := range tt.ids {
			got, ok := ProductTypeOfClass(id)
			if got != tt.want || ok != (tt.want != "") {
				t.Errorf("ProductTypeOfClass(%q) = %q, %t; want %q", id, got, ok, tt.want)
			}
		}
	}
}

func TestClasses(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Classes() {
		if seen[c.ID] || c.Name == "" {
			t.Errorf("invalid or duplicate class %+v", c)
		}
		seen[c.ID] = true
		if (c.ProductType == "") != (c.ID == "990") {
			t.Errorf("class %s %s: product type = %q", c.ID, c.Name, c.ProductType)
		}
		for part, want := range map[string]ProductType{
			"WINE": Wine, "SAKE": Wine, "MEAD": Wine, "WHISK": DistilledSpirits, "VODKA": DistilledSpirits, "RUM": DistilledSpirits,
			"LIQUEUR": DistilledSpirits, "TEQUILA": DistilledSpirits, "BITTERS": DistilledSpirits, "BEER": MaltBeverage, "MALT BEV": MaltBeverage,
		} {
			if strings.Contains(c.Name, part) && c.ProductType != want {
				t.Errorf("class %s %s: product type = %q, want %q", c.ID, c.Name, c.ProductType, want)
			}
		}
	}
}

func TestClassesMatchTTB(t *testing.T) {
	var got [][]string
	for _, c := range Classes() {
		got = append(got, []string{c.ID, c.Name})
	}
	if diff := cmp.Diff(sharedCSV(t, "ttb/class_type_codes.csv"), got); diff != "" {
		t.Errorf("classes (-TTB +got):\n%s", diff)
	}
}

// TestClassRulesRealLabels compares values derived from codes with those in real records.
func TestClassRulesRealLabels(t *testing.T) {
	f, err := os.Open(shareddata.File(t, "ttb/cola_records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	domestic := map[string]bool{}
	for _, o := range Origins() {
		domestic[o.ID] = o.Domestic
	}
	labels := 0
	for d := json.NewDecoder(f); d.More(); labels++ {
		var c struct {
			ID       string      `json:"ttb_id"`
			Class    string      `json:"class_id"`
			Kind     ProductType `json:"product_type"`
			Origin   string      `json:"origin_id"`
			Domestic string      `json:"domestic_or_imported"`
		}
		if err := d.Decode(&c); err != nil {
			t.Fatal(err)
		}
		if got, _ := ProductTypeOfClass(c.Class); got != c.Kind {
			t.Errorf("%s: product type of class %s = %q, want %q as in the record", c.ID, c.Class, got, c.Kind)
		}
		if domestic[c.Origin] != (c.Domestic == Domestic) {
			t.Errorf("%s: origin %s: domestic = %t, want %s as in the record", c.ID, c.Origin, domestic[c.Origin], c.Domestic)
		}
	}
	if labels == 0 {
		t.Error("read no labels")
	}
}
