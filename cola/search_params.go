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

// Clock tells the time; time.Now outside tests.
type Clock func() time.Time
