package cola

import (
	"math"
	"strings"
	"time"
)

// Normalize returns the search that the parameters ask for, or a validation Error with all their
// problems. now decides which permittees count as active. The list has no last page, but a page
// number must fit in 32 bits.
func (p PermitteeParams) Normalize(now time.Time) (PermitteeSearch, error) {
	f := findingsFrom(p.Decoded)
	s := PermitteeSearch{
		Name:    f.text("q", p.Q),
		State:   f.state("state", p.State),
		Type:    f.text("permittee_type", p.PermitteeType),
		Active:  p.IsActive,
		Today:   DateOf(now),
		Page:    f.integer("page", p.Page, 1, 1, math.MaxInt32),
		PerPage: f.integer("per_page", p.PerPage, DefaultPerPage, 1, MaxPerPage),
	}
	if err := f.err(); err != nil {
		return PermitteeSearch{}, err
	}
	return s, nil
}

// ProductionReportSearch is a normalized request for one page of production reports. Empty and
// unknown fields do not filter.
type ProductionReportSearch struct {
	Year              Opt[int]
	Month             Opt[int] // 1 to 12
	Commodity         string   // compared without regard to case, like the three below
	ReportType        string
	StatisticalGroup  string
	StatisticalDetail string
	Latest            bool // only the newest report of each commodity and report type
	Page              int  // 1 to MaxPage
	PerPage           int  // 1 to MaxPerPage
}

// Normalize returns the search that the parameters ask for, or a validation Error with all their
// problems.
func (p ProductionReportParams) Normalize() (ProductionReportSearch, error) {
	f := findingsFrom(p.Decoded)
	s := ProductionReportSearch{
		Year:              p.Year,
		Month:             p.Month,
		Commodity:         f.words("commodity", p.Commodity),
		ReportType:        f.words("report_type", p.ReportType),
		StatisticalGroup:  f.words("statistical_group", p.StatisticalGroup),
		StatisticalDetail: f.words("statistical_detail", p.StatisticalDetail),
		Latest:            p.Latest.V,
		Page:              f.page(p.Page, "To read further, filter by year, month or commodity."),
		PerPage:           f.integer("per_page", p.PerPage, DefaultPerPage, 1, MaxPerPage),
	}
	if p.Year.OK {
		f.integer("year", p.Year, 0, 1, 9999)
	}
	if p.Month.OK {
		f.integer("month", p.Month, 0, 1, 12)
	}
	if err := f.err(); err != nil {
		return ProductionReportSearch{}, err
	}
	return s, nil
}

// AVASearch is a normalized request for viticultural areas. Empty fields do not filter.
type AVASearch struct {
	Q       string // part of the name, any case
	State   string // two letters, upper case
	Current bool   // only areas that AVADetail.IsCurrent
}

// Normalize returns the search that the parameters ask for, or a validation Error with all their
// problems.
func (p AVAParams) Normalize() (AVASearch, error) {
	f := findingsFrom(p.Decoded)
	s := AVASearch{Q: f.words("q", p.Q), State: f.state("state", p.State), Current: p.Current.V}
	if err := f.err(); err != nil {
		return AVASearch{}, err
	}
	return s, nil
}

// Normalize returns the parameters with white space settled, or a validation Error. Compare texts
// without regard to case.
func (p ProcessingTimeParams) Normalize() (ProcessingTimeParams, error) {
	f := findingsFrom(p.Decoded)
	s := ProcessingTimeParams{Commodity: f.words("commodity", p.Commodity), Latest: p.Latest}
	return s, f.err()
}

// Normalize returns the parameters with white space settled, or a validation Error. Compare texts
// without regard to case.
func (p FormulaProcessingTimeParams) Normalize() (FormulaProcessingTimeParams, error) {
	f := findingsFrom(p.Decoded)
	s := FormulaProcessingTimeParams{
		FormulaType: f.words("formula_type", p.FormulaType),
		Commodity:   f.words("commodity", p.Commodity),
		Latest:      p.Latest,
	}
	return s, f.err()
}

// Normalize returns the parameters with white space settled, or a validation Error. Compare texts
// without regard to case.
func (p RegistrationProcessingTimeParams) Normalize() (RegistrationProcessingTimeParams, error) {
	f := findingsFrom(p.Decoded)
	s := RegistrationProcessingTimeParams{
		Category:        f.words("category", p.Category),
		ApplicationType: f.words("application_type", p.ApplicationType),
		Latest:          p.Latest,
	}
	return s, f.err()
}

// words settles text whose inner white space does not count.
func (f *findings) words(name, value string) string {
	return strings.Join(strings.Fields(f.text(name, value)), " ")
}
