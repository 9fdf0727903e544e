package search

import (
	"net/url"
	"reflect"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/params"
)

// TestEveryFilterExcludes checks that the index applies every filter: a label that has none of the
// example values is found by a search without filters, and excluded by each filter.
func TestEveryFilterExcludes(t *testing.T) {
	x := New(Options{ManualCompaction: true})
	defer x.Close()
	u := x.Begin()
	u.Label(labelWith(11054001000001, func(c *cola.Cola) {
		c.BrandName = "ZZZ"
		c.PermitNumber = "ZZ-9"
		c.ProductType = vocabulary.DistilledSpirits
		c.ApplicationStatus = vocabulary.StatusRevoked
		c.ApprovalDate, c.DateEstimate = 0, cola.NewDate(2010, 1, 1)
		c.ABV, c.Volume, c.VolumeUnit = cola.Some(50.0), cola.Some(50.0), "milliliters"
	}))
	if err := u.Commit(Marks{Labels: 1}); err != nil {
		t.Fatal(err)
	}
	total := func(q cola.Query) int { return x.View().Search(cola.ColaSearch{Query: q, Page: 1, PerPage: 1}).Total }
	if total(cola.Query{}) != 1 {
		t.Fatal("search without filters does not find the label")
	}
	example := func(f *cola.Filter, typ reflect.Type, index []int) string {
		switch {
		case f.Kind == cola.MinFilter:
			return "60"
		case f.Kind == cola.MaxFilter:
			return "40"
		case f.Param == "approval_date_to":
			return "2009-12-31"
		}
		return typ.FieldByIndex(index).Tag.Get("example")
	}
	search, saved := params.New[cola.SearchParams]("a test"), params.New[cola.SavedSearchParams]("a test")
	for f := range cola.Filters() {
		if f.Kind == cola.UnitFilter || f.Kind == cola.WindowFilter { // have no effect alone
			continue
		}
		if f.Param != "" {
			field := cola.FieldsOf[cola.SearchParams]()[cola.FieldIndex[cola.SearchParams](f.Param)]
			values := url.Values{
				f.Param:       {example(f, reflect.TypeFor[cola.SearchParams](), field.Index)},
				"volume_unit": {"milliliters"},
			}
			s, err := search.Read(search.Fields(values), nil).Normalize(asOf)
			if err != nil {
				t.Fatalf("Normalize(%v): %v", values, err)
			}
			if s.DefaultWindow {
				s.From, s.To = 0, 0
			}
			if n := total(s.Query); n != 0 {
				t.Errorf("filter %v: found the label, want it excluded", values)
			}
		}
		for _, name := range f.Saved {
			field := cola.FieldsOf[cola.SavedSearchFilters]()[cola.FieldIndex[cola.SavedSearchFilters](name)]
			value := example(f, reflect.TypeFor[cola.SavedSearchFilters](), field.Index)
			if len(f.Saved) > 1 {
				value = "true"
			}
			values := url.Values{"name": {"x"}, "filters." + name: {value}, "filters.volume_unit": {"milliliters"}}
			s, err := saved.Read(saved.Fields(values), nil).Normalize(asOf)
			if err != nil {
				t.Fatalf("Normalize(%v): %v", values, err)
			}
			if n := total(s.Filters.AsQuery()); n != 0 && name != "type_distilled_spirit" {
				t.Errorf("filter %v: found the label, want it excluded", values)
			}
		}
	}
}
