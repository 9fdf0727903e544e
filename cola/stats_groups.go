package cola

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Within narrows the search to the labels that have the given value in a dimension and goes back to
// the first page. ok is false if no parameters select exactly these labels. This is the case for:
//
//   - labels without a value;
//   - ranges, because they exclude their upper bound;
//   - first-seen years, because no parameter sets an upper limit on them;
//   - places and paths that contain others, because the parameter also selects those.
func (p SearchParams) Within(dimension string, value Text) (narrowed SearchParams, ok bool) {
	text := string(value)
	if p.Cursor, p.Page = "", (Opt[int]{}); !AcceptsText(text) {
		return p, false
	}
	switch dimension {
	case ByYear, ByQuarter, ByMonth:
		first, last, ok := daysOfPeriod(text)
		p.ApprovalDateFrom, p.DateRange = max(p.ApprovalDateFrom, first), ""
		if p.ApprovalDateTo == 0 || p.ApprovalDateTo > last {
			p.ApprovalDateTo = last
		}
		return p, ok
	case ByProductType:
		return p.Choose(FacetProductType, text), slices.Contains(vocabulary.ProductTypes(), text)
	case ByStatus:
		return p.Choose(FacetStatus, text), slices.Contains(vocabulary.Statuses(), text)
	case ByContainer:
		return p.Choose(FacetContainer, text), slices.Contains(ContainerTypes(), text)
	case ByOrigin:
		return p.Choose(FacetOrigin, text), slices.Equal(vocabulary.OriginNames(text), []string{text})
	case ByCategory:
		p.Category = []string{text}
		return p, slices.Contains(vocabulary.CategoryRoots(), text)
	case BySubcategory:
		return p.Choose(FacetCategory, text), text != "" && p.DerivedSubcategory == ""
	case ByClass:
		p.Class = text
	case ByState:
		p.ApplicantState = text
		return p, vocabulary.IsStateCode(text)
	case ByPermit:
		p.PermitNumber = text
	case ByBrand:
		if _, whole := WholeBrand(p.BrandName); p.BrandName != "" && !whole {
			return p, false // a part of the name may occur in only some spellings of the brand
		}
		p.BrandName, ok = QuoteBrand(text)
		return p, ok && text != ""
	default:
		return p, false
	}
	return p, text != ""
}

// IsPartial reports whether a group's period extends beyond the dates of the search, or beyond
// today.
func (s *CountSearch) IsPartial(g *LabelGroup, today Date) bool {
	if s.To != 0 {
		today = min(today, s.To)
	}
	return slices.ContainsFunc(s.GroupBy, func(by string) bool {
		if !IsPeriod(by) {
			return false
		}
		first, last, ok := daysOfPeriod(string(g.Get(by)))
		return ok && (first < s.From || last > today)
	})
}

// IsPeriod reports whether a dimension is the year, quarter or month of the approval date.
func IsPeriod(dimension string) bool {
	return dimension == ByYear || dimension == ByQuarter || dimension == ByMonth
}

// daysOfPeriod returns the first and last day of a year of up to four digits, or of a quarter or
// month such as 2025-Q3 or 2025-07.
func daysOfPeriod(period string) (first, last Date, ok bool) {
	text, part, divided := strings.Cut(period, "-")
	year, err := strconv.ParseUint(text, 10, 16)
	if err != nil || year < 1 || year > 9999 {
		return 0, 0, false
	}
	month, months := uint64(1), 12
	if divided {
		number, quarter := strings.CutPrefix(part, "Q")
		if month, err = strconv.ParseUint(number, 10, 8); err != nil {
			return 0, 0, false
		}
		if months = 1; quarter {
			month, months = 3*month-2, 3
		}
		if month < 1 || month > 12 {
			return 0, 0, false
		}
	}
	start := time.Month(month)
	return NewDate(int(year), start, 1), NewDate(int(year), start+time.Month(months), 0), true
}
