package ingest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/golden"
)

// TestTTBTerms checks that values and keys in TTB's terms are stored in the API's terms.
func TestTTBTerms(t *testing.T) {
	for _, test := range []struct {
		row  string           // members added to newRow
		want func(*cola.Cola) // their effect
	}{
		{`"abv":"12%"`, func(c *cola.Cola) { c.ABV = cola.Some(12.0) }},
		{`"alcohol_content":"12.5 % by vol"`, func(c *cola.Cola) { c.ABV = cola.Some(12.5) }},
		{`"volume":"750 MILLILITERS"`, func(c *cola.Cola) { c.Volume, c.VolumeUnit = cola.Some(750.0), "milliliters" }},
		{`"net_contents":"1 PINT 9.4 FL. OZ.","volume_unit":null`,
			func(c *cola.Cola) { c.Volume, c.VolumeUnit = cola.Some(25.4), "fluid ounces" }},
		{`"volume":"12 fl oz","volume_unit":"Fl. Oz."`, func(c *cola.Cola) { c.Volume, c.VolumeUnit = cola.Some(12.0), "fluid ounces" }},
		{`"volume":"750","volume_unit":"mL"`, func(c *cola.Cola) { c.Volume, c.VolumeUnit = cola.Some(750.0), "milliliters" }},
		{`"volume":" ","volume_unit":"L"`, func(c *cola.Cola) { c.VolumeUnit = "liters" }},
		{`"type_of_product":"Malt Beverages"`, func(c *cola.Cola) { c.ProductType = vocabulary.MaltBeverage }},
		{`"status":"SURRENDERED","date_issued":"2/9/2024","completed_date":"11/23/2025"`, func(c *cola.Cola) {
			c.ApplicationStatus, c.ApprovalDate, c.LatestUpdateDate = "surrendered", cola.NewDate(2024, 2, 9), cola.NewDate(2025, 11, 23)
		}},
		{`"fanciful_name":"OLD","wine_vintage":2019,"wine_appellation":"CA - SONOMA"`, func(c *cola.Cola) {
			c.ProductName, c.WineVintageYear, c.WineAppellation = "OLD", cola.Some(2019), "SONOMA COUNTY"
		}},
		{`"class_name":"Gin"`, func(c *cola.Cola) { c.ClassID, c.ClassName = "210", "Gin" }},
		{`"class_name":"ALE"`, func(c *cola.Cola) { c.ClassName = "ALE" }},
		{`"class_id":"210","class_name":null`, func(c *cola.Cola) { c.ClassID = "210" }},
		{`"class_id":"998"`, func(c *cola.Cola) { c.ClassID = "998" }},
		{`"origin_name":"GEORGIA"`, func(c *cola.Cola) { c.OriginName = "GEORGIA" }},
		{`"origin_name":"GEORGIA","source_of_product":"Imported"`,
			func(c *cola.Cola) { c.OriginID, c.OriginName, c.DomesticOrImported = "6E", "GEORGIA", "imported" }},
		{`"origin_code":"51","domestic_or_imported":null`, func(c *cola.Cola) { c.OriginID, c.OriginName = "51", "FRANCE" }},
		{`"images":[{"ttb_image_id":"x","container_position":"Brand (front) or keg collar","extension_type":"png"}]`, func(c *cola.Cola) {
			c.Images = []cola.Image{{TTBImageID: "x", ContainerPosition: "front", ExtensionType: "png"}}
		}},
	} {
		t.Run(test.row, func(t *testing.T) {
			want := cola.Cola{ColaSummary: cola.ColaSummary{TTBID: theID, BrandName: "A", ProductType: vocabulary.Wine, PermitNumber: "CA-W-1"}}
			test.want(&want)
			want.Derive()
			st := newFakeStore()
			report := mustImport(t, st, Colas, texts("{"+newRow+","+test.row+"}")...)
			if diff := cmp.Diff(want, st.colas[theID]); diff != "" || len(report.Warnings) > 0 {
				t.Errorf("warnings = %v; label (-want +got):\n%s", report.Warnings, diff)
			}
		})
	}
}

// TestProductTypeOfClass checks that a class, by code or by name, implies the product type of a new
// label.
func TestProductTypeOfClass(t *testing.T) {
	const row = `{"ttb_id":"24001001000001","brand_name":"A","permit_number":"CA-W-1",`
	for _, member := range []string{`"class_id":"952"`, `"class_name":"ale"`, `"class_id":"959","class_type_desc":"STOUT"`} {
		st := newFakeStore()
		report, err := Import(t.Context(), st, Colas, texts(row+member+"}"), Options{SkipInvalid: true})
		switch known := !strings.Contains(member, "959"); {
		case err != nil:
			t.Error(err)
		case known && st.colas[theID].ProductType != vocabulary.MaltBeverage:
			t.Errorf("%s: label = %+v, rejections = %v; want a malt beverage", member, st.colas[theID], report.Rejections)
		case !known && report.Rejected != 1:
			t.Errorf("%s: %s, want a rejected row", member, report.Summary())
		}
	}
}

// TestColumnSynonyms checks that CSV columns may be named as on TTB's forms.
func TestColumnSynonyms(t *testing.T) {
	const header = "TTBID,Brand Name,Type of Product,permit_number,Fanciful Name,Net Contents,Alcohol Content,Grape Varietal(s),Approval Date\n"
	st := newFakeStore()
	report := mustImport(t, st, Colas, texts(header+`24001001000001,A,WINE,CA-W-1,OLD,1.5 L,"13,5%",Merlot|Syrah,2/29/2024`)...)
	want := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: theID, BrandName: "A", ProductName: "OLD", ProductType: vocabulary.Wine, PermitNumber: "CA-W-1", ApprovalDate: cola.NewDate(2024, 2, 29),
	}}
	want.Volume, want.VolumeUnit, want.ABV, want.GrapeVarietals = cola.Some(1.5), "liters", cola.Some(13.5), []string{"Merlot", "Syrah"}
	want.Derive()
	if diff := cmp.Diff(want, st.colas[theID]); diff != "" || len(report.Warnings) > 0 {
		t.Errorf("warnings = %v; label (-want +got):\n%s", report.Warnings, diff)
	}
}

// theID is the ID of the label in most tests. newRow contains the fields that a new label needs.
const theID = 24001001000001

const newRow = `"ttb_id":"24001001000001","brand_name":"A","product_type":"wine","permit_number":"CA-W-1"`

func TestColaValues(t *testing.T) {
	for _, test := range []struct {
		row  string           // members added to newRow
		want func(*cola.Cola) // their effect
	}{
		{``, func(*cola.Cola) {}},
		{`"brand_name":"  OLD \t\n TOM  "`, func(c *cola.Cola) { c.BrandName = "OLD TOM" }},
		{`"brand_name":"CH\u00c2TEAU \ud83c\udf77 \"X\""`, func(c *cola.Cola) { c.BrandName = `CHÂTEAU 🍷 "X"` }},
		{`"llm_product_description":" Dry.\n\n  Serve cold. "`, func(c *cola.Cola) { c.LLMProductDescription = "Dry.\n\n  Serve cold." }},
		{`"permit_number":" ca-w-1 "`, func(*cola.Cola) {}},
		{`"product_type":"Malt Beverage"`, func(c *cola.Cola) { c.ProductType = vocabulary.MaltBeverage }},
		{`"application_status":"Approved","domestic_or_imported":"DOMESTIC"`,
			func(c *cola.Cola) { c.ApplicationStatus, c.DomesticOrImported = "approved", "domestic" }},
		{`"class_id":80,"origin_id":"03","llm_beer_ibu":45`,
			func(c *cola.Cola) {
				c.ClassID, c.OriginID, c.LLMBeerIBU = "80", "03", "45"
				c.ClassName, c.OriginName, c.DomesticOrImported = "TABLE RED WINE", "NEW JERSEY", "domestic"
			}},
		{`"address_zip_code":7927`, func(c *cola.Cola) { c.AddressZipCode = "07927" }},
		{`"address_zip_code":"7927"`, func(c *cola.Cola) { c.AddressZipCode = "7927" }},
		{`"approval_date":"2024-02-29","application_date":"2024-01-01T00:00:00Z","expiration_date":""`,
			func(c *cola.Cola) {
				c.ApprovalDate, c.ApplicationDate = cola.NewDate(2024, 2, 29), cola.NewDate(2024, 1, 1)
			}},
		{`"wine_vintage_year":"2019","image_count":2.0`,
			func(c *cola.Cola) { c.WineVintageYear, c.ImageCount = cola.Some(2019), 2 }},
		{`"abv":"13.5","volume":750,"volume_unit":"Milliliters"`,
			func(c *cola.Cola) { c.ABV, c.Volume, c.VolumeUnit = cola.Some(13.5), cola.Some(750.0), "milliliters" }},
		{`"is_resubmission":"yes","is_distinctive_container":0,"for_resubmission_ttb_id":6090001000048`, func(c *cola.Cola) {
			c.IsResubmission, c.IsDistinctiveContainer, c.ForResubmissionTTBID = cola.Some(true), cola.Some(false), 6090001000048
		}},
		{`"grape_varietals":"Merlot, Petit  Verdot,,"`, func(c *cola.Cola) { c.GrapeVarietals = []string{"Merlot", "Petit Verdot"} }},
		{`"grape_varietals":"60% Malbec, 12.5 % Petit Verdot, 100%"`, func(c *cola.Cola) { c.GrapeVarietals = []string{"Malbec", "Petit Verdot", "100%"} }},
		{`"grape_varietals":["Merlot",null," ",2],"llm_liquor_grains":[]`, func(c *cola.Cola) { c.GrapeVarietals = []string{"Merlot", "2"} }},
		{`"llm_category_path":"Wine>Red Wine  > Merlot"`,
			func(c *cola.Cola) { c.LLMCategoryPath, c.LLMCategory = "Wine > Red Wine > Merlot", "Merlot" }},
		{`"llm_category_path":"beer>Märzen"`,
			func(c *cola.Cola) { c.LLMCategoryPath, c.LLMCategory = "Beer > Märzen", "Märzen" }},
		{`"has_barcode":true`, func(*cola.Cola) {}},
		{`"barcodes":[{"barcode_value":36000291452,"barcode_type":"UPC-A","width_pixels":"210"}]`, func(c *cola.Cola) {
			c.Barcodes = []cola.Barcode{{BarcodeValue: "36000291452", BarcodeType: "UPC-A", WidthPixels: cola.Some(210)}}
			c.HasBarcode, c.BarcodeValue, c.BarcodeType = true, "36000291452", "UPC-A"
		}},
		{`"images":[{"ttb_image_id":"x-1","container_position":"Back","extension_type":"png"},{"ttb_image_id":"x-2","image_index":7,"image_url":"/x.jpg"}]`, func(c *cola.Cola) {
			c.Images = []cola.Image{{TTBImageID: "x-1", ContainerPosition: "back", ExtensionType: "png"}, {TTBImageID: "x-2", ImageIndex: 7, ContainerPosition: "other", ExtensionType: "jpg", ImageURL: "/x.jpg"}}
		}},
		{`"abv":1,"abv":2`, func(c *cola.Cola) { c.ABV = cola.Some(2.0) }},
	} {
		t.Run(test.row, func(t *testing.T) {
			want := cola.Cola{ColaSummary: cola.ColaSummary{TTBID: theID, BrandName: "A", ProductType: vocabulary.Wine, PermitNumber: "CA-W-1"}}
			test.want(&want)
			want.Derive()
			st := newFakeStore()
			row := "{" + newRow + "}"
			if test.row != "" {
				row = "{" + newRow + "," + test.row + "}"
			}
			report := mustImport(t, st, Colas, texts(row)...)
			if diff := cmp.Diff(want, st.colas[theID]); diff != "" || len(report.Warnings) > 0 {
				t.Errorf("warnings = %v; label (-want +got):\n%s", report.Warnings, diff)
			}
		})
	}
}

func TestColaRejections(t *testing.T) {
	reasons := golden.Load(t, "cola_rejections")
	for _, row := range []string{
		`{"brand_name":"A"}`,
		`{"ttb_id":"123"}`,
		`{"ttb_id":"24001001000001","brand_name":"A"}`,
		`{` + newRow + `,"brand_name":null}`,
		`{` + newRow + `,"permit_number":" "}`,
		`{` + newRow + `,"abv":"strong","approval_date":"01/02/2024"}`,
		`{` + newRow + `,"approval_date":"2024-01-01T12:00:00Z"}`,
		`{` + newRow + `,"abv":"0x10"}`,
		`{` + newRow + `,"abv":"80 PROOF"}`,
		`{` + newRow + `,"volume":"750 ML (25.4 FL OZ)"}`,
		`{` + newRow + `,"volume":"1,000 ML"}`,
		`{` + newRow + `,"volume":"750 ML","volume_unit":"liters"}`,
		`{` + newRow + `,"volume":750,"volume_unit":"ounces"}`,
		`{` + newRow + `,"approval_date":"13/02/2024"}`,
		`{` + newRow + `,"approval_date":"01/02/24"}`,
		`{"ttb_id":"87012345"}`,
		`{` + newRow + `,"abv":1e999}`,
		`{` + newRow + `,"wine_vintage_year":2019.5}`,
		`{` + newRow + `,"class_id":8.1e1}`,
		`{` + newRow + `,"class_id":true}`,
		`{` + newRow + `,"class_id":["80"]}`,
		`{` + newRow + `,"class_id":{"id":80}}`,
		`{` + newRow + `,"approval_date":20240102}`,
		`{` + newRow + `,"is_resubmission":"maybe"}`,
		`{` + newRow + `,"grape_varietals":[["Merlot"]]}`,
		`{` + newRow + `,"images":"a.jpg"}`,
		`{` + newRow + `,"images":[{"ttb_image_id":"x"},{"width_pixels":"wide"}]}`,
		`{` + newRow + `,"images":[{"ttb_image_id":"x"},{}]}`,
		`{` + newRow + `,"barcodes":[1]}`,
		`{` + newRow + `,"barcodes":[{"barcode_type":"UPC-A"}]}`,
		`{` + newRow + `,"brand_name":"A\u0000B"}`,
		`{` + newRow + `,"abv":101}`,
		`{` + newRow + `,"application_status":"aproved"}`,
		`{` + newRow + `,"llm_category_path":"Cheese > Brie"}`,
		`{` + newRow + `,"llm_category_path":"wines>red"}`,
		`{` + newRow + `,"abv":tru}`,
		`{` + newRow + `,"abv":1}}`,
		`{` + newRow + `,"abv":1`,
		`[1]`,
		"{" + newRow + ",\"class_name\":\"CH\xc2TEAU\"}",
		`{` + newRow + `,"x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`,
	} {
		t.Run(row, func(t *testing.T) {
			st := newFakeStore()
			first := `{"ttb_id":"24001001000009","brand_name":"A","product_type":"wine","permit_number":"CA-W-1"}` + "\n"
			report, err := Import(t.Context(), st, Colas, texts(first+row+"\n"+first), Options{SkipInvalid: true})
			if err != nil {
				t.Fatal(err)
			}
			if report.Counts != (Counts{Read: 3, Added: 1, Unchanged: 1, Rejected: 1}) || len(report.Rejections) != 1 {
				t.Fatalf("report = %s %v, want one rejected row", report.Summary(), report.Rejections)
			}
			if got := report.Rejections[0]; got.Line != 2 {
				t.Errorf("rejected line = %d, want 2", got.Line)
			}
			reasons.Check(t, row, report.Rejections[0].Reason)
		})
	}
}

// TestColaPartial checks that a row changes only its fields and that null clears a field.
func TestColaPartial(t *testing.T) {
	whole := fullLabel(1)
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	st := newFakeStore()
	mustImport(t, st, Colas, texts(string(text))...)
	if diff := cmp.Diff(whole, st.colas[whole.TTBID]); diff != "" {
		t.Fatalf("label differs from its JSON (-want +got):\n%s", diff)
	}
	id := whole.TTBID.String()
	report := mustImport(t, st, Colas, texts(`{"ttb_id":"`+id+`","application_status":"revoked","product_name":null,"grape_varietals":[]}`)...)
	want := whole
	want.ApplicationStatus, want.ProductName, want.GrapeVarietals = "revoked", "", []string{}
	if diff := cmp.Diff(want, st.colas[whole.TTBID]); diff != "" || report.Changed != 1 || report.Undated != 0 {
		t.Errorf("report = %s, undated = %d (-want +got):\n%s", report.Summary(), report.Undated, diff)
	}
	report = mustImport(t, st, Colas, texts("TTB ID,Application Status,product-name,Images\n"+id+",,,\n"+id+`,\N,NEW,[]`)...)
	want.ApplicationStatus, want.ProductName = "", "NEW"
	withoutImages(&want)
	if diff := cmp.Diff(want, st.colas[whole.TTBID]); diff != "" || report.Counts != (Counts{Read: 2, Unchanged: 1, Changed: 1}) {
		t.Errorf("report = %s (-want +got):\n%s", report.Summary(), diff)
	}
}

func withoutImages(c *cola.Cola) {
	c.Images, c.ImageCount, c.MainImageURL = []cola.Image{}, 0, ""
	c.HasFrontImage, c.HasBackImage, c.HasNeckImage, c.HasStripImage = cola.Opt[bool]{}, cola.Opt[bool]{}, cola.Opt[bool]{}, cola.Opt[bool]{}
}

// TestColaClearing checks that clearing a field also clears the fields derived from it, unless the
// row sets them.
func TestColaClearing(t *testing.T) {
	const images = `"images":[{"ttb_image_id":"x","container_position":"front","image_url":"u.jpg"}]`
	const start = `{` + newRow + `,` + images + `,"barcode_value":"12","barcode_type":"EAN"}`
	for _, test := range []struct {
		row  string
		want func(*cola.Cola)
	}{
		{`{"ttb_id":"24001001000001","images":[]}`, withoutImages},
		{`{"ttb_id":"24001001000001","images":null}`, withoutImages},
		{`{"ttb_id":"24001001000001","images":[],"image_count":2}`, func(c *cola.Cola) { withoutImages(c); c.ImageCount = 2 }},
		{`{"ttb_id":"24001001000001","barcode_value":null}`, func(c *cola.Cola) { c.BarcodeValue, c.BarcodeType, c.HasBarcode = "", "", false }},
		{`{"ttb_id":"24001001000001","barcode_value":"34"}`, func(c *cola.Cola) { c.BarcodeValue = "34" }},
		{"ttb_id,images,barcode_value\n24001001000001,\\N,\\N", func(c *cola.Cola) {
			withoutImages(c)
			c.BarcodeValue, c.BarcodeType, c.HasBarcode = "", "", false
		}},
	} {
		t.Run(test.row, func(t *testing.T) {
			st := newFakeStore()
			mustImport(t, st, Colas, texts(start)...)
			want := st.colas[theID]
			if want.MainImageURL != "u.jpg" || want.ImageCount != 1 || want.BarcodeType != "EAN" {
				t.Fatalf("unexpected initial label %+v", want)
			}
			test.want(&want)
			for _, counts := range []Counts{{Read: 1, Changed: 1}, {Read: 1, Unchanged: 1}} {
				report := mustImport(t, st, Colas, texts(test.row)...)
				if diff := cmp.Diff(want, st.colas[theID]); diff != "" || report.Counts != counts {
					t.Errorf("report = %s (-want +got):\n%s", report.Summary(), diff)
				}
			}
		})
	}
}

// TestDerivedCategory checks that importing an API response does not store a category path that the
// response derives from the class.
func TestDerivedCategory(t *testing.T) {
	for members, want := range map[string]cola.Text{
		`"class_id":"101","llm_category_path":"Liquor > Whiskey > Bourbon > Straight Bourbon","llm_category":null`:  "",
		`"class_name":"TABLE RED WINE","llm_category_path":"Wine > Red Wine","llm_category":null`:                   "",
		`"class_id":"101","llm_category_path":"Liquor > Whiskey > Bourbon","llm_category":null`:                     "", // derived from an earlier class table
		`"llm_category_path":"Wine > Red Wine","llm_category":null`:                                                 "",
		`"class_id":"80","llm_category_path":"Wine > Red Wine","llm_category":"Red Wine"`:                           "Wine > Red Wine",
		`"class_id":"80","llm_category_path":"Wine > Red Wine"`:                                                     "Wine > Red Wine",
		`"class_id":"80","class_name":"TABLE RED WINE","llm_category_path":"Wine > White Wine","llm_category":null`: "",
	} {
		st := newFakeStore()
		mustImport(t, st, Colas, texts(`{`+newRow+`,`+members+`}`)...)
		if got := st.colas[theID]; got.LLMCategoryPath != want || (got.LLMCategory == "") != (want == "") {
			t.Errorf("%s: stored path = %q, category = %q, want %q", members, got.LLMCategoryPath, got.LLMCategory, want)
		}
	}
}

// TestDerivedCategoryCSV checks the same for CSV made from API responses. A path that differs from
// the category of the class is stored.
func TestDerivedCategoryCSV(t *testing.T) {
	text := "ttb_id,brand_name,product_type,permit_number,class_id,llm_category_path,llm_category\n" +
		"24001001000001,OAK,wine,CA-W-1,80,Wine > Red Wine,\n" +
		"24001001000002,OAK,wine,CA-W-1,80,Wine > Red Wine,\\N\n" +
		"24001001000003,OAK,wine,CA-W-1,80,Wine > Red Wine,Red Wine\n" +
		"24001001000004,OAK,wine,CA-W-1,80,Wine > White Wine,\n"
	st := newFakeStore()
	mustImport(t, st, Colas, texts(text)...)
	for id, want := range map[cola.TTBID]cola.Text{
		24001001000001: "", 24001001000002: "", 24001001000003: "Wine > Red Wine", 24001001000004: "Wine > White Wine",
	} {
		if got := st.colas[id]; got.LLMCategoryPath != want {
			t.Errorf("label %s = %+v, want the path %q", id, got, want)
		}
	}
}

// TestVolumeWithoutUnit checks the warning about labels that have a volume but no unit, which
// volume filters exclude.
func TestVolumeWithoutUnit(t *testing.T) {
	label := func(id int, members string) string {
		return fmt.Sprintf(`{"ttb_id":"%d","brand_name":"A","product_type":"wine","permit_number":"CA-W-1"%s}`+"\n", 24001001000000+id, members)
	}
	st := newFakeStore()
	report := mustImport(t, st, Colas, texts(
		label(1, `,"volume":750`)+label(2, `,"volume":750,"volume_unit":"milliliters"`)+label(3, "")+label(4, `,"volume":1,"volume_unit":null`),
		label(5, `,"volume":null`)+label(6, `,"volume_unit":"liters"`))...)
	if diff := cmp.Diff([]Warning{{"-", warningUnitless, 2}}, report.Warnings); diff != "" {
		t.Errorf("new labels (-want +got):\n%s", diff)
	}
	report = mustImport(t, st, Colas, texts(
		label(1, `,"volume":700`)+label(2, `,"volume":700`)+label(3, `,"volume":700`)+label(6, `,"volume":2`),
		label(1, `,"volume":750,"volume_unit":"milliliters"`)+label(2, `,"volume_unit":null,"volume":700`)+label(3, `,"abv":1`))...)
	if diff := cmp.Diff([]Warning{{"-", warningUnitless, 2}, {"2", warningUnitless, 1}}, report.Warnings); diff != "" {
		t.Errorf("stored labels (-want +got):\n%s", diff)
	}
	if _, err := Import(t.Context(), st, Colas, texts(`{"ttb_id":"24001001000009","volume":1}`), Options{}); err == nil {
		t.Error("Import succeeded for a label with only an ID and a volume, want an error")
	}
}

func TestColaCSV(t *testing.T) {
	text := "\ufeffttb_id,brand_name,product_type,permit_number,address_zip_code,grape_varietals,llm_liquor_grains,barcodes,colour,brand_name\n" +
		`24001001000001,"OAK, OLD",wine,CA-W-1,7927,"Merlot, Syrah",rye|"corn",,red,B` + "\n" +
		`24001001000002,OAK,wine,CA-W-1,,Merlot|Syrah,"[""rye"",""a, b""]","[{""barcode_value"":""1"",""barcode_type"":""X""}]",,` + "\n" +
		`24001001000003,OAK,wine` + "\n" +
		`24001001000004,OAK,wine,CA-W-1,,,,,,,,` + "\n" +
		`24001001000005,OAK,wine,CA-W-1,,,,[1],,` + "\n" +
		"24001001000008\n" +
		"24001001000006,CH\xc2TEAU,wine,CA-W-1,,,,,,\n" +
		"24001001000007,CH\x81TEAU,wine,CA-W-1,,,,,,\n"
	st := newFakeStore()
	report, err := Import(t.Context(), st, Colas, texts(text), Options{SkipInvalid: true})
	if err != nil {
		t.Fatal(err)
	}
	checkReport(t, golden.Load(t, "cola_csv"), "csv", report)
	first, second := st.colas[24001001000001], st.colas[24001001000002]
	if first.BrandName != "OAK, OLD" || first.AddressZipCode != "07927" {
		t.Errorf("first label = %+v", first)
	}
	if diff := cmp.Diff([]string{"Merlot", "Syrah"}, first.GrapeVarietals) + cmp.Diff([]string{"rye", `"corn"`}, first.LLMLiquorGrains) +
		cmp.Diff([]string{"Merlot", "Syrah"}, second.GrapeVarietals) + cmp.Diff([]string{"rye", "a, b"}, second.LLMLiquorGrains); diff != "" {
		t.Error(diff)
	}
	if second.BarcodeValue != "1" || st.colas[24001001000006].BrandName != "CHÂTEAU" {
		t.Errorf("second label = %+v, label 24001001000006 = %+v", second, st.colas[24001001000006])
	}
}

func TestUnknownKeys(t *testing.T) {
	row := `{` + newRow + `,"brandname":1,"colour":[{}],"images":[{"ttb_image_id":"x","colr":1,"extension_type":"jpg"},{"ttb_image_id":"y","colr":1,"extension_type":"jpg"}]}` + "\n"
	report := mustImport(t, newFakeStore(), Colas, texts(row+row)...)
	checkReport(t, golden.Load(t, "unknown_keys"), "keys", report)
}

// TestRejectedDuplicates checks that rows rejected by the store are not reported as duplicates.
func TestRejectedDuplicates(t *testing.T) {
	row := `{"ttb_id":"24001001000001","brand_name":"A"}` + "\n"
	report, err := Import(t.Context(), newFakeStore(), Colas, texts(row+row), Options{SkipInvalid: true})
	if err != nil || report.Rejected != 2 || len(report.Warnings) > 0 {
		t.Errorf("report = %s %v, %v, want no warning", report.Summary(), report.Warnings, err)
	}
}

func TestParseDate(t *testing.T) {
	for text, want := range map[string]cola.Date{
		"2024-05-01": cola.NewDate(2024, 5, 1), "2024-5-1": cola.NewDate(2024, 5, 1), "05/01/2024": cola.NewDate(2024, 5, 1),
		"5/1/2024": cola.NewDate(2024, 5, 1), "2024-05-01T00:00:00.000Z": cola.NewDate(2024, 5, 1), "2024-05-01 00:00": cola.NewDate(2024, 5, 1),
		"": 0, "2024-05-01 12:00": 0, "5/1/24": 0, "2024-02-30": 0, "0000-01-01": 0,
	} {
		if got, ok := parseDate(text); got != want || ok != (want != 0) {
			t.Errorf("parseDate(%q) = %s, %t, want %s", text, got, ok, want)
		}
	}
}

// TestSynonymColumns checks that CSV with other names for fields, some of them TTB's, is not read
// as a TTB export.
func TestSynonymColumns(t *testing.T) {
	st := newFakeStore()
	report := mustImport(t, st, Colas, texts("ttbid,permit_no,brand_name,class_type_code,completed_date\n"+
		fmt.Sprint(theID)+",CA-W-1,A,80,11/23/2025\n")...)
	got := st.colas[theID]
	if got.PermitNumber != "CA-W-1" || got.ClassID != "80" || got.LatestUpdateDate != cola.NewDate(2025, 11, 23) ||
		len(report.Warnings) > 0 {
		t.Errorf("label = %+v, warnings = %v", got, report.Warnings)
	}
}
