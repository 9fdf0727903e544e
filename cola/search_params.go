package cola

import (
	"strings"
	"time"
)

// Page sizes, and the highest page number, in the API.
const (
	DefaultPerPage = 20
	MaxPerPage     = 100
	MaxPage        = 100 // for /colas and /production-reports; other lists have no page limit
)

// AllDates is the value of date_range that searches all dates.
const AllDates = "all"

// excludeEstimates is the value of estimated_dates.
const excludeEstimates = "exclude"

// DefaultWindowDays is how many days back a search looks by default.
const DefaultWindowDays = 365

// Decoded is embedded in parameter structs. It holds the problems found while decoding, to which
// Normalize adds its own.
type Decoded struct {
	Problems Problems `json:"-"`
}

// Nulled is embedded in parameter structs in which null removes a value.
type Nulled struct {
	Nulls []string `json:"-"` // dotted names of null values, such as schedule.day
}

// SearchParams are the parameters of GET /colas and search_colas, as sent. Empty values are absent.
type SearchParams struct {
	Decoded
	Q                      string       `json:"q" doc:"Text to find in the TTB ID, brand, product, class, permit number, or applicant or company name. Every word must match. Plurals match singulars, \"and\" matches &, and ABC matches A.B.C. \"Quotes\" match adjacent words as written; a trailing * matches a prefix. A 14-digit TTB ID finds that label. Other numbers of 8 to 14 digits, with or without spaces and hyphens, are tried first as a barcode, then as text." maxLength:"200" example:"oak"`
	ProductType            []string     `json:"product_type" enum:"wine,malt beverage,distilled spirits" doc:"Product type. With multiple values, a label needs to match only one." example:"wine"`
	Class                  string       `json:"class" doc:"Exact class/type name." maxLength:"200" example:"TABLE RED WINE"`
	Category               []string     `json:"category" enum:"Beer,Wine,Liquor" doc:"Top level of the category path. With multiple values, a label needs to match only one." example:"Wine"`
	DerivedSubcategory     string       `json:"derived_subcategory" doc:"Category path prefix, levels joined by ' > '. Old names of renamed paths also work if an alias maps them to the current path." maxLength:"200" example:"Wine > Red Wine"`
	Origin                 string       `json:"origin" doc:"Origin or country: name, adjective, US state code or ISO 3166 code. A code that is both a state and a country is read as the state; the response's notes say so. A country includes its parts: american also finds labels from Kentucky." maxLength:"200" example:"french"`
	DomesticOrImported     string       `json:"domestic_or_imported" enum:"domestic,imported" doc:"Whether the product is made in the United States." example:"imported"`
	Status                 string       `json:"status" enum:"approved,expired,surrendered,revoked" doc:"Status of the approval; default: all statuses. Searches for expired, surrendered or revoked labels cover all dates." example:"approved"`
	BrandName              string       `json:"brand_name" doc:"Part of the brand name. Words match as in q. Put the name in \"quotes\" to match it as a whole." maxLength:"200" example:"oak"`
	BrandSimilarTo         string       `json:"brand_similar_to" doc:"Labels for brands that score 50 or more in a brand check for this name." maxLength:"100" example:"Ravin and Oak"`
	BrandFirstSeenFrom     Date         `json:"brand_first_seen_from" format:"date" doc:"Labels for brands whose first label was approved on or after this date. Searches all dates." example:"2025-06-01"`
	PermitNumber           string       `json:"permit_number" doc:"Exact permit number of the applicant. The example is a placeholder." maxLength:"200" example:"NJ-I-721"`
	PermitteeFirstSeenFrom Date         `json:"permittee_first_seen_from" format:"date" doc:"Labels for permits whose first label was approved on or after this date. Searches all dates." example:"2025-06-01"`
	ApplicantState         string       `json:"applicant_state" doc:"Applicant's US state: code or name." example:"CA"`
	BarcodeValue           string       `json:"barcode_value" doc:"Exact main barcode; spaces and hyphens are ignored. The example is a placeholder." maxLength:"200" example:"0 36000 29145 2"`
	ApprovalDateFrom       Date         `json:"approval_date_from" format:"date" doc:"Earliest approval date to include (YYYY-MM-DD), known or estimated." example:"2024-01-01"`
	ApprovalDateTo         Date         `json:"approval_date_to" format:"date" doc:"Latest approval date to include (YYYY-MM-DD), known or estimated." example:"2024-12-31"`
	DateRange              string       `json:"date_range" enum:"all" doc:"all: search all dates, including labels without a date. Don't combine with approval_date_from or approval_date_to." example:"all"`
	EstimatedDates         string       `json:"estimated_dates" enum:"exclude" doc:"exclude: leave out labels whose approval date is only estimated." example:"exclude"`
	ABVMin                 Opt[float64] `json:"abv_min" minimum:"0" maximum:"100" doc:"Minimum ABV, percent. Excludes labels with unknown ABV." example:"12"`
	ABVMax                 Opt[float64] `json:"abv_max" minimum:"0" maximum:"100" doc:"Maximum ABV, percent. Excludes labels with unknown ABV." example:"14.5"`
	VolumeUnit             string       `json:"volume_unit" enum:"beer barrels,fluid ounces,gallons,liters,milliliters,pints,quarts" doc:"Unit of volume_min and volume_max; required with either." example:"milliliters"`
	VolumeMin              Opt[float64] `json:"volume_min" minimum:"0" doc:"Minimum net contents, in volume_unit. Excludes labels with unknown volume." example:"700"`
	VolumeMax              Opt[float64] `json:"volume_max" minimum:"0" doc:"Maximum net contents, in volume_unit. Excludes labels with unknown volume." example:"1000"`
	ContainerType          []string     `json:"container_type" enum:"bag,bottle,box,can,carton,cask,jug,keg,pod,pouch" doc:"Container type. With multiple values, a label needs to match only one." example:"bottle,can"`
	Grape                  string       `json:"grape" doc:"Grape variety, such as Zinfandel; case and accents are ignored." maxLength:"200" example:"Zinfandel"`
	Appellation            string       `json:"appellation" doc:"Appellation of origin, such as Napa Valley, including areas inside it. A state or county includes its areas." maxLength:"200" example:"Napa Valley"`
	Sort                   string       `json:"sort" enum:"-approval_date,approval_date,brand" default:"-approval_date" doc:"Order: newest first (-approval_date), oldest first (approval_date) or by brand from A to Z (brand; newest first within a brand). Undated labels come last; with brand, last within their brand." example:"brand"`
	Page                   Opt[int]     `json:"page" minimum:"1" maximum:"100" default:"1" doc:"Page number. Beyond page 100, use cursor." example:"1"`
	PerPage                Opt[int]     `json:"per_page" minimum:"1" maximum:"100" default:"20" doc:"Records per page." example:"20"`
	Cursor                 string       `json:"cursor" doc:"next_cursor of the previous page, with the same filters and sort. The example is a placeholder." example:"AQAB"`
}

// Query is a checked and normalized search. The zero Query matches every label.
type Query struct {
	Text         string   // q, trimmed; the index analyzes it
	ProductTypes []string // any of; empty matches all
	Class        string   // whole name of the class/type, ignoring case
	Categories   []string // roots, any of; empty matches all
	CategoryPath string   // path prefix, normalized; the index resolves aliases
	OriginNames  []string // places as returned by PlaceOf, upper case, any of; nil matches all
	Domestic     string   // Domestic, Imported or empty
	Status       string
	BrandName    string // part of the brand name, trimmed; in quotes, a whole brand (see WholeBrand)
	SimilarTo    string // name that the brand must be similar to, trimmed
	PermitNumber string // exact, upper case
	PermitPart   string // part of the permit number, ignoring case (saved searches)
	AddressState string // applicant's state, two letters, upper case
	Barcode      string // main barcode, as sent
	From, To     Date   // effective dates, inclusive; zero means no bound. A bound excludes undated labels
	NoEstimates  bool   // excludes labels whose date is an estimate

	// The first label of the brand, or of the permit, was approved on this date or later.
	BrandFirstSeen, PermitteeFirstSeen Date

	ABVMin      Opt[float64]
	ABVMax      Opt[float64]
	VolumeMin   Opt[float64] // milliliters
	VolumeMax   Opt[float64] // milliliters
	Containers  []string     // any of; empty matches all
	Grape       string       // whole name of a grape variety, compared in folded form
	Appellation string       // name of an appellation, ignoring case; includes those inside it
}

// ColaSearch is a normalized request for one page of labels.
type ColaSearch struct {
	Query
	Sort          Sort
	Page          int  // from 1; with a cursor, the number of pages read, including this one
	PerPage       int  // 1 to MaxPerPage
	CursorMode    bool // a cursor was given: the page starts after After, whatever Page is
	After         Position
	DefaultWindow bool   // the default date window applies; From is its first day
	Fingerprint   uint64 // hash of the parameters except page, per_page and cursor; must match the cursor's
}

// Sort is an order of labels. Undated labels come last; in SortBrand, last within their brand.
type Sort string

// The orders of labels.
const (
	SortNewest Sort = ""              // latest effective date first, then by descending TTB ID
	SortOldest Sort = "approval_date" // earliest effective date first, then by ascending TTB ID
	SortBrand  Sort = "brand"         // by brand from A to Z, then as in SortNewest
)

// sortNewest is the value of sort for SortNewest.
const sortNewest = "-approval_date"

// sorts returns the allowed values of sort.
func sorts() []string { return []string{sortNewest, string(SortOldest), string(SortBrand)} }

// SameSort reports whether two values of sort, which may be empty, mean the same order.
func SameSort(a, b string) bool {
	order := func(s string) string {
		if s = strings.ToLower(strings.TrimSpace(s)); s == sortNewest {
			return string(SortNewest)
		}
		return s
	}
	return order(a) == order(b)
}

// Position is a position in the result order: after the label with this effective date (zero if
// undated) and ID.
type Position struct {
	Date  Date
	TTBID TTBID
	Brand string // only in SortBrand: the sort key of the brand, up to MaxBrandPosition bytes
}

// MaxBrandPosition is the number of bytes of a brand that determine its place in SortBrand. It
// limits the length of cursors.
const MaxBrandPosition = 96

// Clock returns the current time: time.Now except in tests.
type Clock func() time.Time
