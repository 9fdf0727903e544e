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
	f := findingsFrom(p.Decoded)
	settled := p.settle(f)
	s := ColaSearch{
		Query:       settled.query(f),
		PerPage:     f.integer("per_page", p.PerPage, DefaultPerPage, 1, MaxPerPage),
		Fingerprint: settled.fingerprint(false),
	}
	s.DefaultWindow = settled.defaultWindow()
	if s.DefaultWindow {
		s.windowFrom(DateOf(now).AddDays(-DefaultWindowDays))
	}
	if settled.Cursor == "" {
		s.Page = f.page(p.Page, "To read further, send the next_cursor of page 100 as cursor, without page.")
	} else if len(f.problems["cursor"]) == 0 {
		s.resume(f, &settled, p.Page)
	}
	if err := f.err(); err != nil {
		return ColaSearch{}, err
	}
	return s, nil
}

// windowFrom limits the search to the default window that begins on a day.
func (s *ColaSearch) windowFrom(first Date) {
	s.From, s.To = first, first.AddDays(DefaultWindowDays)
}

// settle returns the parameters with every value in the form it is compared in. It is idempotent.
func (p SearchParams) settle(f *findings) SearchParams {
	s := SearchParams{Cursor: f.text("cursor", p.Cursor)}
	for i := range filters {
		if c := &filters[i]; c.Param != "" {
			c.check(f, c.Param, c.settle, valueAt(c.param(&p))).writeTo(c.param(&s))
		}
	}
	if from, to := p.ApprovalDateFrom, p.ApprovalDateTo; from != 0 && to != 0 && from > to {
		f.problems.Add("approval_date_from", "%s is after approval_date_to, which is %s; no day lies between.", from, to)
	}
	f.ordered("abv_min", s.ABVMin, "abv_max", s.ABVMax)
	f.ordered("volume_min", s.VolumeMin, "volume_max", s.VolumeMax)
	if p.VolumeMin.OK || p.VolumeMax.OK {
		f.needUnit("volume_unit", p.VolumeUnit)
	}
	return s
}

// check normalizes a value and reports problems under name.
func (f *Filter) check(found *findings, name string, settle func(*findings, string, string) string, v filterValue) filterValue {
	switch f.Kind {
	case TextFilter:
		if settle == nil {
			settle = (*findings).text
		}
		v.text = settle(found, name, v.text)
	case ChoiceFilter, UnitFilter:
		v.text = found.choice(name, v.text, f.Words)
	case ListFilter:
		v.words = found.choices(name, v.words, f.Words)
	case MinFilter, MaxFilter:
		v.number = found.bound(name, v.number, f.Max)
	}
	return v
}

func (f *findings) path(name, value string) string { return vocabulary.NormalizePath(f.text(name, value)) }
func (f *findings) permit(name, value string) string {
	return vocabulary.NormalizePermit(f.text(name, value))
}

// needUnit notes that the unit of a volume is not given.
func (f *findings) needUnit(name, unit string) {
	if strings.TrimSpace(unit) == "" {
		f.problems.Add(name, "A unit is required with volume_min and volume_max; allowed: %s.", strings.Join(vocabulary.VolumeUnits(), ", "))
	}
}

// query returns what settled parameters ask for, without the default window.
func (p SearchParams) query(found *findings) (q Query) {
	for i := range filters {
		f := &filters[i]
		if f.Param == "" {
			continue
		}
		v := valueAt(f.param(&p))
		if f.measured {
			v.number = found.milliliters(f.Param, v.number, p.VolumeUnit)
		}
		f.set(&q, v)
	}
	return q
}

// milliliters converts a settled bound; without a unit there is a problem noted already.
func (f *findings) milliliters(name string, v Opt[float64], unit string) Opt[float64] {
	if !v.OK || unit == "" {
		return Opt[float64]{}
	}
	ml, ok := vocabulary.Milliliters(v.V, unit)
	if !ok {
		f.problems.Add(name, "%s %s is too large a volume.", plain(v.V), unit)
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
func (s *ColaSearch) resume(f *findings, p *SearchParams, page Opt[int]) {
	if page.OK && page.V != 1 {
		f.problems.Add("page", "%d cannot be combined with cursor, which says where the page begins; leave page out.", page.V)
	}
	c, err := DecodeCursor(p.Cursor)
	switch {
	case err != nil:
		f.problems.Add("cursor", "%s is not a cursor of this service; send next_cursor unchanged, or leave cursor out to start over.", vocabulary.Quote(p.Cursor))
		return
	case c.Fingerprint != s.Fingerprint && c.Fingerprint != p.fingerprint(true) || c.DefaultWindow != s.DefaultWindow:
		f.problems.Add("cursor", "The cursor belongs to a search with other filters; keep the filters, or leave cursor out to start over.")
		return
	}
	s.CursorMode, s.After, s.Page = true, c.Position, c.Page+1
	if c.DefaultWindow {
		s.windowFrom(c.From)
	}
}
