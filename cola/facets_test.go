package cola_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// walked returns a search with every parameter set, on its third page.
func walked() cola.SearchParams {
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
		"different type":       {walked().Choose(cola.FacetProductType, "malt beverage"), func(p *cola.SearchParams) { p.ProductType = []string{"malt beverage"} }},
		"different status":     {walked().Choose(cola.FacetStatus, "revoked"), func(p *cola.SearchParams) { p.Status = "revoked" }},
		"different category":   {walked().Choose(cola.FacetCategory, "Beer"), func(p *cola.SearchParams) { p.DerivedSubcategory = "Beer" }},
		"different origin":     {walked().Choose(cola.FacetOrigin, "IRAQ"), func(p *cola.SearchParams) { p.Origin = "IRAQ" }},
		"one container":        {walked().Choose(cola.FacetContainer, "keg"), func(p *cola.SearchParams) { p.ContainerType = []string{"keg"} }},
		"a leap year":          {walked().Choose(cola.FacetYear, "2020"), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 737425, 737790 }},
		"the first year":       {walked().Choose(cola.FacetYear, "1"), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 1, 365 }},
		"year 0":               {walked().Choose(cola.FacetYear, "0"), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 0, 0 }},
		"year 10000":           {walked().Choose(cola.FacetYear, "10000"), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 0, 0 }},
		"no type":              {walked().Without(cola.FacetProductType), func(p *cola.SearchParams) { p.ProductType = nil }},
		"no status":            {walked().Without(cola.FacetStatus), func(p *cola.SearchParams) { p.Status = "" }},
		"no category":          {walked().Without(cola.FacetCategory), func(p *cola.SearchParams) { p.DerivedSubcategory = "" }},
		"no origin":            {walked().Without(cola.FacetOrigin), func(p *cola.SearchParams) { p.Origin = "" }},
		"no container":         {walked().Without(cola.FacetContainer), func(p *cola.SearchParams) { p.ContainerType = nil }},
		"no year":              {walked().Without(cola.FacetYear), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 0, 0 }},
		"an unknown facet":     {walked().Choose("abv_min", "12"), func(*cola.SearchParams) {}},
		"a type more":          {walked().Toggle(cola.FacetProductType, "malt beverage"), func(p *cola.SearchParams) { p.ProductType = []string{"wine", "malt beverage"} }},
		"the only type off":    {walked().Toggle(cola.FacetProductType, "WINE "), func(p *cola.SearchParams) { p.ProductType = nil }},
		"a container more":     {walked().Toggle(cola.FacetContainer, "keg"), func(p *cola.SearchParams) { p.ContainerType = []string{"bottle", "can", "keg"} }},
		"a container less":     {walked().Toggle(cola.FacetContainer, "Bottle"), func(p *cola.SearchParams) { p.ContainerType = []string{"can"} }},
		"a status in place":    {walked().Toggle(cola.FacetStatus, "expired"), func(p *cola.SearchParams) { p.Status = "expired" }},
		"the status off":       {walked().Toggle(cola.FacetStatus, "Approved"), func(p *cola.SearchParams) { p.Status = "" }},
		"the origin off":       {walked().Toggle(cola.FacetOrigin, "FRANCE"), func(p *cola.SearchParams) { p.Origin = "" }},
		"an origin in place":   {walked().Toggle(cola.FacetOrigin, "ITALY"), func(p *cola.SearchParams) { p.Origin = "ITALY" }},
		"the category off":     {walked().Toggle(cola.FacetCategory, "wine>red  wine"), func(p *cola.SearchParams) { p.DerivedSubcategory = "" }},
		"a category in place":  {walked().Toggle(cola.FacetCategory, "Wine"), func(p *cola.SearchParams) { p.DerivedSubcategory = "Wine" }},
		"the year off":         {walked().Toggle(cola.FacetYear, "2024"), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 0, 0 }},
		"a year in its place":  {walked().Toggle(cola.FacetYear, "2025"), func(p *cola.SearchParams) { p.ApprovalDateFrom, p.ApprovalDateTo = 739252, 739616 }},
		"hostile words and so": {walked().Choose(cola.FacetOrigin, "<script>\x00"), func(p *cola.SearchParams) { p.Origin = "<script>\x00" }},
	} {
		want := walked()
		want.Page, want.Cursor = cola.Opt[int]{}, ""
		tt.change(&want)
		if len(want.ProductType) == 0 {
			want.ProductType = nil
		}
		if diff := cmp.Diff(want, tt.got, cmp.Transformer("none", func(s []string) []string { return append([]string(nil), s...) })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestChooseOtherFilters checks that building a link does not modify the parameters, so
// that the next link starts from the same ones.
func TestChooseOtherFilters(t *testing.T) {
	p := walked()
	p.ContainerType = append(make([]string, 0, 8), p.ContainerType...)
	for _, facet := range cola.Facets() {
		for _, value := range []string{"keg", "can", "bottle", "wine", "2024", "FRANCE"} {
			p.Choose(facet, value)
			p.Toggle(facet, value)
			p.Without(facet)
		}
	}
	if diff := cmp.Diff(walked(), p); diff != "" {
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
			if got := walked().Chosen(facet, value); got != want {
				t.Errorf("Chosen(%s, %q) = %v", facet, value, got)
			}
		}
	}
}
