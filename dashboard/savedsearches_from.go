package dashboard

import (
	"net/url"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
)

var exploredReader = params.New[cola.SearchParams]("this page")

// takeSearch fills the form with a search for labels, given in an address by the names of GET /colas. What a saved search has no filter for is noted; what is no
// parameter of a search is passed over.
func (f *searchForm) takeSearch(query url.Values) {
	if from := query.Get("from"); from != "" {
		query, _ = url.ParseQuery(strings.TrimPrefix(from, "?")) // what cannot be read is left out
	}
	values := slices.DeleteFunc(exploredReader.Fields(query), func(v params.Value) bool {
		_, known := exploredReader.Takes(v.Name)
		return !known
	})
	p := exploredReader.Read(values, nil)
	for name, text := range map[string]string{
		"query": p.Q, "brand_name": p.BrandName, "barcode_value": p.BarcodeValue, "derived_category": p.DerivedSubcategory, "country": p.Origin,
		"application_status": strings.ToLower(strings.TrimSpace(p.Status)), "volume_unit": strings.ToLower(strings.TrimSpace(p.VolumeUnit)),
	} {
		f.fill(name, text)
	}
	for name, bound := range map[string]cola.Opt[float64]{"abv_min": p.ABVMin, "abv_max": p.ABVMax, "volume_min": p.VolumeMin, "volume_max": p.VolumeMax} {
		if bound.OK {
			f.fill(name, plainValue(bound.V))
		}
	}
	for _, kind := range p.ProductType {
		f.tick(kindBoxes[strings.ToLower(kind)])
	}
	for prefix, words := range map[string][]string{"derived_": p.Category, "container_": p.ContainerType, "origin_": {p.DomesticOrImported}} {
		for _, word := range words {
			f.tick(prefix + strings.ToLower(strings.TrimSpace(word)))
		}
	}
	f.noteNotTaken(p)
}

func (f *searchForm) fill(name, text string) {
	if text != "" {
		f.Typed.Set("filters."+name, text)
	}
}

// kindBoxes are the boxes of the product types.
var kindBoxes = map[string]string{
	string(cola.Wine): "type_wine", string(cola.MaltBeverage): "type_malt_beverage", string(cola.DistilledSpirits): "type_distilled_spirit",
}

// tick ticks a box, if the form has it.
func (f *searchForm) tick(name string) {
	for _, group := range boxNames {
		for _, box := range group {
			if box[0] == name {
				f.fill(name, "true")
			}
		}
	}
}

// noteNotTaken notes what a saved search has no filter for.
func (f *searchForm) noteNotTaken(p cola.SearchParams) {
	if p.ApprovalDateFrom != 0 || p.ApprovalDateTo != 0 || len(p.Problems["approval_date_from"])+len(p.Problems["approval_date_to"]) > 0 {
		f.NotTaken = append(f.NotTaken, "The approval dates: a saved search looks at the time since its run before.")
	}
	if p.PermitNumber != "" {
		f.NotTaken = append(f.NotTaken, "The exact permit number "+cola.Quoted(p.PermitNumber)+": a saved search looks for a part of it, under “Numbers and status”.")
	}
	delete(p.Problems, "approval_date_from")
	delete(p.Problems, "approval_date_to")
	if len(p.Problems) > 0 {
		f.NotTaken = append(f.NotTaken, "What could not be read.")
	}
}
