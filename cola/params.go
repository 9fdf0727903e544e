package cola

import "time"

// Page sizes and numbers, as the contract sets them.
const (
	DefaultPerPage = 20
	MaxPerPage     = 100
	MaxPage        = 100 // of /colas and /production-reports; the permittee list has no last page
)

// DefaultWindowDays is how far back a search looks when no date, and nothing that lifts it, is given.
const DefaultWindowDays = 365

// Decoded is embedded in parameter structs: what the edge found wrong while decoding the request. Normalize adds its own
// findings, so that a caller learns of all problems at once.
type Decoded struct {
	Problems Problems `json:"-"`
}

// Nulled is embedded in parameter structs in which null is something else than an absent value: it removes.
type Nulled struct {
	Nulls []string `json:"-"` // dotted names of what was sent as null, such as schedule.day
}

// SearchParams are the parameters of GET /colas and of the tool search_colas, as sent. An empty value is an absent one.
type SearchParams struct {
	Decoded
	Q                  string       `json:"q" doc:"Full text over TTB id, brand, product, class, permit number, and applicant or company name. Every word must match. \"Quotes\" match a phrase within a field, and a trailing * a prefix. A 14-digit id finds that label; 8 to 14 digits, also with spaces or hyphens, are tried as a barcode first, and as text when no label with the barcode matches the filters." maxLength:"200" example:"oak"`
	ProductType        []string     `json:"product_type" enum:"wine,malt beverage,distilled spirits" doc:"Commodity; any of several." example:"wine"`
	Category           []string     `json:"category" enum:"Beer,Wine,Liquor" doc:"Root of the category path; any of several." example:"Wine"`
	DerivedSubcategory string       `json:"derived_subcategory" doc:"Category path prefix, levels joined by ' > '. Former paths with a published alias work too." maxLength:"200" example:"Wine > Red Wine"`
	Origin             string       `json:"origin" doc:"Origin or country: its name, adjective, two-letter US postal code or ISO 3166 code, any case. A two-letter code that is both is the state; notes says so. A country includes its parts: american finds Kentucky." maxLength:"200" example:"french"`
	DomesticOrImported string       `json:"domestic_or_imported" enum:"domestic,imported" doc:"Whether the product is made in the United States." example:"imported"`
	Status             string       `json:"status" enum:"approved,expired,surrendered,revoked" doc:"Status of the approval; every status when absent. All but approved search all history." example:"approved"`
	BrandName          string       `json:"brand_name" doc:"Part of the brand name, any case." maxLength:"200" example:"oak"`
	PermitNumber       string       `json:"permit_number" doc:"Permit number of the applicant, exact; the example is a placeholder." maxLength:"200" example:"NJ-I-721"`
	BarcodeValue       string       `json:"barcode_value" doc:"The label's main barcode, exact; digits may contain spaces or hyphens; the example is a placeholder." maxLength:"200" example:"0 36000 29145 2"`
	ApprovalDateFrom   Date         `json:"approval_date_from" format:"date" doc:"First approval day, inclusive." example:"2024-01-01"`
	ApprovalDateTo     Date         `json:"approval_date_to" format:"date" doc:"Last approval day, inclusive." example:"2024-12-31"`
	ABVMin             Opt[float64] `json:"abv_min" minimum:"0" maximum:"100" doc:"Lowest ABV, percent, inclusive. Leaves out labels of unknown ABV." example:"12"`
	ABVMax             Opt[float64] `json:"abv_max" minimum:"0" maximum:"100" doc:"Highest ABV, percent, inclusive. Leaves out labels of unknown ABV." example:"14.5"`
	VolumeUnit         string       `json:"volume_unit" enum:"beer barrels,fluid ounces,gallons,liters,milliliters,pints,quarts" doc:"Unit of volume_min and volume_max; required with either." example:"milliliters"`
	VolumeMin          Opt[float64] `json:"volume_min" minimum:"0" doc:"Lowest net contents, in volume_unit, inclusive. Leaves out labels of unknown volume." example:"700"`
	VolumeMax          Opt[float64] `json:"volume_max" minimum:"0" doc:"Highest net contents, in volume_unit, inclusive. Leaves out labels of unknown volume." example:"1000"`
	ContainerType      []string     `json:"container_type" enum:"bag,bottle,box,can,carton,cask,jug,keg,pod,pouch" doc:"Container; any of several." example:"bottle,can"`
	Page               Opt[int]     `json:"page" minimum:"1" maximum:"100" default:"1" doc:"Page of the result. Beyond page 100, use cursor." example:"1"`
	PerPage            Opt[int]     `json:"per_page" minimum:"1" maximum:"100" default:"20" doc:"Records a page." example:"20"`
	Cursor             string       `json:"cursor" doc:"next_cursor of the previous answer, with the same filters. The example is a placeholder." example:"AQAB"`
}

// Query is a search whose parameters have been checked and settled. The zero Query matches every label.
type Query struct {
	Text         string   // q as sent, trimmed; the analyser takes it from here
	ProductTypes []string // any of; empty is all
	Categories   []string // roots, any of; empty is all
	CategoryPath string   // path prefix as sent, its spacing settled; aliases are resolved against the published ones
	OriginNames  []string // places as PlaceOf returns them, upper case, any of; nil is all
	Domestic     string   // Domestic, Imported or empty
	Status       string
	BrandName    string // part of the brand name, as sent, trimmed
	PermitNumber string // exact, upper case
	PermitPart   string // part of the permit number, any case (saved searches)
	AddressState string // applicant's state, two letters, upper case (saved searches)
	Barcode      string // main barcode, as sent
	From, To     Date   // approval dates, inclusive; zero is open. Either set leaves out undated labels
	ABVMin       Opt[float64]
	ABVMax       Opt[float64]
	VolumeMin    Opt[float64] // milliliters
	VolumeMax    Opt[float64] // milliliters
	Containers   []string     // any of; empty is all
}

// ColaSearch is a normalised request for one page of labels.
type ColaSearch struct {
	Query
	Page          int  // 1 and up; in cursor mode the number of pages walked, this one included
	PerPage       int  // 1 to MaxPerPage
	CursorMode    bool // a cursor was given: the page starts after After, and Page does not move it
	After         Position
	DefaultWindow bool   // the default date window is active; From is its first day
	Fingerprint   uint64 // of the parameters as sent, less page, per_page and cursor; binds cursors to them
}

// Position is a place in the result order: after the label with this approval date (zero when undated) and id.
type Position struct {
	Date  Date
	TTBID TTBID
}

// PermitteeParams are the parameters of GET /permittees and of the tool search_permittees, as sent.
type PermitteeParams struct {
	Decoded
	Q             string    `json:"q" doc:"Part of the company name or trade name, any case." maxLength:"200" example:"vineyards"`
	State         string    `json:"state" doc:"State: two letters or its name, any case." example:"CA"`
	PermitteeType string    `json:"permittee_type" doc:"Part of the kind of permit, any case." maxLength:"200" example:"importer"`
	IsActive      Opt[bool] `json:"is_active" doc:"true: only active permittees; false: only inactive ones." example:"true"`
	Page          Opt[int]  `json:"page" minimum:"1" default:"1" doc:"Page of the result." example:"1"`
	PerPage       Opt[int]  `json:"per_page" minimum:"1" maximum:"100" default:"20" doc:"Records a page." example:"20"`
}

// PermitteeSearch is a normalised request for one page of permittees.
type PermitteeSearch struct {
	Name    string // part of the company or operating name, any case
	State   string // upper case
	Type    string // part of the permittee type, any case
	Active  Opt[bool]
	Today   Date // what is_active is computed for
	Page    int
	PerPage int
}

// ProductionReportParams are the parameters of GET /production-reports, as sent.
type ProductionReportParams struct {
	Decoded
	Year              Opt[int]  `json:"year" minimum:"1" maximum:"9999" doc:"Year of the report." example:"2019"`
	Month             Opt[int]  `json:"month" minimum:"1" maximum:"12" doc:"Month of the report." example:"3"`
	Commodity         string    `json:"commodity" doc:"Commodity, any case." maxLength:"200" example:"Beer"`
	ReportType        string    `json:"report_type" doc:"Kind of report, any case." maxLength:"200" example:"monthly"`
	StatisticalGroup  string    `json:"statistical_group" doc:"Group of figures, any case." maxLength:"200" example:"Barrels Produced"`
	StatisticalDetail string    `json:"statistical_detail" doc:"Detail within a category, any case." maxLength:"200" example:"Production"`
	Latest            Opt[bool] `json:"latest" doc:"true: only the newest matching report of each commodity and report type." example:"true"`
	Page              Opt[int]  `json:"page" minimum:"1" maximum:"100" default:"1" doc:"Page of the result." example:"1"`
	PerPage           Opt[int]  `json:"per_page" minimum:"1" maximum:"100" default:"20" doc:"Records a page." example:"20"`
}

// ProcessingTimeParams are the parameters of GET /processing-times, as sent.
type ProcessingTimeParams struct {
	Decoded
	Commodity string    `json:"commodity" doc:"Commodity, any case." maxLength:"200" example:"Wine"`
	Latest    Opt[bool] `json:"latest" doc:"true: only the newest figures of each commodity." example:"true"`
}

// FormulaProcessingTimeParams are the parameters of GET /processing-times/formula, as sent.
type FormulaProcessingTimeParams struct {
	Decoded
	FormulaType string    `json:"formula_type" doc:"Kind of formula, any case." maxLength:"200" example:"Formula Approval"`
	Commodity   string    `json:"commodity" doc:"Commodity, any case." maxLength:"200" example:"Distilled Spirits"`
	Latest      Opt[bool] `json:"latest" doc:"true: only the newest figures of each commodity and formula type." example:"true"`
}

// RegistrationProcessingTimeParams are the parameters of GET /processing-times/registration, as sent.
type RegistrationProcessingTimeParams struct {
	Decoded
	Category        string    `json:"category" doc:"Category, any case." maxLength:"200" example:"Alcohol"`
	ApplicationType string    `json:"application_type" doc:"Kind of permit, any case." maxLength:"200" example:"Brewery"`
	Latest          Opt[bool] `json:"latest" doc:"true: only the newest figures of each kind of permit." example:"true"`
}

// AVAParams are the parameters of GET /avas, as sent.
type AVAParams struct {
	Decoded
	Q       string    `json:"q" doc:"Part of the name, any case." maxLength:"200" example:"valley"`
	State   string    `json:"state" doc:"State: two letters or its name, any case." example:"CA"`
	Current Opt[bool] `json:"current" doc:"true: leave out superseded boundaries and removed areas." example:"true"`
}

// NoParams are the parameters of an operation that takes none.
type NoParams struct{ Decoded }

// Pagination tells where a page of labels or permittees stands.
type Pagination struct {
	Mode    string `json:"mode" enum:"offset,cursor" doc:"cursor when a cursor was given, else offset." example:"offset"`
	Page    int    `json:"page" minimum:"1" doc:"This page's number." example:"1"`
	PerPage int    `json:"per_page" minimum:"1" maximum:"100" doc:"Records a page." example:"20"`
	Total   int    `json:"total" minimum:"0" doc:"Records that match, exact." example:"41"`
	Pages   int    `json:"pages" minimum:"0" doc:"Pages of this size that match." example:"3"`
	HasMore bool   `json:"has_more" doc:"Whether records follow this page." example:"true"`
	// TruncatedByQuota tells a page that the quota cut from one that ends the list.
	TruncatedByQuota bool   `json:"truncated_by_quota" doc:"Whether this page was cut because the month's list records are used up. Records follow: continue next month or on a larger plan." example:"false"`
	NextCursor       string `json:"next_cursor,omitempty" doc:"What to send as cursor for the records that follow; given whenever has_more, on lists that take a cursor." example:"AQAB"`
}

// Meta counts the rows of a reference list.
type Meta struct {
	Total int `json:"total" doc:"Rows that match." example:"1"`
}

// PageMeta counts the rows of a paginated reference list.
type PageMeta struct {
	Total   int  `json:"total" doc:"Rows that match, exact." example:"41"`
	Page    int  `json:"page" doc:"This page's number." example:"1"`
	PerPage int  `json:"per_page" doc:"Rows a page." example:"20"`
	HasMore bool `json:"has_more" doc:"Whether rows follow this page." example:"true"`
	// TruncatedByQuota distinguishes a page that the quota cut from one whose rows continue on the next page.
	TruncatedByQuota bool `json:"truncated_by_quota" doc:"Whether this page was cut because the month's list records are used up; always false on free lists. The next page would skip rows: request this page again next month or on a larger plan." example:"false"`
}

// DefaultsApplied tells that the default date window narrowed a search.
type DefaultsApplied struct {
	DateRange bool `json:"date_range" doc:"Whether the default date window is active." example:"true"`
	DateFrom  Date `json:"date_from" format:"date" doc:"First approval day searched." example:"2025-11-20"`
}

// Clock tells the time; time.Now outside tests.
type Clock func() time.Time
