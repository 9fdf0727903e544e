package registry_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// filterCase is a saved search's filters as JSON and an equivalent predicate.
type filterCase struct {
	filters string
	match   func(r *cola.IndexRecord) bool
}

// TestSavedSearchFilters checks that each filter, alone and combined, finds exactly the
// labels that match its predicate.
func TestSavedSearchFilters(t *testing.T) {
	w := mustWorld(t, 3_000)
	w.mustAddBothGeorgias(t)
	labels := w.labels(t)
	cases := w.filterCases(labels)
	covered := map[string]bool{}
	for _, k := range cases {
		t.Run(k.filters, func(t *testing.T) {
			var filters cola.SavedSearchFilters
			if err := json.Unmarshal([]byte(k.filters), &filters); err != nil {
				t.Fatal(err)
			}
			normalized, err := cola.SavedSearchParams{Name: "n", Filters: &filters}.Normalize(testNow)
			if err != nil {
				t.Fatal(err)
			}
			note(covered, k.filters)
			want := idsOf(labels, k.match)
			if len(want) == 0 || len(want) == len(labels) {
				t.Errorf("filters match %d of %d labels, want some but not all", len(want), len(labels))
			}
			if diff := cmp.Diff(want, w.idsFound(normalized.Filters.AsQuery())); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
	fields := reflect.TypeFor[cola.SavedSearchFilters]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if !covered[name] {
			t.Errorf("no test case for filter %s", name)
		}
	}
}

// note records the filters that a case sets.
func note(covered map[string]bool, filters string) {
	var members map[string]any
	if json.Unmarshal([]byte(filters), &members) == nil {
		for name := range members {
			covered[name] = true
		}
	}
}

// TestFiltersWithoutMatches checks that contradictory filters and unknown values match no labels
// rather than being ignored.
func TestFiltersWithoutMatches(t *testing.T) {
	w := mustWorld(t, 500)
	w.mustAddBothGeorgias(t)
	for _, filters := range []cola.SavedSearchFilters{
		{Country: "france", USState: "california"},
		{Country: "narnia"},
		{USState: "georgia", OriginImported: cola.Some(true)},
		{BrandName: "!"},
		{PermitNumberText: "!"},
		{Query: "!"},
		{BarcodeValue: "no such barcode"},
		{DerivedBeer: cola.Some(true), DerivedCategory: "Wine"},
	} {
		if got := w.idsFound(filters.AsQuery()); len(got) != 0 {
			t.Errorf("filters %+v match %d labels, want 0", filters, len(got))
		}
	}
	if got := w.idsFound(cola.SavedSearchFilters{OriginDomestic: cola.Some(true), OriginImported: cola.Some(true)}.AsQuery()); len(got) != len(w.labels(t)) {
		t.Errorf("both origins match %d labels, want all", len(got))
	}
}

// mustAddBothGeorgias adds a label from the state and one from the country, and waits until both
// are indexed.
func (w *world) mustAddBothGeorgias(t *testing.T) {
	t.Helper()
	var patches []cola.Patch[cola.Cola]
	for id, origin := range map[cola.TTBID]cola.Text{11054001000048: vocabulary.Domestic, 11054001000049: vocabulary.Imported} {
		c := cola.Cola{DomesticOrImported: origin}
		c.TTBID, c.BrandName, c.ProductType, c.PermitNumber, c.OriginName = id, "TBILISI & SONS", vocabulary.Wine, "NJ-I-721", "GEORGIA"
		patches = append(patches, cola.Patch[cola.Cola]{Record: c, Fields: cola.Fields(1)<<len(cola.FieldsOf[cola.Cola]()) - 1})
	}
	if _, err := w.store.UpsertColas(t.Context(), patches, store.Commit); err != nil {
		t.Fatal(err)
	}
	for tries := 0; len(w.idsFound(cola.Query{Text: "tbilisi"})) < 2; tries++ {
		if tries == 1_000 {
			t.Fatal("timed out waiting for the labels to be indexed")
		}
		time.Sleep(10 * time.Millisecond) // polling interval
	}
}

func (w *world) labels(t *testing.T) []cola.IndexRecord {
	t.Helper()
	var labels []cola.IndexRecord
	_, err := w.store.ColasSince(t.Context(), 0, func(r *cola.IndexRecord) error {
		labels = append(labels, *r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return labels
}

func (w *world) idsFound(q cola.Query) []cola.TTBID {
	ids := []cola.TTBID{}
	for _, row := range w.index.View().Search(cola.ColaSearch{Query: q, Page: 1, PerPage: 10_000}).Rows {
		ids = append(ids, row.TTBID)
	}
	slices.Sort(ids)
	return ids
}

// brandsLike returns the brands that a search for similar names finds with the default minimum
// score.
func (w *world) brandsLike(name string) map[string]bool {
	found := map[string]bool{}
	s := cola.BrandSearch{Name: name, MinScore: cola.DefaultMinScore, Page: 1, PerPage: 10_000}
	for _, row := range w.index.View().Brands(s).Rows {
		found[row.BrandName] = true
	}
	return found
}

func idsOf(labels []cola.IndexRecord, match func(*cola.IndexRecord) bool) []cola.TTBID {
	ids := []cola.TTBID{}
	for i := range labels {
		if match(&labels[i]) {
			ids = append(ids, labels[i].Summary.TTBID)
		}
	}
	slices.Sort(ids)
	return ids
}

func (w *world) filterCases(labels []cola.IndexRecord) []filterCase {
	some := labels[slices.IndexFunc(labels, func(r cola.IndexRecord) bool { return r.MainBarcode != "" })]
	permit := some.Summary.PermitNumber[1 : len(some.Summary.PermitNumber)-1]
	brand, _, _ := strings.Cut(some.Summary.BrandName, " ")
	similar := w.brandsLike(some.Summary.BrandName)
	word := func(text, word string) bool { return slices.Contains(strings.Fields(strings.ToLower(text)), word) }
	cases := []filterCase{
		{`{"query": "` + some.Summary.TTBID.String() + `"}`, func(r *cola.IndexRecord) bool { return r.Summary.TTBID == some.Summary.TTBID }},
		{`{"query": "table"}`, func(r *cola.IndexRecord) bool {
			s := &r.Summary
			return word(s.BrandName, "table") || word(string(s.ProductName), "table") || word(string(s.ClassName), "table") || word(r.AddressRecipient, "table")
		}},
		{`{"brand_name": " ` + brand[:len(brand)-1] + `"}`, func(r *cola.IndexRecord) bool { return strings.Contains(r.Summary.BrandName, brand[:len(brand)-1]) }},
		{`{"brand_similar_to": "` + strings.ToLower(some.Summary.BrandName) + `"}`, func(r *cola.IndexRecord) bool {
			return similar[r.Summary.BrandName]
		}},
		{`{"barcode_value": "` + some.MainBarcode[:3] + " - " + some.MainBarcode[3:] + `"}`, func(r *cola.IndexRecord) bool { return r.MainBarcode == some.MainBarcode }},
		{`{"permit_number_text": "` + strings.ToLower(permit) + `"}`, func(r *cola.IndexRecord) bool { return strings.Contains(r.Summary.PermitNumber, permit) }},
		{`{"grape": " zinfandel"}`, func(r *cola.IndexRecord) bool {
			return slices.ContainsFunc(r.GrapeVarietals, func(g string) bool { return strings.EqualFold(g, "Zinfandel") })
		}},
		{`{"appellation": "Bordeaux"}`, func(r *cola.IndexRecord) bool { return strings.EqualFold(r.WineAppellation, "Bordeaux") }},
		{`{"derived_category": "wine>red  wine"}`, func(r *cola.IndexRecord) bool { return vocabulary.PathWithin(categoryOf(r), "Wine > Red Wine") }},
		{`{"origin_domestic": true}`, func(r *cola.IndexRecord) bool { return r.DomesticOrImported == vocabulary.Domestic }},
		{`{"origin_imported": true, "origin_domestic": false}`, func(r *cola.IndexRecord) bool { return r.DomesticOrImported == vocabulary.Imported }},
		{`{"estimated_dates": "Exclude"}`, func(r *cola.IndexRecord) bool { return !r.Summary.DateIsEstimated }},
		{`{"applicant_us_state": "ca"}`, func(r *cola.IndexRecord) bool { return r.AddressState == "CA" }},
		{`{"applicant_us_state": "New York"}`, func(r *cola.IndexRecord) bool { return r.AddressState == "NY" }},
		{`{"class": " table red Wine"}`, func(r *cola.IndexRecord) bool { return r.Summary.ClassName == "TABLE RED WINE" }},
		{`{"abv_min": 40}`, func(r *cola.IndexRecord) bool { return r.ABV.OK && r.ABV.V >= 40 }},
		{`{"abv_max": 13.5}`, func(r *cola.IndexRecord) bool { return r.ABV.OK && r.ABV.V <= 13.5 }},
		{`{"abv_min": 12, "abv_max": 13.5}`, func(r *cola.IndexRecord) bool { return r.ABV.OK && r.ABV.V >= 12 && r.ABV.V <= 13.5 }},
		{`{"volume_min": 1, "volume_unit": "liters"}`, func(r *cola.IndexRecord) bool { return milliliters(r) >= 1000 }},
		{`{"volume_max": 0.75, "volume_unit": "LITERS"}`, func(r *cola.IndexRecord) bool { return milliliters(r) >= 0 && milliliters(r) <= 750 }},
		{`{"type_wine": true, "abv_min": 14, "us_state": "california"}`, func(r *cola.IndexRecord) bool {
			return r.Summary.ProductType == vocabulary.Wine && r.ABV.V >= 14 && r.Summary.OriginName == "CALIFORNIA"
		}},
	}
	return slices.Concat(cases, placeCases(), optionCases())
}

// categoryOf returns a label's category path. If none is stored, the class determines it.
func categoryOf(r *cola.IndexRecord) string {
	if r.CategoryPath == "" {
		return vocabulary.CategoryOfClass(r.ClassID, string(r.Summary.ClassName))
	}
	return r.CategoryPath
}

// milliliters returns a label's volume, or -1 if unknown.
func milliliters(r *cola.IndexRecord) float64 {
	ml, ok := vocabulary.Milliliters(r.Volume.V, r.VolumeUnit)
	if !ok || !r.Volume.OK {
		return -1
	}
	return ml
}

func placeCases() []filterCase {
	from := func(names ...string) func(*cola.IndexRecord) bool {
		return func(r *cola.IndexRecord) bool { return slices.Contains(names, string(r.Summary.OriginName)) }
	}
	return []filterCase{
		{`{"country": "French"}`, from("FRANCE")},
		{`{"country": "georgia"}`, from("GEORGIA")},
		{`{"country": "georgia", "origin_imported": true}`, func(r *cola.IndexRecord) bool {
			return from("GEORGIA")(r) && r.DomesticOrImported == vocabulary.Imported
		}},
		{`{"us_state": "GA"}`, func(r *cola.IndexRecord) bool {
			return from("GEORGIA")(r) && r.DomesticOrImported == vocabulary.Domestic
		}},
		{`{"us_state": "washingtonian"}`, from("WASHINGTON", "DISTRICT OF COLUMBIA")},
		{`{"us_state": "ca", "country": "united states"}`, from("CALIFORNIA")},
		{`{"country": "scottish", "us_state": ""}`, from("SCOTLAND")},
	}
}

// optionCases covers the type, category, container and status filters, alone and combined within a
// group.
func optionCases() []filterCase {
	container := func(words ...string) func(*cola.IndexRecord) bool {
		return func(r *cola.IndexRecord) bool { return slices.Contains(words, r.ContainerType) }
	}
	product := func(types ...vocabulary.ProductType) func(*cola.IndexRecord) bool {
		return func(r *cola.IndexRecord) bool { return slices.Contains(types, r.Summary.ProductType) }
	}
	root := func(words ...string) func(*cola.IndexRecord) bool {
		return func(r *cola.IndexRecord) bool { return slices.Contains(words, vocabulary.CategoryRoot(categoryOf(r))) }
	}
	cases := []filterCase{
		{`{"type_wine": true}`, product(vocabulary.Wine)},
		{`{"type_malt_beverage": true, "type_wine": false}`, product(vocabulary.MaltBeverage)},
		{`{"type_distilled_spirit": true}`, product(vocabulary.DistilledSpirits)},
		{`{"type_distilled_spirit": true, "type_malt_beverage": true}`, product(vocabulary.DistilledSpirits, vocabulary.MaltBeverage)},
		{`{"derived_beer": true}`, root("Beer")},
		{`{"derived_wine": true}`, root("Wine")},
		{`{"derived_liquor": true}`, root("Liquor")},
		{`{"derived_beer": true, "derived_wine": true, "derived_liquor": true}`, root("Beer", "Wine", "Liquor")},
		{`{"container_can": true, "container_keg": true}`, container("can", "keg")},
	}
	for _, word := range cola.ContainerTypes() {
		cases = append(cases, filterCase{`{"container_` + word + `": true}`, container(word)})
	}
	for _, status := range vocabulary.Statuses() {
		cases = append(cases, filterCase{`{"application_status": "` + status + `"}`, func(r *cola.IndexRecord) bool {
			return string(r.Summary.ApplicationStatus) == status
		}})
	}
	return cases
}

// TestBothGeorgias checks that terms for the United States never find labels from the country of
// Georgia, although the origin names are the same. A search by name finds labels from both; each
// origin has its own code.
func TestBothGeorgias(t *testing.T) {
	w := mustWorld(t, 50)
	w.mustAddBothGeorgias(t)
	const state, country = cola.TTBID(11054001000048), cola.TTBID(11054001000049)
	for word, want := range map[string][]cola.TTBID{
		"american": {state}, "usa": {state}, "us": {state}, "united states": {state}, "GA": {state}, "GE": {country}, "geo": {country},
		"georgia": {state, country}, "georgian": {state, country},
	} {
		for name, q := range map[string]cola.Query{
			"origin": {OriginNames: vocabulary.OriginNames(word)}, "country": cola.SavedSearchFilters{Country: word}.AsQuery(),
		} {
			q.Text = "tbilisi"
			if diff := cmp.Diff(want, w.idsFound(q)); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", name, word, diff)
			}
		}
	}
}
