package search

import (
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/google/go-cmp/cmp"
)

// checkMatches compares Matches with the reference implementation for one random query and a subset
// of the labels.
func (h *harness) checkMatches() {
	h.t.Helper()
	s, want := h.search()
	part := cola.TTBID(1 + h.IntN(4)) // every label, every second one, …
	ids := []cola.TTBID{1}            // an ID without a label
	for id := range h.registry.labels {
		if id%part == 0 {
			ids = append(ids, id, id)
		}
	}
	var expected []cola.Position
	for _, l := range h.registry.searchAmong(&s.Query, want, func(id cola.TTBID) bool { return id%part == 0 }) {
		expected = append(expected, cola.Position{Date: effective(&l.Summary), TTBID: l.Summary.TTBID})
	}
	v := h.index.View()
	if diff := cmp.Diff(expected, v.Matches(s.Query, v.Subset(ids))); diff != "" {
		h.t.Fatalf("Matches(%+v) among every %d-th label (-want +got):\n%s", s.Query, part, diff)
	}
}

// TestMatchesInOldView checks that Matches and Label use the labels of their own view, even after
// the index has changed, and that Matches finds only labels in the subset.
func TestMatchesInOldView(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	mustPublish := func(id cola.TTBID, brand string) {
		u := x.Begin()
		u.Label(&cola.IndexRecord{Summary: cola.ColaSummary{TTBID: id, BrandName: brand, ApprovalDate: 7}})
		if err := u.Commit(Marks{}); err != nil {
			t.Fatal(err)
		}
	}
	oaks := func(v *View, among *Subset) int { return len(v.Matches(cola.Query{BrandName: "oak"}, among)) }
	mustPublish(26001001000001, "OAK")
	before := x.View()
	all := before.Subset([]cola.TTBID{26001001000001, 26001001000002})
	mustPublish(26001001000001, "ELM")
	mustPublish(26001001000002, "OAK HILL")
	after := x.View()
	if n := oaks(before, all); n != 1 {
		t.Errorf("old view: %d labels match, want 1", n)
	}
	if n := oaks(after, after.Subset([]cola.TTBID{26001001000001})); n != 0 {
		t.Errorf("match outside the subset: %d labels match, want 0", n)
	}
	if n := oaks(after, after.Subset(nil)); n != 0 {
		t.Errorf("empty subset: %d labels match, want 0", n)
	}
	for id, want := range map[cola.TTBID]string{
		26001001000001: "ELM",
		26001001000002: "OAK HILL",
		26001001000003: "",
		0:              "",
	} {
		if label, ok := after.Label(id); ok != (want != "") || label.BrandName != want || ok && label.TTBID != id {
			t.Errorf("Label(%v) = %+v, %t; want brand name %q", id, label, ok, want)
		}
	}
	if label, _ := before.Label(26001001000001); label.BrandName != "OAK" {
		t.Errorf("Label in the old view = %+v, want OAK", label)
	}
}

// TestBarcodeFallback checks that text that looks like a barcode is searched as a barcode if a
// label with that barcode matches the filters, and as words otherwise. The ID of a label is never
// searched as words, even if the label does not match the filters.
func TestBarcodeFallback(t *testing.T) {
	const code = "036000291452"
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	u := x.Begin()
	u.Label(labelWith(11054001000001, func(c *cola.Cola) { c.BarcodeValue, c.ProductType = code, vocabulary.Wine }))
	u.Label(labelWith(11054001000002,
		func(c *cola.Cola) { c.ProductName, c.ProductType = "BATCH "+code, vocabulary.MaltBeverage }))
	u.Label(labelWith(11054001000003,
		func(c *cola.Cola) { c.ProductName, c.ProductType = "BATCH "+code, vocabulary.Wine }))
	if err := u.Commit(Marks{Labels: 1}); err != nil {
		t.Fatal(err)
	}
	v := x.View()
	all := v.Subset([]cola.TTBID{11054001000001, 11054001000002, 11054001000003})
	for name, tt := range map[string]struct {
		query cola.Query
		want  []cola.TTBID
	}{
		"no filter":       {cola.Query{Text: code}, []cola.TTBID{11054001000001}},
		"hyphens":         {cola.Query{Text: "0-36000-29145-2"}, []cola.TTBID{11054001000001}},
		"matching filter": {cola.Query{Text: code, ProductTypes: []string{"wine"}}, []cola.TTBID{11054001000001}},
		"filter for another label": {
			cola.Query{Text: code, ProductTypes: []string{"malt beverage"}},
			[]cola.TTBID{11054001000002},
		},
		"filter without matches":         {cola.Query{Text: code, ProductTypes: []string{"distilled spirits"}}, nil},
		"window without matches":         {cola.Query{Text: code, From: cola.NewDate(2030, 1, 1)}, nil},
		"TTB ID":                         {cola.Query{Text: "11054001000003"}, []cola.TTBID{11054001000003}},
		"TTB ID, filter without matches": {cola.Query{Text: "11054001000003", ProductTypes: []string{"malt beverage"}}, nil},
	} {
		var found, matched []cola.TTBID
		for _, row := range v.Search(cola.ColaSearch{Query: tt.query, Page: 1, PerPage: 10}).Rows {
			found = append(found, row.TTBID)
		}
		for _, p := range v.Matches(tt.query, all) {
			matched = append(matched, p.TTBID)
		}
		if diff := cmp.Diff(tt.want, found) + cmp.Diff(tt.want, matched); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	facets := mustFacets(t, v, cola.SearchParams{Q: code, ApprovalDateFrom: cola.NewDate(2005, 1, 1)})
	if describe(facets[0]) != "wine: 1, malt beverage: 1" {
		t.Errorf("product types = %s, want wine: 1, malt beverage: 1", describe(facets[0]))
	}
}
