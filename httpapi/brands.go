package httpapi

import (
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// brandPage is the body of GET /brands.
type brandPage struct {
	Data       []cola.BrandMatch `json:"data" nullable:"false" doc:"Brands on this page, highest score first."`
	Pagination cola.Pagination   `json:"pagination" doc:"Pagination details."`
	Notes      []string          `json:"notes,omitempty" nullable:"false" doc:"Number of similar brands on all pages, by kind of similarity." example:"[\"No identical brands; 1 sounds similar. This covers labels, not trademarks.\",\"Brands that score below 50 were left out.\"]"`
}

func brandOperations(svc Service) []operation {
	return []operation{{
		ID: "searchBrands", Path: "/brands", Tag: tagColas, Summary: "Check a brand name",
		Description: "Finds brands with names similar to the one you enter, with their labels and permittees. " +
			"Sorted by score, then by number of labels, highest first.\n\n" +
			"All dates and product types are searched. Spellings that differ only in case, accents or punctuation " +
			"count as one brand. The score depends only on the two names. Counts are exact. The result is not legal " +
			"advice: it covers labels, not trademarks.",
		Params: reflect.TypeFor[cola.BrandParams](), Sample: "q=Ravin+and+Oak&per_page=2",
		Response: reflect.TypeFor[brandPage](), Example: exampleBrands(), Rows: reflect.TypeFor[cola.BrandMatch](),
		Meter: cola.MeterListRecords,
		Cost: "One list record per brand returned. If you have too few list records left, the page is truncated to " +
			"the number you have left.",
		call: listCall(svc.SearchBrands, renderBrands),
	}}
}

func renderBrands(p registry.BrandPage) result {
	return result{
		body: jsonBody(brandPage{nonNilRows(p.Brands), p.Pagination, p.Notes}),
		list: pageOfList(web.Table{Rows: p.Brands}, p.Pagination, p.Notes),
	}
}
