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
	problems := p.Decoded.problems()
	s := PermitteeSearch{
		Name:    problems.text("q", p.Q),
		State:   problems.State("state", p.State),
		Type:    problems.text("permittee_type", p.PermitteeType),
		Active:  p.IsActive,
		Today:   DateOf(now),
		Page:    problems.integer("page", p.Page, 1, 1, math.MaxInt32),
		PerPage: problems.integer("per_page", p.PerPage, DefaultPerPage, 1, MaxPerPage),
	}
	if err := problems.Err(); err != nil {
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
	problems := p.Decoded.problems()
	s := ProductionReportSearch{
		Year:              p.Year,
		Month:             p.Month,
		Commodity:         problems.words("commodity", p.Commodity),
		ReportType:        problems.words("report_type", p.ReportType),
		StatisticalGroup:  problems.words("statistical_group", p.StatisticalGroup),
		StatisticalDetail: problems.words("statistical_detail", p.StatisticalDetail),
		Latest:            p.Latest.V,
		Page:              problems.page(p.Page, "To read further, filter by year, month or commodity."),
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
	Q       string // part of the name, any case
	State   string // two letters, upper case
	Current bool   // only areas that AVADetail.IsCurrent
}

// Normalize returns the search that the parameters ask for, or a validation Error with all their
// problems.
func (p AVAParams) Normalize() (AVASearch, error) {
	problems := p.Decoded.problems()
	s := AVASearch{Q: problems.words("q", p.Q), State: problems.State("state", p.State), Current: p.Current.V}
	if err := problems.Err(); err != nil {
		return AVASearch{}, err
	}
	return s, nil
}

// Normalize returns the parameters with white space settled, or a validation Error. Compare texts
// without regard to case.
func (p ProcessingTimeParams) Normalize() (ProcessingTimeParams, error) {
	problems := p.Decoded.problems()
	s := ProcessingTimeParams{Commodity: problems.words("commodity", p.Commodity), Latest: p.Latest}
	return s, problems.Err()
}

// Normalize returns the parameters with white space settled, or a validation Error. Compare texts
// without regard to case.
func (p FormulaProcessingTimeParams) Normalize() (FormulaProcessingTimeParams, error) {
	problems := p.Decoded.problems()
	s := FormulaProcessingTimeParams{
		FormulaType: problems.words("formula_type", p.FormulaType),
		Commodity:   problems.words("commodity", p.Commodity),
		Latest:      p.Latest,
	}
	return s, problems.Err()
}

// Normalize returns the parameters with white space settled, or a validation Error. Compare texts
// without regard to case.
func (p RegistrationProcessingTimeParams) Normalize() (RegistrationProcessingTimeParams, error) {
	problems := p.Decoded.problems()
	s := RegistrationProcessingTimeParams{
		Category:        problems.words("category", p.Category),
		ApplicationType: problems.words("application_type", p.ApplicationType),
		Latest:          p.Latest,
	}
	return s, problems.Err()
}

// words settles text whose inner white space does not count.
func (p *Problems) words(name, value string) string {
	return strings.Join(strings.Fields(p.text(name, value)), " ")
}
