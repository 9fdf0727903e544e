package cola_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// faceted returns a search with every facet set, on its third page.
func faceted() cola.SearchParams {
	return cola.SearchParams{
		Q: "oak", ProductType: []string{"wine"}, Category: []string{"Wine"}, DerivedSubcategory: "Wine > Red Wine", Origin: "french",
		Status: "approved", ContainerType: []string{"bottle", "can"}, ApprovalDateFrom: cola.NewDate(2024, 1, 1), ApprovalDateTo: cola.NewDate(2024, 12, 31),
		Page: cola.Some(3), PerPage: cola.Some(50), Cursor: "AQAB",
	}
}

func TestChoose(t *testing.T) {
	for name, tt := range map[string]struct {
		got    cola.SearchParams
		change func(p *cola.SearchParams)
	}{
		"different type":          {faceted().Choose(cola.FacetProductType, "malt beverage"), func(p *cola.SearchParams) { p.ProductType = []string{"malt beverage"} }},
		"different status":        {faceted().Choose(cola.FacetStatus, "revoked"), func(p *cola.SearchParams) { p.Status = "revoked" }},
		"different category":      {faceted().Choose(cola.FacetCategory, "Beer"), func(p *cola.SearchParams) { p.DerivedSubcategory = "Beer" }},
		"different origin":        {faceted().Choose(cola.FacetOrigin, "IRAQ"), func(p *cola.SearchParams) { p.Origin = "IRAQ" }},
		"one container":           {faceted().Choose(cola.FacetContainer, "keg"), func(p *cola.SearchParams) { p.ContainerType = []string{"keg"} }},
		"a leap year":             {faceted().Choose(cola.FacetYear, "2020"), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 737425, 737790 }},
		"the first year":          {faceted().Choose(cola.FacetYear, "1"), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 1, 365 }},
		"year 0":                  {faceted().Choose(cola.FacetYear, "0"), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 0, 0 }},
		"year 10000":              {faceted().Choose(cola.FacetYear, "10000"), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 0, 0 }},
		"no type":                 {faceted().Without(cola.FacetProductType), func(p *cola.SearchParams) { p.ProductType = nil }},
		"no status":               {faceted().Without(cola.FacetStatus), func(p *cola.SearchParams) { p.Status = "" }},
		"no category":             {faceted().Without(cola.FacetCategory), func(p *cola.SearchParams) { p.DerivedSubcategory = "" }},
		"no origin":               {faceted().Without(cola.FacetOrigin), func(p *cola.SearchParams) { p.Origin = "" }},
		"no container":            {faceted().Without(cola.FacetContainer), func(p *cola.SearchParams) { p.ContainerType = nil }},
		"no year":                 {faceted().Without(cola.FacetYear), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 0, 0 }},
		"an unknown facet":        {faceted().Choose("abv_min", "12"), func(*cola.SearchParams) {}},
		"an additional type":      {faceted().Toggle(cola.FacetProductType, "malt beverage"), func(p *cola.SearchParams) { p.ProductType = []string{"wine", "malt beverage"} }},
		"only type removed":       {faceted().Toggle(cola.FacetProductType, "WINE "), func(p *cola.SearchParams) { p.ProductType = nil }},
		"an additional container": {faceted().Toggle(cola.FacetContainer, "keg"), func(p *cola.SearchParams) { p.ContainerType = []string{"bottle", "can", "keg"} }},
		"one container removed":   {faceted().Toggle(cola.FacetContainer, "Bottle"), func(p *cola.SearchParams) { p.ContainerType = []string{"can"} }},
		"status replaced":         {faceted().Toggle(cola.FacetStatus, "expired"), func(p *cola.SearchParams) { p.Status = "expired" }},
		"status removed":          {faceted().Toggle(cola.FacetStatus, "Approved"), func(p *cola.SearchParams) { p.Status = "" }},
		"origin removed":          {faceted().Toggle(cola.FacetOrigin, "FRANCE"), func(p *cola.SearchParams) { p.Origin = "" }},
		"origin replaced":         {faceted().Toggle(cola.FacetOrigin, "ITALY"), func(p *cola.SearchParams) { p.Origin = "ITALY" }},
		"category removed":        {faceted().Toggle(cola.FacetCategory, "wine>red  wine"), func(p *cola.SearchParams) { p.DerivedSubcategory = "" }},
		"category replaced":       {faceted().Toggle(cola.FacetCategory, "Wine"), func(p *cola.SearchParams) { p.DerivedSubcategory = "Wine" }},
		"year removed":            {faceted().Toggle(cola.FacetYear, "2024"), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 0, 0 }},
		"year replaced":           {faceted().Toggle(cola.FacetYear, "2025"), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 739252, 739616 }},
		"hostile input":           {faceted().Choose(cola.FacetOrigin, "<script>\x00"), func(p *cola.SearchParams) { p.Origin = "<script>\x00" }},
	} {
		want := faceted()
		want.Page, want.Cursor = cola.Opt[int]{}, ""
		tt.change(&want)
		if diff := cmp.Diff(want, tt.got, cmp.Transformer("none", func(s []string) []string { return append([]string(nil), s...) })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFixDates checks that fixed dates cover the same labels as the search's default dates, and
// that FreeDates removes only those.
func TestFixDates(t *testing.T) {
	now := cola.NewDate(2025, 9, 1).Time()
	first, last := cola.NewDate(2024, 9, 1), cola.NewDate(2025, 9, 1)
	for name, tt := range map[string]struct{ p, want cola.SearchParams }{
		"default window": {cola.SearchParams{Q: "oak"}, cola.SearchParams{Q: "oak", ApprovalDateFrom: first, ApprovalDateTo: last}},
		"a status that covers all dates": {
			cola.SearchParams{Status: " Expired"}, cola.SearchParams{Status: " Expired", DateRange: cola.AllDates},
		},
		"an ID":      {cola.SearchParams{Q: "11054001000049"}, cola.SearchParams{Q: "11054001000049", DateRange: cola.AllDates}},
		"all dates":  {cola.SearchParams{DateRange: "ALL"}, cola.SearchParams{DateRange: "ALL"}},
		"other date": {cola.SearchParams{ApprovalDateTo: first}, cola.SearchParams{ApprovalDateTo: first}},
		"invalid":    {cola.SearchParams{Status: "gone"}, cola.SearchParams{Status: "gone", ApprovalDateFrom: first, ApprovalDateTo: last}},
	} {
		got := tt.p.FixDates(now)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: FixDates (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.p, got.FreeDates(now)); diff != "" {
			t.Errorf("%s: FreeDates (-want +got):\n%s", name, diff)
		}
		before, err := tt.p.Normalize(now)
		if err != nil {
			continue
		}
		after, err := got.Normalize(now)
		if diff := cmp.Diff(before.Query, after.Query); err != nil || diff != "" {
			t.Errorf("%s: query (-default +fixed): %v\n%s", name, err, diff)
		}
	}
}

// TestChooseLeavesParams checks that Choose, Toggle and Without don't modify the parameters, so
// every link starts from the same search.
func TestChooseLeavesParams(t *testing.T) {
	p := faceted()
	p.ContainerType = append(make([]string, 0, 8), p.ContainerType...)
	for _, facet := range cola.Facets() {
		for _, value := range []string{"keg", "can", "bottle", "wine", "2024", "FRANCE"} {
			p.Choose(facet, value)
			p.Toggle(facet, value)
			p.Without(facet)
		}
	}
	if diff := cmp.Diff(faceted(), p); diff != "" {
		t.Errorf("parameters changed (-before +after):\n%s", diff)
	}
	one, other := p.Toggle(cola.FacetContainer, "keg"), p.Toggle(cola.FacetContainer, "box")
	if one.ContainerType[2] != "keg" || other.ContainerType[2] != "box" {
		t.Errorf("results share a list: %q, %q", one.ContainerType, other.ContainerType)
	}
}

func TestChosen(t *testing.T) {
	var none cola.SearchParams
	for _, facet := range cola.Facets() {
		for _, value := range []string{"", "wine", "approved", "2024", " "} {
			if none.Chosen(facet, value) {
				t.Errorf("Chosen(%s, %q) = true for an empty search", facet, value)
			}
		}
	}
	for facet, values := range map[string]map[string]bool{
		cola.FacetProductType: {"Wine": true, "malt beverage": false}, cola.FacetStatus: {"approved": true, "expired": false},
		cola.FacetCategory: {"WINE > red wine": true, "Wine": false}, cola.FacetOrigin: {"FRANCE": true, "French": true, "FRENCH GUIANA": false},
		cola.FacetContainer: {"can": true, "bottle": true, "keg": false}, cola.FacetYear: {"2024": true, "2023": false, "": false},
		"other": {"x": false},
	} {
		for value, want := range values {
			if got := faceted().Chosen(facet, value); got != want {
				t.Errorf("Chosen(%s, %q) = %v", facet, value, got)
			}
		}
	}
}
