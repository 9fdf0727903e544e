package cola

import (
	"strings"
	"unicode"
)

// Fields that support completion.
const (
	SuggestBrand            = "brand"
	SuggestCompany          = "company"
	SuggestCategory         = "category"
	SuggestAppellation      = "appellation"
	SuggestOrigin           = "origin"
	SuggestClass            = "class"
	SuggestGrape            = "grape"
	SuggestCommodity        = "commodity"
	SuggestReportType       = "report_type"
	SuggestStatisticalGroup = "statistical_group"
)

// SuggestFields returns the fields that support completion.
func SuggestFields() []string {
	return []string{
		SuggestBrand, SuggestCompany, SuggestCategory, SuggestAppellation, SuggestOrigin, SuggestClass, SuggestGrape,
		SuggestCommodity, SuggestReportType, SuggestStatisticalGroup,
	}
}

// The default and maximum number of suggestions.
const (
	defaultSuggestions = 10
	maxSuggestions     = 25
)

// Suggestion is a value of a field and how often it occurs.
type Suggestion struct {
	Value        string `json:"value" doc:"Value in the form that its filter accepts." example:"OAK RIDGE"`
	Count        int    `json:"count" doc:"Number of labels with the value, across all dates and statuses. Includes labels from regions within an origin, subcategories of a category, and areas inside an appellation. For commodity, report_type and statistical_group, the number of rows of production reports." example:"27"`
	PermitNumber string `json:"permit_number,omitempty" doc:"For company: permit number on the counted labels." example:"NJ-I-721"`
}

// SuggestParams are the parameters of GET /suggest and of the suggest_values tool, as sent.
type SuggestParams struct {
	Decoded
	Field string   `json:"field" enum:"brand,company,category,appellation,origin,class,grape,commodity,report_type,statistical_group" required:"true" doc:"Field to complete. To use a suggestion in a search, pass a brand as brand_name in quotes, a category as derived_subcategory, a class as class, a company's permit_number as permit_number. commodity, report_type and statistical_group are filters of production reports." example:"category"`
	Q     string   `json:"q" doc:"Beginning of the value or of a word in it; case, accents and punctuation don't matter. Required for brand, company and appellation. For other fields, omit it to list the most frequent values." maxLength:"200" example:"red"`
	Limit Opt[int] `json:"limit" minimum:"1" maximum:"25" default:"10" doc:"Maximum number of values." example:"5"`
}

// SuggestSearch is a normalized request for suggestions.
type SuggestSearch struct {
	Field string // one of SuggestFields
	Q     string // contains a letter or digit; empty for the most frequent values
	Limit int
}

// Normalize returns the search, or a validation Error that lists all problems.
func (p SuggestParams) Normalize() (SuggestSearch, error) {
	problems := p.Decoded.problems()
	s := SuggestSearch{
		Field: problems.Choice("field", p.Field, SuggestFields()),
		Q:     problems.text("q", p.Q),
		Limit: problems.integer("limit", p.Limit, defaultSuggestions, 1, maxSuggestions),
	}
	if strings.TrimSpace(p.Field) == "" {
		problems.require("field", "Choose one of "+strings.Join(SuggestFields(), ", ")+".")
	}
	if !strings.ContainsFunc(s.Q, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) &&
		(s.Q != "" || s.Field == SuggestBrand || s.Field == SuggestCompany || s.Field == SuggestAppellation) {
		problems.require("q", "Enter at least one letter or digit.")
	}
	if err := problems.Err(); err != nil {
		return SuggestSearch{}, err
	}
	return s, nil
}
