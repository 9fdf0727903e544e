package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
)

// sdkModels lists the fields that the official Python and JavaScript SDKs expect in each of our
// schemas: one field per line, with its Python type and its JavaScript type. "-" marks a field that
// an SDK does not read; a question mark marks a nullable value. The Python models validate each
// response: one wrong value fails the whole page.
//
// The list was taken from cola-cloud-us/colacloud-python and colacloud-js. The command-line client
// colacloud-cli has no models and shows fields with the same names.
const sdkModels = `
ColaSummary
	ttb_id string string
	brand_name string string?
	product_name string? string?
	product_type string string?
	class_name string? string?
	origin_name string? string?
	permit_number string string?
	approval_date date? string?
	image_count integer integer
	has_barcode boolean boolean
ColaDetail
	ttb_id string string
	brand_name string string?
	product_name string? string?
	product_type string string?
	class_id string? string?
	class_name string? string?
	origin_id string? string?
	origin_name string? string?
	domestic_or_imported string? -
	permit_number string string?
	application_type string? -
	application_status string? -
	application_date date? -
	approval_date date? string?
	expiration_date date? -
	latest_update_date date? string?
	is_distinctive_container boolean? boolean?
	for_distinctive_capacity string? string?
	is_resubmission boolean? boolean?
	for_resubmission_ttb_id string? string?
	for_exemption_state string? string?
	abv number? -
	volume number? -
	volume_unit string? -
	address_recipient string? string?
	address_zip_code string? string?
	address_state string? string?
	grape_varietals strings? string?
	wine_vintage_year integer? number?
	wine_appellation string? string?
	llm_container_type string? string?
	llm_product_description string? string?
	llm_brand_established_year integer? number?
	llm_category string? -
	llm_category_path string? -
	llm_tasting_note_flavors strings? string?
	llm_artwork_credit string? string?
	llm_wine_designation string? string?
	llm_beer_ibu string? number?
	llm_beer_hops_varieties strings? string?
	llm_liquor_aged_years integer? number?
	llm_liquor_finishing_process string? string?
	llm_liquor_grains strings? string?
	barcode_type string? string?
	barcode_value string? string?
	qrcode_url string? string?
	image_count integer integer
	has_barcode - boolean
	has_front_image boolean? boolean
	has_back_image boolean? boolean
	has_neck_image boolean? boolean
	has_strip_image boolean? boolean
	main_image_url string? -
	images objects objects
	barcodes objects objects
Image
	ttb_image_id string string
	image_index integer number
	container_position string string?
	extension_type string string?
	width_pixels integer? number?
	height_pixels integer? number?
	width_inches number? number?
	height_inches number? number?
	file_size_mb number? number?
	barcode_count integer? number
	qrcode_count integer? number
	image_url string? string
Barcode
	barcode_type string string?
	barcode_value string string
	ttb_image_id string string
	width_pixels integer? number?
	height_pixels integer? number?
	orientation string? string?
	relative_image_position string? string?
PermitteeSummary
	permit_number string string
	company_name string? string?
	company_state string? string?
	company_zip_code string? string?
	permittee_type string? string?
	is_active boolean boolean
	active_reason string? string?
	colas integer? number
	colas_approved integer? number
	last_cola_application_date date? string?
BarcodeResult
	barcode_value string string
	barcode_type string? string?
	colas objects objects
	total_colas integer number
Pagination
	page integer number
	per_page integer number
	total integer? number?
	pages integer? number?
	has_more boolean? boolean
	mode string? string
UsageStats
	tier string string
	current_period string string
	detail_views object object
	list_records object object
	per_minute_limit integer number
MeterUsage
	used integer number
	limit integer number
	remaining integer number
PageMeta
	total integer number
	page integer? number
	per_page integer? number
	has_more boolean? boolean
`

// sdkMismatches lists the fields where the JavaScript SDK differs from the interface that both SDKs
// target and this service follows. JavaScript does not check types, so programs can still read
// these values.
var sdkMismatches = []string{
	// arrays
	"ColaDetail.grape_varietals", "ColaDetail.llm_tasting_note_flavors",
	"ColaDetail.llm_beer_hops_varieties", "ColaDetail.llm_liquor_grains",
	// a string, because it may be a range
	"ColaDetail.llm_beer_ibu",
	// null when unknown
	"ColaDetail.has_front_image", "ColaDetail.has_back_image",
	"ColaDetail.has_neck_image", "ColaDetail.has_strip_image",
	"Image.barcode_count", "Image.qrcode_count", "Image.image_url",
}

// sdkField is a model field with its Python and JavaScript types.
type sdkField struct{ name, python, javascript string }

func sdkFields(t *testing.T) map[string][]sdkField {
	t.Helper()
	models, model := map[string][]sdkField{}, ""
	for line := range strings.Lines(sdkModels) {
		switch words := strings.Fields(line); len(words) {
		case 0:
		case 1:
			model = words[0]
		case 3:
			models[model] = append(models[model], sdkField{words[0], words[1], words[2]})
		default:
			t.Fatalf("not a field: %s", line)
		}
	}
	return models
}

// TestOfficialSDKSchema compares the OpenAPI schema with the SDK models, field by field.
func TestOfficialSDKSchema(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "httpapi", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]map[string]any
				Required   []string
			}
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	var mismatches []string
	for model, fields := range sdkFields(t) {
		schema := doc.Components.Schemas[model]
		for _, f := range fields {
			property, ok := schema.Properties[f.name]
			if !ok || !slices.Contains(schema.Required, f.name) {
				t.Errorf("%s.%s is not required: %v", model, f.name, property)
				continue
			}
			have := schemaType(property)
			if !fits(have, f.python) {
				t.Errorf("%s.%s is %s, Python expects %s", model, f.name, have, f.python)
			}
			if !fits(have, f.javascript) {
				mismatches = append(mismatches, model+"."+f.name)
			}
		}
	}
	slices.Sort(mismatches)
	if diff := cmp.Diff(slices.Sorted(slices.Values(sdkMismatches)), mismatches); diff != "" {
		t.Errorf("fields with a different type in JavaScript (-known +found):\n%s", diff)
	}
}

// schemaType returns the type of a property in the notation of sdkModels.
func schemaType(property map[string]any) string {
	null := ""
	kind, _ := property["type"].(string)
	if types, ok := property["type"].([]any); ok {
		kind, null = fmt.Sprint(types[0]), "?"
	}
	switch {
	case kind == "" && property["$ref"] != nil:
		kind = "object"
	case kind == "string" && property["format"] == "date":
		kind = "date"
	case kind == "array":
		kind = "objects"
		if items, _ := property["items"].(map[string]any); items["type"] == "string" {
			kind = "strings"
		}
	}
	return kind + null
}

// fits reports whether a client that expects one type can read another.
func fits(have, want string) bool {
	if want == "-" {
		return true
	}
	if strings.HasSuffix(have, "?") && !strings.HasSuffix(want, "?") {
		return false
	}
	have, want = strings.TrimSuffix(have, "?"), strings.TrimSuffix(want, "?")
	return have == want || have == "integer" && want == "number" || have == "date" && want == "string"
}

// TestOfficialSDKRecords checks demo records, and real ones if available, against the Python
// models.
func TestOfficialSDKRecords(t *testing.T) {
	models := sdkFields(t)
	t.Run("demo data", func(t *testing.T) {
		n := 0
		for c := range demo.Labels(demo.Options{Colas: 2_000, Seed: 3, AsOf: cola.DateOf(time.Now())}) {
			checkRecord(t, models, c)
			n++
		}
		if n != 2_000 {
			t.Errorf("%d records, want 2000", n)
		}
	})
	t.Run("sparse", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "sparse.jsonl")
		row := `{"ttb_id":"24001001000001","brand_name":"A","product_type":"wine","permit_number":"CA-W-1",` +
			`"images":[{"ttb_image_id":"1","image_url":"https://e.example/1.jpg"}],"barcodes":[{"barcode_value":"036000291452"}]}`
		if err := os.WriteFile(file, []byte(row), 0o600); err != nil {
			t.Fatal(err)
		}
		checkImported(t, models, 1, file)
	})
	t.Run("real", func(t *testing.T) {
		checkImported(t, models, 200, sharedData(t, "ttb/cola_export.csv"), sharedData(t, "ttb/cola_records.jsonl"))
	})
}

// checkImported imports labels, requires a minimum count, and checks each label against the Python
// models.
func checkImported(t *testing.T, models map[string][]sdkField, minimum int, files ...string) {
	t.Helper()
	h := embedded(t)
	h.run(t, append([]string{"import", "colas"}, files...)...)
	st := mustOpen(t, h)
	var ids []cola.TTBID
	_, err := st.ColasSince(t.Context(), 0, func(r *cola.IndexRecord) error {
		ids = append(ids, r.Summary.TTBID)
		return nil
	})
	if err != nil || len(ids) < minimum {
		t.Fatalf("%d records, %v, want at least %d", len(ids), err, minimum)
	}
	for _, id := range ids {
		c, err := st.Cola(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		checkRecord(t, models, &c)
	}
}

// checkRecord checks the list record and the detail view of a label against the Python models.
func checkRecord(t *testing.T, models map[string][]sdkField, c *cola.Cola) {
	t.Helper()
	detail, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for model, b := range map[string][]byte{"ColaDetail": detail, "ColaSummary": c.ColaSummary.AppendJSON(nil)} {
		var record map[string]any
		if err := json.Unmarshal(b, &record); err != nil {
			t.Fatal(err)
		}
		checkModel(t, models, model, record)
		for field, part := range map[string]string{"images": "Image", "barcodes": "Barcode"} {
			parts, _ := record[field].([]any)
			for _, p := range parts {
				checkModel(t, models, part, p.(map[string]any))
			}
		}
	}
}

func checkModel(t *testing.T, models map[string][]sdkField, model string, record map[string]any) {
	t.Helper()
	for _, f := range models[model] {
		value, ok := record[f.name]
		if list, is := value.([]any); is && len(list) == 0 &&
			(f.python == "objects" || strings.HasPrefix(f.python, "strings")) {
			continue
		}
		if f.python != "-" &&
			(!ok || !fits(valueType(value), f.python) && (value != nil || !strings.HasSuffix(f.python, "?"))) {
			t.Fatalf("%s %v: %s is %#v, Python expects %s (fields %q)",
				model, record["ttb_id"], f.name, value, f.python, slices.Sorted(maps.Keys(record)))
		}
	}
}

// valueType returns the type of a JSON value in the notation of sdkModels.
func valueType(value any) string {
	switch v := value.(type) {
	case string:
		if _, err := cola.ParseDate(v); err == nil {
			return "date"
		}
		return "string"
	case bool:
		return "boolean"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	case []any:
		if len(v) > 0 {
			if _, ok := v[0].(string); ok {
				return "strings"
			}
			return "objects"
		}
		return "empty"
	}
	return "null"
}
