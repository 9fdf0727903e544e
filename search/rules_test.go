package search

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// TestBarcodeFallsBackToText: a text in the shape of a barcode is one if a label with it matches the filters, and words if none
// does. An exact id is looked up whatever the filters.
func TestBarcodeFallsBackToText(t *testing.T) {
	const code = "036000291452"
	x := New(Options{ManualFold: true})
	defer x.Close()
	u := x.Begin()
	u.Label(labelWith(11054001000001, func(c *cola.Cola) { c.BarcodeValue, c.ProductType = code, vocabulary.Wine }))
	u.Label(labelWith(11054001000002, func(c *cola.Cola) { c.ProductName, c.ProductType = "BATCH "+code, vocabulary.MaltBeverage }))
	u.Label(labelWith(11054001000003, func(c *cola.Cola) { c.ProductName, c.ProductType = "BATCH "+code, vocabulary.Wine }))
	if err := u.Commit(Marks{Labels: 1}); err != nil {
		t.Fatal(err)
	}
	v := x.View()
	all := v.Subset([]cola.TTBID{11054001000001, 11054001000002, 11054001000003})
	for name, tt := range map[string]struct {
		query cola.Query
		want  []cola.TTBID
	}{
		"no filter":            {cola.Query{Text: code}, []cola.TTBID{11054001000001}},
		"with hyphens":         {cola.Query{Text: "0-36000-29145-2"}, []cola.TTBID{11054001000001}},
		"its filter":           {cola.Query{Text: code, ProductTypes: []string{"wine"}}, []cola.TTBID{11054001000001}},
		"another filter":       {cola.Query{Text: code, ProductTypes: []string{"malt beverage"}}, []cola.TTBID{11054001000002}},
		"a filter of neither":  {cola.Query{Text: code, ProductTypes: []string{"distilled spirits"}}, nil},
		"another window":       {cola.Query{Text: code, From: cola.NewDate(2030, 1, 1)}, nil},
		"an id":                {cola.Query{Text: "11054001000003"}, []cola.TTBID{11054001000003}},
		"an id, other filters": {cola.Query{Text: "11054001000003", ProductTypes: []string{"malt beverage"}}, nil},
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
	if told(facets[0]) != "wine: 1, malt beverage: 1" {
		t.Errorf("product types are %s", told(facets[0]))
	}
}

// TestFutureApprovalsDoNotMakeActive: an approval counts from its day on, and does not hide an earlier one.
func TestFutureApprovalsDoNotMakeActive(t *testing.T) {
	x := New(Options{ManualFold: true})
	defer x.Close()
	u := x.Begin()
	today := cola.NewDate(2026, 11, 20)
	for i, l := range []struct {
		permit   string
		approved cola.Date
	}{{"FUTURE", today.AddDays(1)}, {"BOTH", today.AddDays(30)}, {"BOTH", today.AddDays(-365)}, {"OLD", today.AddDays(30)}, {"OLD", today.AddDays(-366)}} {
		u.Label(labelWith(cola.TTBID(i+1), func(c *cola.Cola) { c.PermitNumber, c.ApprovalDate = l.permit, l.approved }))
		u.Permittee(&cola.Permittee{PermitNumber: l.permit})
	}
	if err := u.Commit(Marks{Labels: 1}); err != nil {
		t.Fatal(err)
	}
	v := x.View()
	for permit, want := range map[string]bool{"FUTURE": false, "BOTH": true, "OLD": false} {
		p, _ := v.Permittee(permit, today, 0)
		list := v.Permittees(cola.PermitteeSearch{Active: cola.Some(want), Today: today, Page: 1, PerPage: 10})
		listed := false
		for _, row := range list.Rows {
			listed = listed || row.PermitNumber == permit
		}
		if p.IsActive != want || !listed {
			t.Errorf("%s is active: %t, listed so: %t; want %t", permit, p.IsActive, listed, want)
		}
	}
	if p, _ := v.Permittee("FUTURE", today.AddDays(1), 0); !p.IsActive {
		t.Error("an approval does not count on its day")
	}
}
