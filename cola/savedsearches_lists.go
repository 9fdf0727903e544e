package cola

import "math"

// SavedSearchListParams are the parameters of the lists of saved searches, and of the runs and matches of one, as sent.
type SavedSearchListParams struct {
	Decoded
	Page    Opt[int] `json:"page" minimum:"1" default:"1" doc:"Page of the result." example:"1"`
	PerPage Opt[int] `json:"per_page" minimum:"1" maximum:"100" default:"20" doc:"Records a page." example:"20"`
}

// SavedSearchPage is a normalised request for one page of such a list.
type SavedSearchPage struct {
	Page    int // from 1
	PerPage int // 1 to MaxPerPage
}

// Normalize checks the parameters and settles them, or returns a validation Error that tells all problems at once. A list has no
// last page, but a page number must fit 32 bits.
func (p SavedSearchListParams) Normalize() (SavedSearchPage, error) {
	problems := p.Decoded.problems()
	page := SavedSearchPage{
		Page:    problems.integer("page", p.Page, 1, 1, math.MaxInt32),
		PerPage: problems.integer("per_page", p.PerPage, DefaultPerPage, 1, MaxPerPage),
	}
	if err := problems.Err(); err != nil {
		return SavedSearchPage{}, err
	}
	return page, nil
}

// PreviewDays is how many days a preview counts, today included.
const PreviewDays = 30

// PreviewParams are the body of POST /saved-searches/preview, as sent. Filters is nil when there is no such member.
type PreviewParams struct {
	Decoded
	Filters *SavedSearchFilters `json:"filters" doc:"What to look for, as a saved search would."`
}

// Normalize checks the filters and settles them, or returns a validation Error that tells all problems at once under dotted names
// such as filters.abv_min. Filters that narrow too little for a search that runs by itself are no problem.
func (p PreviewParams) Normalize() (SavedSearchFilters, error) {
	problems := p.Decoded.problems()
	var settled SavedSearchFilters
	if p.Filters == nil {
		problems.requireFilters()
	} else {
		settled = p.Filters.settle(problems)
	}
	if err := problems.Err(); err != nil {
		return SavedSearchFilters{}, err
	}
	return settled, nil
}

// SavedSearchPreview is what a saved search would have found lately.
type SavedSearchPreview struct {
	Total    int          `json:"total" doc:"Labels found on all of these days." example:"41"`
	Days     []PreviewDay `json:"days" nullable:"false" doc:"The last 30 days (UTC), today first."`
	TooBroad bool         `json:"too_broad" doc:"Whether the filters narrow too little for a search with a schedule." example:"false"`
}

// PreviewDay is what a saved search would have found on one day.
type PreviewDay struct {
	Date  Date `json:"date" doc:"Approval date." example:"2026-11-20"`
	Count int  `json:"count" doc:"Labels approved on that day that match, exact. Approvals may be published some days after their date." example:"3"`
}
