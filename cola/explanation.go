package cola

// Explanation tells why a saved search finds a label or does not.
type Explanation struct {
	TTBID   TTBID             `json:"ttb_id" doc:"The label." example:"26282001000009"`
	Label   ColaSummary       `json:"label" doc:"The label as it is now."`
	Matches bool              `json:"matches" doc:"Whether the label meets the filters as both are now." example:"false"`
	Filters []FilterFinding   `json:"filters" nullable:"false" doc:"What each filter makes of it. Options of one group mean any of them: one that is met is enough."`
	Found   *SavedSearchMatch `json:"found" ornull:"true" doc:"The match, when a run has found the label."`
	Verdict string            `json:"verdict" enum:"found,next_run,not_yet,filters,never_news,too_old,passed,not_scheduled" doc:"found: a run has found it. next_run: the next run will, as things are. not_yet: it is approved on a day to come. filters: it does not meet them. never_news: it was there before it could be news, loaded with the history of the registry. too_old: it arrived more than 90 days after its approval, as counted from the run that looked at what had arrived then. passed: runs have looked at its time, and it did not match them then. not_scheduled: nothing runs the search." example:"filters"`
	Message string            `json:"message" doc:"The verdict in a sentence." example:"It does not meet brand_name, so no run finds it."`
}

// The verdicts of an Explanation.
const (
	VerdictFound        = "found"
	VerdictNextRun      = "next_run"
	VerdictNotYet       = "not_yet"
	VerdictFilters      = "filters"
	VerdictNeverNews    = "never_news"
	VerdictTooOld       = "too_old"
	VerdictPassed       = "passed"
	VerdictNotScheduled = "not_scheduled"
)

// FilterFinding is what one filter of a saved search makes of a label.
type FilterFinding struct {
	Filter string      `json:"filter" doc:"Name of the filter." example:"brand_name"`
	Group  Opt[string] `json:"group" nullable:"true" doc:"What several options of which any is enough have in common: type, category, origin or container. Null for a filter that has to be met by itself." example:"type"`
	Sought any         `json:"sought" doc:"What the filter asks for." example:"heron"`
	Met    bool        `json:"met" doc:"Whether the label meets it." example:"false"`
}
