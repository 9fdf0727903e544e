package cola

// Explanation tells why a saved search finds a label or does not.
type Explanation struct {
	TTBID   TTBID             `json:"ttb_id" pattern:"^[0-9]{14}$" doc:"COLA identifier of the label, 14 digits." example:"26282001000009"`
	Label   ColaSummary       `json:"label" doc:"The label as it is now."`
	Matches bool              `json:"matches" doc:"Whether the label meets the filters as both are now." example:"false"`
	Filters []FilterFinding   `json:"filters" nullable:"false" doc:"What each filter makes of it, by itself. Options of one group mean any of them: one that is met is enough. Both origins together are no filter and are left out, and a volume_unit goes with its bounds."`
	Found   *SavedSearchMatch `json:"found" ornull:"true" doc:"The match, when a run has found the label."`
	Verdict string            `json:"verdict" enum:"found,next_run,not_yet,filters,never_news,before_search,too_old,passed,not_scheduled" doc:"found: a run has found it. filters: it does not meet them. not_scheduled: nothing runs the search: it has no schedule, or that is paused. never_news: it was there before it could be news, loaded with the history of the registry. not_yet: it is approved on a day to come, or no approval date is known. next_run: the next run finds it, as things are. before_search: it was approved, and had reached the registry, before the search was made. too_old: it reached the registry more than 90 days after its approval, as counted from the run that looks at what arrived then. passed: runs have looked at its time, and it did not meet the filters then." example:"filters"`
	Message string            `json:"message" doc:"The verdict in a sentence or two." example:"It does not meet brand_name, so no run finds it while that is so."`
}

// The verdicts of an Explanation, as its description tells them. Where several hold, the first of them is given.
const (
	VerdictFound        = "found"
	VerdictFilters      = "filters"
	VerdictNotScheduled = "not_scheduled"
	VerdictNeverNews    = "never_news"
	VerdictNotYet       = "not_yet"
	VerdictNextRun      = "next_run"
	VerdictBeforeSearch = "before_search"
	VerdictTooOld       = "too_old"
	VerdictPassed       = "passed"
)

// FilterFinding is what one filter of a saved search makes of a label.
type FilterFinding struct {
	Filter string      `json:"filter" doc:"Name of the filter." example:"brand_name"`
	Group  Opt[string] `json:"group" nullable:"true" enum:"type,category,origin,container" doc:"What several options of which any is enough have in common: type, category, origin or container. Null for a filter that has to be met by itself." example:"type"`
	Sought any         `json:"sought" doc:"What the filter asks for: a text, a number, or true." example:"\"heron\""`
	Met    bool        `json:"met" doc:"Whether the label meets it." example:"false"`
}
