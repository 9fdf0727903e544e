package cola

// Reasons why a permittee counts as active.
const (
	ActiveListed = "on TTB's list of permittees"
	ActiveRecent = "label approved in the last 365 days"
)

// AVA is an American Viticultural Area as returned in lists.
type AVA struct {
	AVAID           string   `json:"ava_id" doc:"ID of the area. Names are not unique: each boundary has its own record." example:"alexander_valley"`
	Name            string   `json:"name" doc:"Name." example:"Alexander Valley"`
	AKA             Text     `json:"aka" nullable:"true" doc:"Other name." example:"Cole Vineyard"`
	States          []string `json:"states" nullable:"false" doc:"Two-letter state codes." example:"[\"CA\"]"`
	Counties        []string `json:"counties" nullable:"false" doc:"Counties." example:"[\"Sonoma\"]"`
	EstablishedDate Date     `json:"established_date" nullable:"true" format:"date" doc:"Day the area was established." example:"1984-11-23"`
	RemovedDate     Date     `json:"removed_date" nullable:"true" format:"date" doc:"Day the area was removed, if it was." example:"1990-01-01"`
	ValidEndDate    Date     `json:"valid_end_date" nullable:"true" format:"date" doc:"Last day this boundary was in effect; null if it is current." example:"1990-09-10"`
}

// AVADetail is the payload of GET /avas/{ava_id} and the stored record.
type AVADetail struct {
	AVA
	ValidStartDate Date     `json:"valid_start_date" nullable:"true" format:"date" doc:"First day this boundary was in effect; null for the original one." example:"2008-04-10"`
	ParentAVAs     []string `json:"parent_avas" nullable:"false" doc:"Names of areas that contain it." example:"[\"North Coast\"]"`
	ChildAVAs      []string `json:"child_avas" nullable:"false" doc:"Names of areas it contains." example:"[\"Pine Mountain-Cloverdale Peak\"]"`
	Petitioner     Text     `json:"petitioner" nullable:"true" doc:"Petitioner." example:"Patrick Shabram"`
	CFRAuthor      Text     `json:"cfr_author" nullable:"true" doc:"Author of the rule." example:"N. A. Sutton"`
	CFRIndex       Text     `json:"cfr_index" nullable:"true" doc:"Section of 27 CFR part 9; text, because 9.2 is not 9.20." example:"9.53"`
}

// IsCurrent reports whether the boundary is in force on the given day: neither superseded by a
// later one nor removed.
func (a *AVA) IsCurrent(today Date) bool {
	return (a.ValidEndDate == 0 || a.ValidEndDate >= today) && (a.RemovedDate == 0 || a.RemovedDate > today)
}

// ProcessingTime is a row of GET /processing-times: how long a COLA application takes.
type ProcessingTime struct {
	Commodity            string   `json:"commodity" doc:"Wine, Malt Beverage or Distilled Spirits." example:"Wine"`
	SnapshotDate         Date     `json:"snapshot_date" format:"date" doc:"Publication date." example:"2025-06-30"`
	TurnaroundDaysMedian Opt[int] `json:"turnaround_days_median" nullable:"true" doc:"Median days from receipt to action." example:"4"`
	QueueFrontierDate    Date     `json:"queue_frontier_date" nullable:"true" format:"date" doc:"Receipt date of the applications being processed." example:"2025-06-26"`
	QueueDepthDays       Opt[int] `json:"queue_depth_days" nullable:"true" doc:"Days between queue_frontier_date and snapshot_date." example:"4"`
}

// FormulaProcessingTime is a row of GET /processing-times/formula.
type FormulaProcessingTime struct {
	Commodity            string   `json:"commodity" doc:"Wine, Malt Beverage, Distilled Spirits, or All." example:"Distilled Spirits"`
	FormulaType          string   `json:"formula_type" doc:"Formula type." example:"Formula Approval"`
	SnapshotDate         Date     `json:"snapshot_date" format:"date" doc:"Publication date." example:"2025-06-30"`
	TurnaroundDaysMedian Opt[int] `json:"turnaround_days_median" nullable:"true" doc:"Median days from receipt to action." example:"7"`
	QueueFrontierDate    Date     `json:"queue_frontier_date" nullable:"true" format:"date" doc:"Receipt date of the applications being processed." example:"2025-06-23"`
	QueueDepthDays       Opt[int] `json:"queue_depth_days" nullable:"true" doc:"Days between queue_frontier_date and snapshot_date." example:"7"`
}

// RegistrationProcessingTime is a row of GET /processing-times/registration: how long an
// application for an original permit takes.
type RegistrationProcessingTime struct {
	Category             string   `json:"category" doc:"Alcohol, Tobacco or Firearms." example:"Alcohol"`
	ApplicationType      string   `json:"application_type" doc:"Permit type." example:"Brewery"`
	ReportMonth          Date     `json:"report_month" format:"date" doc:"First day of the month covered." example:"2025-06-01"`
	TurnaroundDaysMedian Opt[int] `json:"turnaround_days_median" nullable:"true" doc:"Median days from receipt to action." example:"57"`
	SnapshotDate         Date     `json:"snapshot_date" format:"date" doc:"Publication date." example:"2025-06-30"`
}

// ProductionReport is a row of GET /production-reports.
type ProductionReport struct {
	Commodity           string       `json:"commodity" doc:"Beer, Wine or Distilled Spirits." example:"Beer"`
	ReportType          string       `json:"report_type" doc:"monthly or yearly." example:"monthly"`
	Year                int          `json:"year" doc:"Year of the report." example:"2019"`
	MonthNumber         Opt[int]     `json:"month_number" nullable:"true" minimum:"1" maximum:"12" doc:"Month of the report; null if yearly." example:"3"`
	ReportDate          Date         `json:"report_date" format:"date" doc:"Last day the report covers." example:"2019-03-31"`
	StatisticalGroup    Text         `json:"statistical_group" nullable:"true" doc:"Group of figures." example:"Barrels Produced"`
	StatisticalCategory Text         `json:"statistical_category" nullable:"true" doc:"Category within the group." example:"Taxable"`
	StatisticalDetail   Text         `json:"statistical_detail" nullable:"true" doc:"Detail within the category." example:"In bottles and cans"`
	CountIMs            Opt[int]     `json:"count_ims" nullable:"true" doc:"Number of industry members that the figure covers." example:"42"`
	Value               Opt[float64] `json:"value" nullable:"true" doc:"Figure, in value_unit; null if redacted or missing." example:"13222104"`
	ValueUnit           Text         `json:"value_unit" nullable:"true" doc:"Unit of value." example:"barrels"`
	IsRedacted          bool         `json:"is_redacted" doc:"Whether TTB withheld the figure." example:"false"`
}

// ReportKey identifies one published production report. Its individual rows have no keys.
type ReportKey struct {
	Commodity  string
	ReportType string
	ReportDate Date
}

// Key returns the key of the report that the row belongs to.
func (r ProductionReport) Key() ReportKey {
	return ReportKey{Commodity: r.Commodity, ReportType: r.ReportType, ReportDate: r.ReportDate}
}

// ProductionReportParams are the parameters of GET /production-reports, as sent.
type ProductionReportParams struct {
	Decoded
	Year              Opt[int]  `json:"year" minimum:"1" maximum:"9999" doc:"Year of the report." example:"2019"`
	Month             Opt[int]  `json:"month" minimum:"1" maximum:"12" doc:"Month of the report." example:"3"`
	Commodity         string    `json:"commodity" doc:"Commodity." maxLength:"200" example:"Beer"`
	ReportType        string    `json:"report_type" doc:"Report type, such as monthly or yearly." maxLength:"200" example:"monthly"`
	StatisticalGroup  string    `json:"statistical_group" doc:"Group of figures." maxLength:"200" example:"Barrels Produced"`
	StatisticalDetail string    `json:"statistical_detail" doc:"Detail within a category." maxLength:"200" example:"Production"`
	Latest            Opt[bool] `json:"latest" doc:"true: only the newest matching report per commodity and report type." example:"true"`
	Page              Opt[int]  `json:"page" minimum:"1" maximum:"100" default:"1" doc:"Page number." example:"1"`
	PerPage           Opt[int]  `json:"per_page" minimum:"1" maximum:"100" default:"20" doc:"Records per page." example:"20"`
}

// ProcessingTimeParams are the parameters of GET /processing-times, as sent.
type ProcessingTimeParams struct {
	Decoded
	Commodity string    `json:"commodity" doc:"Commodity." maxLength:"200" example:"Wine"`
	Latest    Opt[bool] `json:"latest" doc:"true: only the newest figures per commodity." example:"true"`
}

// FormulaProcessingTimeParams are the parameters of GET /processing-times/formula, as sent.
type FormulaProcessingTimeParams struct {
	Decoded
	FormulaType string    `json:"formula_type" doc:"Formula type." maxLength:"200" example:"Formula Approval"`
	Commodity   string    `json:"commodity" doc:"Commodity." maxLength:"200" example:"Distilled Spirits"`
	Latest      Opt[bool] `json:"latest" doc:"true: only the newest figures per commodity and formula type." example:"true"`
}

// RegistrationProcessingTimeParams are the parameters of GET /processing-times/registration, as
// sent.
type RegistrationProcessingTimeParams struct {
	Decoded
	Category        string    `json:"category" doc:"Category." maxLength:"200" example:"Alcohol"`
	ApplicationType string    `json:"application_type" doc:"Permit type." maxLength:"200" example:"Brewery"`
	Latest          Opt[bool] `json:"latest" doc:"true: only the newest figures per permit type." example:"true"`
}

// AVAParams are the parameters of GET /avas, as sent.
type AVAParams struct {
	Decoded
	Q       string    `json:"q" doc:"Part of the name." maxLength:"200" example:"valley"`
	State   string    `json:"state" doc:"State: two-letter code or name." example:"CA"`
	Current Opt[bool] `json:"current" doc:"true: omit superseded boundaries and removed areas." example:"true"`
}

// NoParams are the parameters of an operation without parameters.
type NoParams struct{ Decoded }

// ProductionReportSearch is a normalized request for one page of production reports. Zero fields do
// not filter.
type ProductionReportSearch struct {
	Year              Opt[int]
	Month             Opt[int] // 1 to 12
	Commodity         string   // case-insensitive, like the next three
	ReportType        string
	StatisticalGroup  string
	StatisticalDetail string
	Latest            bool // only the newest report of each commodity and report type
	Page              int  // 1 to MaxPage
	PerPage           int  // 1 to MaxPerPage
}

// Normalize returns the search, or a validation Error that lists all problems.
func (p ProductionReportParams) Normalize() (ProductionReportSearch, error) {
	problems := p.Decoded.problems()
	s := ProductionReportSearch{
		Year:              p.Year,
		Month:             p.Month,
		Commodity:         problems.words("commodity", p.Commodity),
		ReportType:        problems.words("report_type", p.ReportType),
		StatisticalGroup:  problems.words("statistical_group", p.StatisticalGroup),
		StatisticalDetail: problems.words("statistical_detail", p.StatisticalDetail),
		Latest:            p.Latest.V,
		Page:              problems.page(p.Page, "To see more rows, filter by year, month or commodity."),
		PerPage:           problems.integer("per_page", p.PerPage, DefaultPerPage, 1, MaxPerPage),
	}
	if p.Year.OK {
		problems.integer("year", p.Year, 0, 1, 9999)
	}
	if p.Month.OK {
		problems.integer("month", p.Month, 0, 1, 12)
	}
	if err := problems.Err(); err != nil {
		return ProductionReportSearch{}, err
	}
	return s, nil
}

// AVASearch is a normalized request for viticultural areas. Empty fields do not filter.
type AVASearch struct {
	Q       string // part of the name, ignoring case
	State   string // two letters, upper case
	Current bool   // only areas that are current (see AVA.IsCurrent)
}

// Normalize returns the search, or a validation Error that lists all problems.
func (p AVAParams) Normalize() (AVASearch, error) {
	problems := p.Decoded.problems()
	s := AVASearch{Q: problems.words("q", p.Q), State: problems.State("state", p.State), Current: p.Current.V}
	if err := problems.Err(); err != nil {
		return AVASearch{}, err
	}
	return s, nil
}

// Normalize returns the parameters with white space normalized, or a validation Error. Text is
// matched case-insensitively.
func (p ProcessingTimeParams) Normalize() (ProcessingTimeParams, error) {
	problems := p.Decoded.problems()
	s := ProcessingTimeParams{Commodity: problems.words("commodity", p.Commodity), Latest: p.Latest}
	return s, problems.Err()
}

// Normalize returns the parameters with white space normalized, or a validation Error. Text is
// matched case-insensitively.
func (p FormulaProcessingTimeParams) Normalize() (FormulaProcessingTimeParams, error) {
	problems := p.Decoded.problems()
	s := FormulaProcessingTimeParams{
		FormulaType: problems.words("formula_type", p.FormulaType),
		Commodity:   problems.words("commodity", p.Commodity),
		Latest:      p.Latest,
	}
	return s, problems.Err()
}

// Normalize returns the parameters with white space normalized, or a validation Error. Text is
// matched case-insensitively.
func (p RegistrationProcessingTimeParams) Normalize() (RegistrationProcessingTimeParams, error) {
	problems := p.Decoded.problems()
	s := RegistrationProcessingTimeParams{
		Category:        problems.words("category", p.Category),
		ApplicationType: problems.words("application_type", p.ApplicationType),
		Latest:          p.Latest,
	}
	return s, problems.Err()
}
