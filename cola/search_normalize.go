package cola

import (
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Normalize returns the search that the parameters ask for, or a validation Error that lists all problems. Words of fixed
// lists may be in any letter case. now decides the default date window and nothing else.
//
// The default window covers today and the DefaultWindowDays before it. It applies when neither approval date is given, unless
// q is an exact 14-digit id or status is one that searches all history. Following a cursor keeps the window of the first page.
//
// Normalize does not parse q: any printable text is a query. One without a letter or digit matches nothing.
func (p SearchParams) Normalize(now time.Time) (ColaSearch, error) {
	problems := p.Decoded.problems()
	settled := p.settle(problems)
	s := ColaSearch{
		Query:       settled.query(problems),
		PerPage:     problems.integer("per_page", p.PerPage, DefaultPerPage, 1, MaxPerPage),
		Fingerprint: settled.fingerprint(false),
	}
	s.DefaultWindow = settled.defaultWindow()
	if s.DefaultWindow {
		s.windowFrom(DateOf(now).AddDays(-DefaultWindowDays))
	}
	if settled.Cursor == "" {
		s.Page = problems.page(p.Page, "To read further, send the next_cursor of page 100 as cursor, without page.")
	} else if len((*problems)["cursor"]) == 0 {
		s.resume(problems, &settled, p.Page)
	}
	if err := problems.Err(); err != nil {
		return ColaSearch{}, err
	}
	return s, nil
}

// windowFrom limits the search to the default window that begins on a day.
func (s *ColaSearch) windowFrom(first Date) {
	s.From, s.To = first, first.AddDays(DefaultWindowDays)
}

// settle returns the parameters with every value in the form it is compared in. It is idempotent.
func (p SearchParams) settle(problems *Problems) SearchParams {
	s := SearchParams{Cursor: problems.text("cursor", p.Cursor)}
	for i := range filters {
		if c := &filters[i]; c.Param != "" {
			c.check(problems, c.Param, c.settle, valueAt(c.param(&p))).writeTo(c.param(&s))
		}
	}
	if from, to := p.ApprovalDateFrom, p.ApprovalDateTo; from != 0 && to != 0 && from > to {
		problems.Add("approval_date_from", "%s is after approval_date_to, which is %s; no day lies between.", from, to)
	}
	problems.ordered("abv_min", s.ABVMin, "abv_max", s.ABVMax)
	problems.ordered("volume_min", s.VolumeMin, "volume_max", s.VolumeMax)
	if p.VolumeMin.OK || p.VolumeMax.OK {
		problems.needUnit("volume_unit", p.VolumeUnit)
	}
	return s
}

// check normalizes a value and reports problems under name.
func (f *Filter) check(problems *Problems, name string, settle func(*Problems, string, string) string, v filterValue) filterValue {
	switch f.Kind {
	case TextFilter:
		if settle == nil {
			settle = (*Problems).text
		}
		v.text = settle(problems, name, v.text)
	case ChoiceFilter, UnitFilter:
		v.text = problems.Choice(name, v.text, f.Words)
	case ListFilter:
		v.words = problems.choices(name, v.words, f.Words)
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

// needUnit notes that the unit of a volume is not given.
func (p *Problems) needUnit(name, unit string) {
	if strings.TrimSpace(unit) == "" {
		p.Add(name, "A unit is required with volume_min and volume_max; allowed: %s.", strings.Join(vocabulary.VolumeUnits(), ", "))
	}
}

// query returns what settled parameters ask for, without the default window.
func (p SearchParams) query(problems *Problems) (q Query) {
	for i := range filters {
		f := &filters[i]
		if f.Param == "" {
			continue
		}
		v := valueAt(f.param(&p))
		if f.measured {
			v.number = problems.milliliters(f.Param, v.number, p.VolumeUnit)
		}
		f.set(&q, v)
	}
	return q
}

// milliliters converts a settled bound; without a unit there is a problem noted already.
func (p *Problems) milliliters(name string, v Opt[float64], unit string) Opt[float64] {
	if !v.OK || unit == "" {
		return Opt[float64]{}
	}
	ml, ok := vocabulary.Milliliters(v.V, unit)
	if !ok {
		p.Add(name, "%s %s is too large a volume.", plain(v.V), unit)
		return Opt[float64]{}
	}
	return Some(ml)
}

// defaultWindow reports whether settled parameters are limited to the default date window.
func (p SearchParams) defaultWindow() bool {
	if p.ApprovalDateFrom != 0 || p.ApprovalDateTo != 0 {
		return false
	}
	switch p.Status {
	case vocabulary.StatusExpired, vocabulary.StatusSurrendered, vocabulary.StatusRevoked:
		return false
	}
	_, isID := ParseTTBID(p.Q)
	return !isID
}

// resume places the search after the cursor of settled parameters and gives the default window the day it began with.
func (s *ColaSearch) resume(problems *Problems, p *SearchParams, page Opt[int]) {
	if page.OK && page.V != 1 {
		problems.Add("page", "%d cannot be combined with cursor, which says where the page begins; leave page out.", page.V)
	}
	c, err := DecodeCursor(p.Cursor)
	switch {
	case err != nil:
		problems.Add("cursor", "%s is not a cursor of this service; send next_cursor unchanged, or leave cursor out to start over.", Quoted(p.Cursor))
		return
	case c.Fingerprint != s.Fingerprint && c.Fingerprint != p.fingerprint(true) || c.DefaultWindow != s.DefaultWindow:
		problems.Add("cursor", "The cursor belongs to a search with other filters; keep the filters, or leave cursor out to start over.")
		return
	}
	s.CursorMode, s.After, s.Page = true, c.Position, c.Page+1
	if c.DefaultWindow {
		s.windowFrom(c.From)
	}
}
