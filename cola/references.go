package cola

// AVA is an American Viticultural Area as lists show it.
type AVA struct {
	AVAID           string   `json:"ava_id" doc:"Identifier; names repeat where a boundary has changed." example:"alexander_valley"`
	Name            string   `json:"name" doc:"Name." example:"Alexander Valley"`
	AKA             Text     `json:"aka" nullable:"true" doc:"Other name." example:"Cole Vineyard"`
	States          []string `json:"states" nullable:"false" doc:"States, two letters each." example:"[\"CA\"]"`
	Counties        []string `json:"counties" nullable:"false" doc:"Counties." example:"[\"Sonoma\"]"`
	EstablishedDate Date     `json:"established_date" nullable:"true" format:"date" doc:"Day the area was established." example:"1984-11-23"`
	RemovedDate     Date     `json:"removed_date" nullable:"true" format:"date" doc:"Day the area was removed, if it was." example:"1990-01-01"`
	ValidEndDate    Date     `json:"valid_end_date" nullable:"true" format:"date" doc:"Last day of this boundary, when a later one supersedes it; null while it is current." example:"1990-09-10"`
}

// AVADetail is the payload of GET /avas/{ava_id} and the record that a store keeps.
type AVADetail struct {
	AVA
	ValidStartDate Date     `json:"valid_start_date" nullable:"true" format:"date" doc:"First day of this boundary; null when it is the first one." example:"2008-04-10"`
	ParentAVAs     []string `json:"parent_avas" nullable:"false" doc:"Names of the areas it lies within." example:"[\"North Coast\"]"`
	ChildAVAs      []string `json:"child_avas" nullable:"false" doc:"Names of the areas it contains." example:"[\"Pine Mountain-Cloverdale Peak\"]"`
	Petitioner     Text     `json:"petitioner" nullable:"true" doc:"Who petitioned for it." example:"Patrick Shabram"`
	CFRAuthor      Text     `json:"cfr_author" nullable:"true" doc:"Author of the rule." example:"N. A. Sutton"`
	CFRIndex       Text     `json:"cfr_index" nullable:"true" doc:"Section of 27 CFR part 9; text, as 9.2 is not 9.20." example:"9.53"`
}

// IsCurrent reports whether the boundary is in force on a day: neither superseded by a later one
// nor removed.
func (a *AVA) IsCurrent(today Date) bool {
	return (a.ValidEndDate == 0 || a.ValidEndDate >= today) && (a.RemovedDate == 0 || a.RemovedDate > today)
}

// ProcessingTime is a row of GET /processing-times: how long a COLA application takes.
type ProcessingTime struct {
	Commodity            string   `json:"commodity" doc:"Wine, Malt Beverage or Distilled Spirits." example:"Wine"`
	SnapshotDate         Date     `json:"snapshot_date" format:"date" doc:"Day the figures were published." example:"2025-06-30"`
	TurnaroundDaysMedian Opt[int] `json:"turnaround_days_median" nullable:"true" doc:"Median days from receipt to action." example:"4"`
	QueueFrontierDate    Date     `json:"queue_frontier_date" nullable:"true" format:"date" doc:"Receipt day of the applications being worked on." example:"2025-06-26"`
	QueueDepthDays       Opt[int] `json:"queue_depth_days" nullable:"true" doc:"Days between the frontier and the snapshot." example:"4"`
}

// FormulaProcessingTime is a row of GET /processing-times/formula.
type FormulaProcessingTime struct {
	Commodity            string   `json:"commodity" doc:"Wine, Malt Beverage or Distilled Spirits." example:"Distilled Spirits"`
	FormulaType          string   `json:"formula_type" doc:"Kind of formula." example:"Formula Approval"`
	SnapshotDate         Date     `json:"snapshot_date" format:"date" doc:"Day the figures were published." example:"2025-06-30"`
	TurnaroundDaysMedian Opt[int] `json:"turnaround_days_median" nullable:"true" doc:"Median days from receipt to action." example:"7"`
	QueueFrontierDate    Date     `json:"queue_frontier_date" nullable:"true" format:"date" doc:"Receipt day of the applications being worked on." example:"2025-06-23"`
	QueueDepthDays       Opt[int] `json:"queue_depth_days" nullable:"true" doc:"Days between the frontier and the snapshot." example:"7"`
}

// RegistrationProcessingTime is a row of GET /processing-times/registration: how long an original permit takes.
type RegistrationProcessingTime struct {
	Category             string   `json:"category" doc:"Alcohol, Tobacco or Firearms." example:"Alcohol"`
	ApplicationType      string   `json:"application_type" doc:"Kind of permit." example:"Brewery"`
	ReportMonth          Date     `json:"report_month" format:"date" doc:"First day of the month of the figures." example:"2025-06-01"`
	TurnaroundDaysMedian Opt[int] `json:"turnaround_days_median" nullable:"true" doc:"Median days from receipt to action." example:"57"`
	SnapshotDate         Date     `json:"snapshot_date" format:"date" doc:"Day the figures were published." example:"2025-06-30"`
}

// ProductionReport is a row of GET /production-reports.
type ProductionReport struct {
	Commodity           string       `json:"commodity" doc:"Beer, Wine or Distilled Spirits." example:"Beer"`
	ReportType          string       `json:"report_type" doc:"monthly or yearly." example:"monthly"`
	Year                int          `json:"year" doc:"Year of the report." example:"2019"`
	MonthNumber         Opt[int]     `json:"month_number" nullable:"true" minimum:"1" maximum:"12" doc:"Month of the report; null in a yearly one." example:"3"`
	ReportDate          Date         `json:"report_date" format:"date" doc:"Last day the report covers." example:"2019-03-31"`
	StatisticalGroup    Text         `json:"statistical_group" nullable:"true" doc:"Group of figures." example:"Barrels Produced"`
	StatisticalCategory Text         `json:"statistical_category" nullable:"true" doc:"Category within the group." example:"Taxable"`
	StatisticalDetail   Text         `json:"statistical_detail" nullable:"true" doc:"Detail within the category." example:"In bottles and cans"`
	CountIMs            Opt[int]     `json:"count_ims" nullable:"true" doc:"Number of industry members behind the figure." example:"42"`
	Value               Opt[float64] `json:"value" nullable:"true" doc:"The figure, in value_unit; null when it is redacted or missing." example:"13222104"`
	ValueUnit           Text         `json:"value_unit" nullable:"true" doc:"Unit of value." example:"barrels"`
	IsRedacted          bool         `json:"is_redacted" doc:"Whether TTB withheld the figure." example:"false"`
}

// ReportKey identifies one published production report: rows within it have no key of their own.
type ReportKey struct {
	Commodity  string
	ReportType string
	ReportDate Date
}

// Key returns the report that the row belongs to.
func (r ProductionReport) Key() ReportKey {
	return ReportKey{Commodity: r.Commodity, ReportType: r.ReportType, ReportDate: r.ReportDate}
}
