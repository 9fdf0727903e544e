package dashboard

import (
	"net/url"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
)

var exploredReader = params.New[cola.SearchParams]("this page")

// takeSearch fills the form with a search for labels, given in an address by the names of GET /colas. It notes filters that
// saved searches lack, and ignores other names.
func (f *searchForm) takeSearch(query url.Values) {
	if from := query.Get("from"); from != "" {
		query, _ = url.ParseQuery(strings.TrimPrefix(from, "?")) // what cannot be read is left out
	}
	values := slices.DeleteFunc(exploredReader.Fields(query), func(v params.Value) bool {
		_, known := exploredReader.Takes(v.Name)
		return !known
	})
	p := exploredReader.Read(values, nil)
	fillFilters(f.Typed, p.ForSavedSearch())
	f.noteNotTaken(p)
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
