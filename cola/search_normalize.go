package cola

import (
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Normalize returns the search, or a validation Error that lists all problems. Enumerated values
// may be in any letter case. now determines only the default date window.
//
// The default window is today and the DefaultWindowDays days before it. It applies if neither an
// approval date nor a date range is given, unless q is a 14-digit ID, or a status or first-seen
// date makes the search cover all dates. Following a cursor keeps the window of the first page.
//
// Normalize doesn't parse q: any printable text is valid. Text without a letter or digit matches
// nothing.
func (p SearchParams) Normalize(now time.Time) (ColaSearch, error) {
	problems := p.Decoded.problems()
	p.normalize(problems)
	s := ColaSearch{
		Query:       p.query(problems),
		Sort:        Sort(p.Sort),
		PerPage:     problems.integer("per_page", p.PerPage, DefaultPerPage, 1, MaxPerPage),
		Fingerprint: p.fingerprint(false),
	}
	s.DefaultWindow = p.defaultWindow()
	if s.DefaultWindow {
		s.From, s.To = LastYear(now)
	}
	if p.Cursor == "" {
		s.Page = problems.page(p.Page, "To continue, send page 100's next_cursor as cursor, without page.")
	} else if len((*problems)["cursor"]) == 0 {
		s.resume(problems, &p)
	}
	if err := problems.Err(); err != nil {
		return ColaSearch{}, err
	}
	return s, nil
}

// windowFrom limits the search to a default-length window that starts on first.
func (s *ColaSearch) windowFrom(first Date) {
	s.From, s.To = first, first.AddDays(DefaultWindowDays)
}

// normalize converts the parameters to the canonical form used for comparison. It is idempotent.
func (p *SearchParams) normalize(problems *Problems) {
	p.Cursor, p.Sort = problems.text("cursor", p.Cursor), problems.Choice("sort", p.Sort, sorts())
	if p.Sort == sortNewest {
		p.Sort = string(SortNewest)
	}
	if p.VolumeMin.OK || p.VolumeMax.OK {
		problems.needUnit("volume_unit", p.VolumeUnit)
	}
	for i := range filters {
		if c := &filters[i]; c.Param != "" {
			field := c.param(p)
			c.check(problems, c.Param, c.normalize, valueAt(field)).writeTo(field)
		}
	}
	if from, to := p.ApprovalDateFrom, p.ApprovalDateTo; from != 0 && to != 0 && from > to {
		problems.Add("approval_date_from", "Must not be later than approval_date_to (%s).", to)
	}
	for name, date := range map[string]Date{
		"approval_date_from": p.ApprovalDateFrom, "approval_date_to": p.ApprovalDateTo,
	} {
		if p.DateRange != "" && date != 0 {
			problems.Add(name, "Can't be combined with date_range; omit one of them.")
		}
	}
	problems.ordered("abv_min", p.ABVMin, "abv_max", p.ABVMax)
	problems.ordered("volume_min", p.VolumeMin, "volume_max", p.VolumeMax)
}

// check normalizes a value and reports problems under name.
func (f *Filter) check(problems *Problems, name string, normalize func(*Problems, string, string) string, v filterValue) filterValue {
	switch f.Kind {
	case TextFilter:
		if normalize == nil {
			normalize = (*Problems).text
		}
		v.text = normalize(problems, name, v.text)
	case ChoiceFilter, UnitFilter, WindowFilter:
		v.text = problems.Choice(name, v.text, f.Words)
	case ListFilter:
		v.words = problems.Choices(name, v.words, f.Words)
	case MinFilter, MaxFilter:
		v.number = problems.bound(name, v.number, f.Max)
	}
	return v
}

func (p *Problems) path(name, value string) string {
	return vocabulary.NormalizePath(p.text(name, value))
}
func (p *Problems) permit(name, value string) string {
	return vocabulary.NormalizePermit(p.text(name, value))
}

// needUnit reports a missing volume unit.
func (p *Problems) needUnit(name, unit string) {
	if strings.TrimSpace(unit) == "" {
		p.Add(name, "Select a unit for the volume: %s.", strings.Join(vocabulary.VolumeUnits(), ", "))
	}
}

// query converts normalized parameters to a query without the default window.
func (p *SearchParams) query(problems *Problems) (q Query) {
	for i := range filters {
		f := &filters[i]
		if f.Param == "" {
			continue
		}
		v := valueAt(f.param(p))
		if f.measured {
			v.number = problems.milliliters(f.Param, v.number, p.VolumeUnit)
		}
		f.set(&q, v)
	}
	return q
}

// milliliters converts a normalized bound. A missing unit has been reported already.
func (p *Problems) milliliters(name string, v Opt[float64], unit string) Opt[float64] {
	if !v.OK || unit == "" {
		return Opt[float64]{}
	}
	ml, ok := vocabulary.Milliliters(v.V, unit)
	if !ok {
		p.Add(name, "%s %s is too large.", plain(v.V), unit)
		return Opt[float64]{}
	}
	return Some(ml)
}

// defaultWindow reports whether the default date window applies to normalized parameters.
func (p *SearchParams) defaultWindow() bool {
	if p.ApprovalDateFrom != 0 || p.ApprovalDateTo != 0 || p.DateRange != "" {
		return false
	}
	if p.BrandFirstSeenFrom != 0 || p.PermitteeFirstSeenFrom != 0 {
		return false
	}
	switch p.Status {
	case vocabulary.StatusExpired, vocabulary.StatusSurrendered, vocabulary.StatusRevoked:
		return false
	}
	_, isID := ParseTTBID(p.Q)
	return !isID
}

// resume positions the search after the cursor and restores the default window of its first page.
func (s *ColaSearch) resume(problems *Problems, p *SearchParams) {
	if p.Page.OK && p.Page.V != 1 {
		problems.Add("page", "page %d and cursor can't be combined; omit page.", p.Page.V)
	}
	c, err := DecodeCursor(p.Cursor)
	switch {
	case err != nil:
		problems.Add("cursor", "%s is not a valid cursor; send next_cursor unchanged, or omit cursor to start over.",
			Quoted(p.Cursor))
		return
	case c.Fingerprint != s.Fingerprint && c.Fingerprint != p.fingerprint(true) || c.DefaultWindow != s.DefaultWindow:
		problems.Add("cursor", "The cursor is from a search with different filters or a different sort; use the same "+
			"filters and sort, or omit cursor to start over.")
		return
	}
	s.CursorMode, s.After, s.Page = true, c.Position, c.Page+1
	if c.DefaultWindow {
		s.windowFrom(c.From)
	}
}
