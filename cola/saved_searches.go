package cola

import (
	"math"
	"time"
)

// MaxActiveSchedules is the maximum number of active schedules per account.
const MaxActiveSchedules = 10

// Limits on the free use of saved searches. Messages, feeds and previews omit labels beyond their
// limit; listing those costs one list record each. Further manual runs are rejected.
const (
	MaxMessageLabels      = 25                                    // in a message about a scheduled run, and in a feed document
	MaxDailyMessageLabels = MaxActiveSchedules * MaxMessageLabels // in all messages, per account per UTC day
	MaxPreviewLabels      = 5                                     // in a preview
	MaxDailyPreviewLabels = 100                                   // distinct, in all previews, per account per UTC day
	MaxDailyManualRuns    = 24                                    // per account per UTC day
)

// MaxSavedSearches is the maximum number of saved searches per account, scheduled or not.
const MaxSavedSearches = 1_000

// SavedSearchFilters are the filters of a saved search. Empty values and false booleans are absent.
type SavedSearchFilters struct {
	Query               string       `json:"query,omitzero" doc:"Full-text search, as in the label search's q parameter." maxLength:"200" example:"barrel aged"`
	BrandName           string       `json:"brand_name,omitzero" doc:"Part of the brand name; in \"quotes\", the whole name." maxLength:"200" example:"oak"`
	BarcodeValue        string       `json:"barcode_value,omitzero" doc:"Main barcode; spaces and hyphens are ignored." maxLength:"200" example:"036000291452"`
	ApplicationStatus   string       `json:"application_status,omitzero" enum:"approved,expired,surrendered,revoked" doc:"Status of the approval." example:"approved"`
	TypeMaltBeverage    Opt[bool]    `json:"type_malt_beverage,omitzero" doc:"Malt beverages." example:"false"`
	TypeWine            Opt[bool]    `json:"type_wine,omitzero" doc:"Wine." example:"true"`
	TypeDistilledSpirit Opt[bool]    `json:"type_distilled_spirit,omitzero" doc:"Distilled spirits." example:"false"`
	DerivedBeer         Opt[bool]    `json:"derived_beer,omitzero" doc:"Beer category." example:"false"`
	DerivedWine         Opt[bool]    `json:"derived_wine,omitzero" doc:"Wine category." example:"true"`
	DerivedLiquor       Opt[bool]    `json:"derived_liquor,omitzero" doc:"Liquor category." example:"false"`
	DerivedCategory     string       `json:"derived_category,omitzero" doc:"Category path prefix, levels joined by ' > '. Old names of renamed paths also work if an alias maps them to the current path." maxLength:"200" example:"Wine > Red Wine"`
	OriginDomestic      Opt[bool]    `json:"origin_domestic,omitzero" doc:"Made in the United States. If origin_imported is also true, any origin matches." example:"true"`
	OriginImported      Opt[bool]    `json:"origin_imported,omitzero" doc:"Made outside the United States. If origin_domestic is also true, any origin matches." example:"false"`
	Country             string       `json:"country,omitzero" doc:"Origin or country, as in the label search's origin parameter: name, adjective or code." maxLength:"200" example:"france"`
	USState             string       `json:"us_state,omitzero" doc:"US state of origin: name, adjective or two-letter code." maxLength:"200" example:"california"`
	PermitNumberText    string       `json:"permit_number_text,omitzero" doc:"Part of the permit number." maxLength:"200" example:"CA-W"`
	ApplicantUSState    string       `json:"applicant_us_state,omitzero" doc:"US state of the applicant: two-letter code or name." maxLength:"200" example:"CA"`
	ABVMin              Opt[float64] `json:"abv_min,omitzero" minimum:"0" maximum:"100" doc:"Minimum ABV, percent. Narrows the search if above 0." example:"12"`
	ABVMax              Opt[float64] `json:"abv_max,omitzero" minimum:"0" maximum:"100" doc:"Maximum ABV, percent. Narrows the search if below 100." example:"14.5"`
	VolumeUnit          string       `json:"volume_unit,omitzero" enum:"beer barrels,fluid ounces,gallons,liters,milliliters,pints,quarts" doc:"Unit of volume_min and volume_max; required with either." example:"milliliters"`
	VolumeMin           Opt[float64] `json:"volume_min,omitzero" minimum:"0" doc:"Minimum net contents, in volume_unit." example:"700"`
	VolumeMax           Opt[float64] `json:"volume_max,omitzero" minimum:"0" doc:"Maximum net contents, in volume_unit." example:"1000"`
	ContainerBottle     Opt[bool]    `json:"container_bottle,omitzero" doc:"Bottles." example:"true"`
	ContainerCan        Opt[bool]    `json:"container_can,omitzero" doc:"Cans." example:"false"`
	ContainerKeg        Opt[bool]    `json:"container_keg,omitzero" doc:"Kegs." example:"false"`
	ContainerBox        Opt[bool]    `json:"container_box,omitzero" doc:"Boxes." example:"false"`
	ContainerCask       Opt[bool]    `json:"container_cask,omitzero" doc:"Casks." example:"false"`
	ContainerPouch      Opt[bool]    `json:"container_pouch,omitzero" doc:"Pouches." example:"false"`
	ContainerPod        Opt[bool]    `json:"container_pod,omitzero" doc:"Pods." example:"false"`
	ContainerCarton     Opt[bool]    `json:"container_carton,omitzero" doc:"Cartons." example:"false"`
	ContainerBag        Opt[bool]    `json:"container_bag,omitzero" doc:"Bags." example:"false"`
	ContainerJug        Opt[bool]    `json:"container_jug,omitzero" doc:"Jugs." example:"false"`
	Grape               string       `json:"grape,omitzero" doc:"Grape variety." maxLength:"200" example:"Zinfandel"`
	Appellation         string       `json:"appellation,omitzero" doc:"Appellation, including areas inside it." maxLength:"200" example:"Napa Valley"`
	EstimatedDates      string       `json:"estimated_dates,omitzero" enum:"exclude" doc:"exclude: leave out labels whose approval date is only estimated." example:"exclude"`
	BrandSimilarTo      string       `json:"brand_similar_to,omitzero" doc:"Labels for brands that score 50 or more in a brand check for this name." maxLength:"100" example:"Ravin and Oak"`
	Class               string       `json:"class,omitzero" doc:"Exact class/type name." maxLength:"200" example:"TABLE RED WINE"`
}

// ScheduleParams is the schedule of a saved search, as sent.
type ScheduleParams struct {
	Cadence string    `json:"cadence" enum:"daily,weekly,monthly" doc:"How often the search runs." example:"weekly"`
	Day     Opt[int]  `json:"day,omitzero" minimum:"0" maximum:"28" doc:"weekly: day of the week, 0 to 6, default 0 (Sunday). monthly: day of the month, 1 to 28, default 1. daily: ignored." example:"1"`
	Active  Opt[bool] `json:"active,omitzero" doc:"Defaults to true. Set to false to save the schedule as paused." example:"true"`
}

// SavedSearchParams are the body of POST /saved-searches and the arguments of create_saved_search.
// Filters and Schedule are nil if absent, which differs from an empty object.
type SavedSearchParams struct {
	Decoded
	Name     string              `json:"name" minLength:"1" maxLength:"200" doc:"Name of the search." example:"New Oak brands"`
	Filters  *SavedSearchFilters `json:"filters" doc:"Labels must match all filters. With multiple types, categories or containers, any one of them is enough. There is no date filter: each scheduled run covers the time since the previous one."`
	Schedule *ScheduleParams     `json:"schedule,omitempty" doc:"Makes the search an alert. Alerts need at least one filter that narrows the search."`

	// IdempotencyKey makes a repeated request return the same search: 1 to 255 visible ASCII
	// characters, or empty.
	IdempotencyKey string `json:"-"`
}

// The cadences.
const (
	CadenceDaily   = "daily"
	CadenceWeekly  = "weekly"
	CadenceMonthly = "monthly"
)

// Cadences lists every cadence.
func Cadences() []string { return []string{CadenceDaily, CadenceWeekly, CadenceMonthly} }

// RunHour is the hour, in UTC, at which schedules run. By then, the previous day is over on the US
// East Coast.
const RunHour = 6

// LateDays is how far before its window, in days, a run looks for labels that arrived since the
// previous run. TTB publishes approvals days, sometimes weeks, after their date.
const LateDays = 90

// Schedule is when a saved search runs.
type Schedule struct {
	Active    bool           `json:"active" doc:"Whether the schedule is active." example:"true"`
	Cadence   string         `json:"cadence" enum:"daily,weekly,monthly" doc:"How often the search runs." example:"weekly"`
	Day       int            `json:"day" doc:"weekly: day of the week, 0 is Sunday. monthly: day of the month. daily: 0." example:"1"`
	NextRunAt Opt[Timestamp] `json:"next_run_at" nullable:"true" format:"date-time" doc:"Time of the next run (UTC); null if paused or on hold." example:"2026-11-23T06:00:00Z"`
	LastRunAt Opt[Timestamp] `json:"last_run_at" nullable:"true" format:"date-time" doc:"Time of the last run (UTC); null if it has never run." example:"2026-11-16T06:00:00Z"`

	PausedBecause Opt[string] `json:"paused_because" nullable:"true" enum:"account_suspended,downgraded" doc:"Why an active schedule is on hold: the account is suspended, or has more active schedules than allowed (only the oldest ones run). Otherwise null. The next run finds labels missed in the meantime." example:"downgraded"`
}

// Reasons why a search with an active schedule doesn't run.
const (
	PausedSuspended  = "account_suspended" // the account is suspended
	PausedDowngraded = "downgraded"        // the account has too many active schedules, and this is not among the oldest
)

// Next returns the time of the first run strictly after a given time: at RunHour UTC on one of the
// schedule's days. It returns the zero time for an invalid schedule.
func (s Schedule) Next(after time.Time) time.Time {
	const longest = 31 // longest time between runs, in days
	after = after.UTC()
	run := time.Date(after.Year(), after.Month(), after.Day(), RunHour, 0, 0, 0, time.UTC)
	for range longest + 1 {
		if run.After(after) && s.runsOn(run) {
			return run
		}
		run = run.AddDate(0, 0, 1)
	}
	return time.Time{}
}

// StoredDay returns the day for stores and fingerprints: unset for daily schedules.
func (s Schedule) StoredDay() Opt[int] {
	return Opt[int]{V: s.Day, OK: s.Cadence != CadenceDaily}
}

// runsOn reports whether the schedule runs on day.
func (s Schedule) runsOn(day time.Time) bool {
	switch s.Cadence {
	case CadenceDaily:
		return true
	case CadenceWeekly:
		return int(day.Weekday()) == s.Day
	case CadenceMonthly:
		return day.Day() == s.Day
	}
	return false
}

// SavedSearch is a search that an account has saved.
type SavedSearch struct {
	UUID         string             `json:"uuid" format:"uuid" doc:"ID of the search." example:"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
	Name         string             `json:"name" doc:"Name of the search." example:"New Oak brands"`
	Filters      SavedSearchFilters `json:"filters" doc:"Filters of the search; only those that are set."`
	Schedule     *Schedule          `json:"schedule" ornull:"true" doc:"Schedule; null for a search without one."`
	CreatedAt    Timestamp          `json:"created_at" format:"date-time" doc:"Creation time (UTC)." example:"2026-11-20T13:14:15Z"`
	ManageURL    string             `json:"manage_url" format:"uri" doc:"Dashboard page for the search." example:"https://example.com/saved-searches/0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
	DashboardURL string             `json:"dashboard_url" format:"uri" doc:"Dashboard page for all saved searches." example:"https://example.com/saved-searches"`

	RunRequested bool `json:"-"` // a manual run of a search without a schedule is due
}

// Timestamp is a time in microseconds since 1970 UTC, encoded as ISO 8601 in JSON. The zero
// Timestamp is unknown.
type Timestamp int64

// TimestampOf returns t, truncated to microseconds.
func TimestampOf(t time.Time) Timestamp { return Timestamp(t.UnixMicro()) }

// Time returns the time in UTC.
func (t Timestamp) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// MarshalText writes ISO 8601 in UTC.
func (t Timestamp) MarshalText() ([]byte, error) {
	return t.Time().AppendFormat(nil, time.RFC3339Nano), nil
}

// UnmarshalText reads ISO 8601.
func (t *Timestamp) UnmarshalText(b []byte) error {
	at, err := time.Parse(time.RFC3339Nano, string(b))
	if err == nil {
		*t = TimestampOf(at)
	}
	return err
}

// SavedSearchRun is one run of a saved search.
type SavedSearchRun struct {
	ID         int64     `json:"id" doc:"Run ID." example:"1841"`
	RanAt      Timestamp `json:"ran_at" format:"date-time" doc:"Time of the run (UTC)." example:"2026-11-16T06:00:02Z"`
	DateFrom   Date      `json:"date_from" format:"date" doc:"First approval date covered." example:"2026-11-09"`
	DateTo     Date      `json:"date_to" format:"date" doc:"Last approval date covered." example:"2026-11-16"`
	MatchCount int       `json:"match_count" doc:"Number of labels that no earlier run had found." example:"3"`
	LateCount  int       `json:"late_count" doc:"Number of labels in match_count that were approved before date_from and reached the registry after the previous run." example:"1"`
	Manual     bool      `json:"manual" doc:"Whether the run was started manually. For manual runs, messages and feeds give only the number of labels." example:"false"`
}

// SavedSearchMatch is one label that a run of a saved search found.
type SavedSearchMatch struct {
	RunID int64 `json:"run_id" doc:"Run ID." example:"1841"`
	TTBID TTBID `json:"ttb_id" doc:"TTB ID of the label, 14 digits." example:"26282001000009"`
	Late  bool  `json:"late" doc:"Whether it was approved before the dates the run covers and reached the registry after the previous run." example:"false"`
	// Met is empty for matches recorded by versions that didn't store it.
	Met FilterSet `json:"met" nullable:"false" doc:"Filters that the label matched when it was found. Within a group of alternatives, only the filters that matched. Omits volume_unit, and omits the origin filters if both are set. Empty for matches found by an older server version." example:"brand_name,type_wine"`
}

// SavedSearchListParams are the parameters for listing saved searches, runs and matches, as sent.
type SavedSearchListParams struct {
	Decoded
	Page    Opt[int] `json:"page" minimum:"1" default:"1" doc:"Page number." example:"1"`
	PerPage Opt[int] `json:"per_page" minimum:"1" maximum:"100" default:"20" doc:"Records per page." example:"20"`
}

// SavedSearchPage is a normalized request for one page of saved searches, runs or matches.
type SavedSearchPage struct {
	Page    int // from 1
	PerPage int // 1 to MaxPerPage
}

// Normalize returns the request, or a validation Error that lists all problems. There is no page
// limit, but a page number must fit in 32 bits.
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

// PreviewDays is the number of days in a preview, including today.
const PreviewDays = 30

// PreviewParams are the body of POST /saved-searches/preview. Filters is nil if absent.
type PreviewParams struct {
	Decoded
	Filters *SavedSearchFilters `json:"filters" doc:"Filters, as in a saved search."`
}

// Normalize returns the filters, or a validation Error that lists all problems under dotted names
// such as filters.abv_min. Filters too broad for a schedule are valid.
func (p PreviewParams) Normalize() (SavedSearchFilters, error) {
	problems := p.Decoded.problems()
	var normalized SavedSearchFilters
	if p.Filters == nil {
		problems.requireFilters()
	} else {
		normalized = p.Filters.normalize(problems)
	}
	if err := problems.Err(); err != nil {
		return SavedSearchFilters{}, err
	}
	return normalized, nil
}

// SavedSearchPreview counts the labels that a saved search would have found recently.
type SavedSearchPreview struct {
	Total    int          `json:"total" doc:"Total number of matching labels in the last 30 days." example:"41"`
	Days     []PreviewDay `json:"days" nullable:"false" doc:"The last 30 days (UTC), today first."`
	TooBroad bool         `json:"too_broad" doc:"Whether the filters are too broad for a schedule." example:"false"`
}

// PreviewDay counts the matching labels for one day.
type PreviewDay struct {
	Date  Date `json:"date" doc:"Approval date." example:"2026-11-20"`
	Count int  `json:"count" doc:"Exact number of matching labels approved that day. Approvals may be published a few days later." example:"3"`
}
