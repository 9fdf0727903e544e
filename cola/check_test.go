package cola

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/internal/shareddata"
)

// fullCola returns a label with every field set.
func fullCola() *Cola {
	c := &Cola{
		ColaSummary:     exampleSummary(),
		ApplicationType: "LABEL APPROVAL", ApplicationDate: NewDate(2011, 2, 23), ExpirationDate: NewDate(2025, 10, 23),
		LatestUpdateDate: NewDate(2025, 7, 16), ClassID: "80", OriginID: "64", DomesticOrImported: vocabulary.Imported,
		IsDistinctiveContainer: Some(false), ForDistinctiveCapacity: "750 MILLILITERS", IsResubmission: Some(true),
		ForResubmissionTTBID: 11024001000092, SerialNumber: "11NI11", Formula: "1007041", TradeName: "NIEDERHOFF WINES",
		Qualifications: "First condition.\nSecond condition.", ForExemptionState: "NJ", AddressRecipient: "NIEDERHOFF IMPORTS INC",
		AddressZipCode: "07927", AddressState: "NJ", GrapeVarietals: []string{"Zweigelt"}, WineVintageYear: Some(2009),
		WineAppellation: "BURGENLAND", ABV: Some(12.5), Volume: Some(750.0), VolumeUnit: "milliliters",
		LLMContainerType: "bottle", LLMProductDescription: "A dry red.\nFrom Burgenland.", LLMBrandEstablishedYear: Some(1849),
		LLMCategory: "Zweigelt", LLMCategoryPath: "Wine > Red Wine > Zweigelt", LLMTastingNoteFlavors: []string{"cherry"},
		LLMArtworkCredit: "J. Huber", LLMWineDesignation: "reserve", LLMBeerIBU: "45", LLMBeerHopsVarieties: []string{"Citra"},
		LLMLiquorAgedYears: Some(12), LLMLiquorFinishing: "sherry cask", LLMLiquorGrains: []string{"rye"},
		BarcodeType: "UPC-A", BarcodeValue: "036000291452", QRCodeURL: "https://example.com/wine",
		Images: []Image{{
			TTBImageID: "11054001000049-1", ContainerPosition: "front", ExtensionType: "jpg", WidthPixels: Some(900), HeightPixels: Some(1200),
			WidthInches: Some(3.0), HeightInches: Some(4.0), FileSizeMB: Some(0.42), BarcodeCount: Some(1), QRCodeCount: Some(0),
			ImageURL: "https://example.com/images/1",
		}},
		Barcodes: []Barcode{{
			BarcodeType: "UPC-A", BarcodeValue: "036000291452", TTBImageID: "11054001000049-1", WidthPixels: Some(210), HeightPixels: Some(90),
			Orientation: "horizontal", RelativeImagePosition: "bottom right",
		}},
	}
	c.Derive()
	return c
}

// isEstimate reports whether a field is derived from the date estimate. Such a field is absent if
// the approval date is known.
func isEstimate(name string) bool {
	return name == "approval_date_estimate" || name == "date_is_estimated"
}

func TestCheckColaValid(t *testing.T) {
	c := fullCola()
	v := reflect.ValueOf(c).Elem()
	for _, f := range FieldsOf[Cola]() {
		if isEstimate(f.Name) {
			continue
		}
		if v.FieldByIndex(f.Index).IsZero() {
			t.Errorf("example label has no %s", f.Name)
		}
	}
	if err := CheckCola(c); err != nil {
		t.Errorf("CheckCola(example): %v", err)
	}
	if err := CheckCola(&Cola{}); err != nil {
		t.Errorf("CheckCola(empty label) = %v, want nil", err)
	}
	for name, change := range map[string]func(*Cola){
		"accents":         func(c *Cola) { c.BrandName = "CHÂTEAU 日本酒" },
		"zero ABV":        func(c *Cola) { c.ABV = Some(0.0) },
		"pure alcohol":    func(c *Cola) { c.ABV = Some(100.0) },
		"an old vintage":  func(c *Cola) { c.WineVintageYear = Some(1795) },
		"an old brewery":  func(c *Cola) { c.LLMBrandEstablishedYear = Some(1040) },
		"500 characters":  func(c *Cola) { c.BrandName = strings.Repeat("é", 500) },
		"the first day":   func(c *Cola) { c.ApprovalDate = NewDate(1900, 1, 1) },
		"the last day":    func(c *Cola) { c.ExpirationDate = NewDate(2200, 12, 31) },
		"any class":       func(c *Cola) { c.ClassID = "990" },
		"a root alone":    func(c *Cola) { c.LLMCategoryPath = "Liquor" },
		"any category":    func(c *Cola) { c.LLMCategoryPath = "Beer > Märzen > Beer" },
		"no category":     func(c *Cola) { c.LLMCategoryPath = "" },
		"other container": func(c *Cola) { c.LLMContainerType = "growler" },
	} {
		c := fullCola()
		change(c)
		if err := CheckCola(c); err != nil {
			t.Errorf("CheckCola(%s): %v", name, err)
		}
	}
}

func TestCheckColaMessages(t *testing.T) {
	messages := golden.Load(t, "check_cola")
	for _, tt := range []struct {
		name   string
		change func(*Cola)
	}{
		{"ttb_id = maxTTBID + 1", func(c *Cola) { c.TTBID = maxTTBID + 1 }},
		{"product_type = 'cider'", func(c *Cola) { c.ProductType = "cider" }},
		{"product_type = 'Wine'", func(c *Cola) { c.ProductType = "Wine" }},
		{"application_status = 'aproved'", func(c *Cola) { c.ApplicationStatus = "aproved" }},
		{"domestic_or_imported = 'foreign'", func(c *Cola) { c.DomesticOrImported = "foreign" }},
		{"volume_unit = 'hogsheads'", func(c *Cola) { c.VolumeUnit = "hogsheads" }},
		{"llm_category_path = 'Cheese > Brie'", func(c *Cola) { c.LLMCategoryPath = "Cheese > Brie" }},
		{"llm_category_path = 'Wines > Red'", func(c *Cola) { c.LLMCategoryPath = "Wines > Red" }},
		{"llm_category_path = 'beer'", func(c *Cola) { c.LLMCategoryPath = "beer" }},
		{"llm_category_path = 'Beers Ale'", func(c *Cola) { c.LLMCategoryPath = "Beers Ale" }},
		{"llm_category_path = ' > Wine'", func(c *Cola) { c.LLMCategoryPath = " > Wine" }},
		{"images[0].container_position = 'side'", func(c *Cola) { c.Images[0].ContainerPosition = "side" }},
		{"brand_name = 'A/x00B'", func(c *Cola) { c.BrandName = "A\x00B" }},
		{"brand_name = 'A/nB'", func(c *Cola) { c.BrandName = "A\nB" }},
		{"product_name = 'A/u0085B'", func(c *Cola) { c.ProductName = "A\u0085B" }},
		{"llm_product_description = 'A/x1bB'", func(c *Cola) { c.LLMProductDescription = "A\x1bB" }},
		{"origin_name = '/xff'", func(c *Cola) { c.OriginName = "\xff" }},
		{"brand_name = strings.Repeat('x', 501)", func(c *Cola) { c.BrandName = strings.Repeat("x", 501) }},
		{"permit_number = 'nj-i-721'", func(c *Cola) { c.PermitNumber = "nj-i-721" }},
		{"permit_number = ' NJ-I-721'", func(c *Cola) { c.PermitNumber = " NJ-I-721" }},
		{"abv = Some(140.0)", func(c *Cola) { c.ABV = Some(140.0) }},
		{"abv = Some(-0.5)", func(c *Cola) { c.ABV = Some(-0.5) }},
		{"abv = Some(math.NaN())", func(c *Cola) { c.ABV = Some(math.NaN()) }},
		{"volume = Some(math.Inf(1))", func(c *Cola) { c.Volume = Some(math.Inf(1)) }},
		{"volume = Some(-1.0)", func(c *Cola) { c.Volume = Some(-1.0) }},
		{"image_count = -1", func(c *Cola) { c.ImageCount = -1 }},
		{"llm_liquor_aged_years = Some(-1)", func(c *Cola) { c.LLMLiquorAgedYears = Some(-1) }},
		{"llm_liquor_aged_years = Some(1001)", func(c *Cola) { c.LLMLiquorAgedYears = Some(1001) }},
		{"wine_vintage_year = Some(209)", func(c *Cola) { c.WineVintageYear = Some(209) }},
		{"llm_brand_established_year = Some(2201)", func(c *Cola) { c.LLMBrandEstablishedYear = Some(2201) }},
		{"approval_date = NewDate(1899, 12, 31)", func(c *Cola) { c.ApprovalDate = NewDate(1899, 12, 31) }},
		{"expiration_date = NewDate(2201, 1, 1)", func(c *Cola) { c.ExpirationDate = NewDate(2201, 1, 1) }},
		{"application_date = NewDate(11, 3, 18)", func(c *Cola) { c.ApplicationDate = NewDate(11, 3, 18) }},
		{"latest_update_date = -5", func(c *Cola) { c.LatestUpdateDate = -5 }},
		{"for_resubmission_ttb_id = c.TTBID", func(c *Cola) { c.ForResubmissionTTBID = c.TTBID }},
		{"grape_varietals = []string{'Merlot', ''}", func(c *Cola) { c.GrapeVarietals = []string{"Merlot", ""} }},
		{"llm_liquor_grains = make([]string, 501)", func(c *Cola) { c.LLMLiquorGrains = make([]string, 501) }},
		{"images[0].ttb_image_id = ''", func(c *Cola) { c.Images[0].TTBImageID = "" }},
		{"images[0].extension_type = ''", func(c *Cola) { c.Images[0].ExtensionType = "" }},
		{"barcodes[0].barcode_type = '', 'QR-7'", func(c *Cola) { c.Barcodes[0].BarcodeType, c.Barcodes[0].BarcodeValue = "", "QR-7" }},
		{"images[0].image_index = -1", func(c *Cola) { c.Images[0].ImageIndex = -1 }},
		{"images[0].width_pixels = Some(-900)", func(c *Cola) { c.Images[0].WidthPixels = Some(-900) }},
		{"images[0].height_inches = Some(math.Inf(1))", func(c *Cola) { c.Images[0].HeightInches = Some(math.Inf(1)) }},
		{"images = make([]Image, 501)", func(c *Cola) { c.Images = make([]Image, 501) }},
		{"barcodes[0].barcode_value = ''", func(c *Cola) { c.Barcodes[0].BarcodeValue = "" }},
		{"barcodes[1].barcode_value = append(c.Barcodes, Barcode{BarcodeValue: '1/t2'})", func(c *Cola) { c.Barcodes = append(c.Barcodes, Barcode{BarcodeValue: "1\t2"}) }},
	} {
		c := fullCola()
		tt.change(c)
		err := CheckCola(c)
		if err == nil {
			t.Errorf("CheckCola(%s) succeeded, want an error", tt.name)
			continue
		}
		messages.Check(t, tt.name, err.Error()[:min(len(err.Error()), 300)]) // the rest is repetitive
	}
}

// TestCheckColaTextFields makes each text field of a label, its images and its barcodes invalid in
// turn, to check that CheckCola covers every field.
func TestCheckColaTextFields(t *testing.T) {
	spoil := func(name string, c *Cola, v reflect.Value) {
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.String {
			v = v.Index(0)
		}
		if v.Kind() != reflect.String {
			return
		}
		v.SetString("bad\x07text")
		if err := CheckCola(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("CheckCola(%s with a control character) = %v, want an error naming the field", name, err)
		}
	}
	for _, f := range FieldsOf[Cola]() {
		c := fullCola()
		spoil(f.Name, c, reflect.ValueOf(c).Elem().FieldByIndex(f.Index))
	}
	for _, f := range FieldsOf[Image]() {
		c := fullCola()
		spoil("images[0]."+f.Name, c, reflect.ValueOf(&c.Images[0]).Elem().FieldByIndex(f.Index))
	}
	for _, f := range FieldsOf[Barcode]() {
		c := fullCola()
		spoil("barcodes[0]."+f.Name, c, reflect.ValueOf(&c.Barcodes[0]).Elem().FieldByIndex(f.Index))
	}
}

// TestCheckColaNumberFields does the same with out-of-range numbers and dates.
func TestCheckColaNumberFields(t *testing.T) {
	spoil := func(name string, c *Cola, field any) {
		switch v := field.(type) {
		case *Opt[int]:
			*v = Some(-1)
		case *Opt[float64]:
			*v = Some(math.NaN())
		case *int:
			*v = -1
		case *Date:
			*v = NewDate(9000, 1, 1)
		default:
			return
		}
		if err := CheckCola(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("CheckCola(%s out of range) = %v, want an error naming the field", name, err)
		}
	}
	for _, f := range FieldsOf[Cola]() {
		if isEstimate(f.Name) {
			continue
		}
		c := fullCola()
		spoil(f.Name, c, reflect.ValueOf(c).Elem().FieldByIndex(f.Index).Addr().Interface())
	}
	for _, f := range FieldsOf[Image]() {
		c := fullCola()
		spoil("images[0]."+f.Name, c, reflect.ValueOf(&c.Images[0]).Elem().FieldByIndex(f.Index).Addr().Interface())
	}
	for _, f := range FieldsOf[Barcode]() {
		c := fullCola()
		spoil("barcodes[0]."+f.Name, c, reflect.ValueOf(&c.Barcodes[0]).Elem().FieldByIndex(f.Index).Addr().Interface())
	}
}

func TestCheckColaAllErrors(t *testing.T) {
	c := fullCola()
	c.ABV, c.ProductType, c.Images[0].WidthPixels = Some(101.0), "x", Some(-1)
	err := CheckCola(c)
	if err == nil || strings.Count(err.Error(), "; ") != 2 {
		t.Errorf("CheckCola = %v, want three errors", err)
	}
}

func TestCheckNew(t *testing.T) {
	if err := CheckNew(fullCola()); err != nil {
		t.Errorf("CheckNew(example): %v", err)
	}
	err := CheckNew(&Cola{})
	if err == nil || !strings.HasSuffix(err.Error(), ": ttb_id, brand_name, product_type, permit_number") {
		t.Errorf("CheckNew(empty label) = %v, want all required fields", err)
	}
	for name, change := range map[string]func(*Cola){
		"ttb_id":        func(c *Cola) { c.TTBID = 0 },
		"brand_name":    func(c *Cola) { c.BrandName = "" },
		"product_type":  func(c *Cola) { c.ProductType = "" },
		"permit_number": func(c *Cola) { c.PermitNumber = "" },
	} {
		c := fullCola()
		change(c)
		if err := CheckNew(c); err == nil || !strings.HasSuffix(err.Error(), ": "+name) {
			t.Errorf("CheckNew(without %s) = %v, want an error naming the field", name, err)
		}
	}
}

func TestCheckColaRealLabels(t *testing.T) {
	f, err := os.Open(shareddata.File(t, "ttb/cola_records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var ids []TTBID
	for d := json.NewDecoder(f); d.More(); {
		var c struct {
			Cola
			GrapeVarietals any `json:"grape_varietals"` // a single string here; the importer splits it
		}
		if err := d.Decode(&c); err != nil {
			t.Fatal(err)
		}
		if err := CheckCola(&c.Cola); err != nil {
			t.Errorf("CheckCola(%s): %v", c.TTBID, err)
		}
		if err := CheckNew(&c.Cola); err != nil {
			t.Errorf("CheckNew(%s): %v", c.TTBID, err)
		}
		ids = append(ids, c.TTBID)
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 50 {
		t.Errorf("read %d labels, want 50", len(ids))
	}
}

func TestCheckColaAllocations(t *testing.T) {
	c := fullCola()
	if n := testing.AllocsPerRun(100, func() {
		if err := CheckCola(c); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("CheckCola allocates %v times for a valid label, want 0", n)
	}
}

func BenchmarkCheckCola(b *testing.B) {
	c := fullCola()
	b.ReportAllocs()
	for b.Loop() {
		if err := CheckCola(c); err != nil {
			b.Fatal(err)
		}
	}
}
