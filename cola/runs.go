package cola

import "math"

// RunListParams are the parameters of the lists of runs and matches of a saved search, as sent.
type RunListParams struct {
	Decoded
	Page    Opt[int] `json:"page" minimum:"1" default:"1" doc:"Page of the result." example:"1"`
	PerPage Opt[int] `json:"per_page" minimum:"1" maximum:"100" default:"20" doc:"Records a page." example:"20"`
}

// Normalize checks the parameters and returns the page, from 1, and how many records a page has, 1 to MaxPerPage; or a validation Error
// that tells all problems at once. A list has no last page, but a page number must fit 32 bits.
func (p RunListParams) Normalize() (page, perPage int, err error) {
	f := findingsFrom(p.Decoded)
	page = f.integer("page", p.Page, 1, 1, math.MaxInt32)
	perPage = f.integer("per_page", p.PerPage, DefaultPerPage, 1, MaxPerPage)
	return page, perPage, f.err()
}
