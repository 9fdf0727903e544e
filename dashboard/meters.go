package dashboard

import (
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// meter is a limit and how much of it is used. Used exceeds Limit only if the account moved to a
// smaller plan during the month; the ledger grants nothing beyond the limit.
type meter struct {
	Name        string
	Used, Limit int
}

// Shown returns the usage up to the limit.
func (m meter) Shown() int { return min(m.Used, m.Limit) }

// Over returns the usage beyond the limit.
func (m meter) Over() int { return max(0, m.Used-m.Limit) }

// percent returns how much of a limit is used, from 0 to 100. It returns 100 only if the whole
// limit is used.
func percent(used, limit int) int {
	if limit <= 0 {
		return 100
	}
	return min(100, used*100/limit)
}

// barWidth returns the width of a bar in percent. A nonzero part is always visible.
func barWidth(part, whole int) int {
	if part <= 0 && whole > 0 {
		return 0
	}
	return max(2, percent(part, whole))
}

// forecast is a meter with its projection to the end of the month.
type forecast struct {
	Meter       meter
	Projected   int
	Early       bool      // no projection yet: less than a day since the 1st or the first day of use
	Over        bool      // Projected exceeds the limit
	Exhausted   bool      // no quota left
	Since       cola.Date // first day of use, if it is later than the 1st
	Last        cola.Date // last day of the month
	ExhaustedOn cola.Date // projected day of exhaustion, or zero if not this month
	Upgradable  bool      // there is a larger plan
	unit        measure
}

// forecasts returns the forecasts of both meters.
func forecasts(r registry.UsageReport) []forecast {
	used, projected := usageOf(r.State.Used), usageOf(r.Projected)
	var all []forecast
	for _, unit := range measures() {
		if unit.quota == nil {
			continue
		}
		f := newForecast(meter{capitalize(unit.unit), unit.count(used), unit.quota(r.State.Limits)}, unit.count(projected), r)
		f.unit = unit
		all = append(all, f)
	}
	return all
}

func usageOf(u cola.Used) registry.Usage {
	return registry.Usage{DetailViews: u.DetailViews, ListRecords: u.ListRecords}
}

func newForecast(m meter, projected int, r registry.UsageReport) forecast {
	month := r.State.Period
	f := forecast{
		Meter: m, Projected: projected, Over: projected > m.Limit, Exhausted: m.Used >= m.Limit,
		Early: m.Used > 0 && r.Now.Sub(r.Since.Time()) < 24*time.Hour,
		Last:  cola.DateOf(month.End()) - 1, Upgradable: !r.State.Tier.Largest(),
	}
	if r.Since > cola.DateOf(month.Start()) {
		f.Since = r.Since
	}
	if f.Over && !f.Exhausted {
		share := float64(m.Limit-m.Used) / float64(projected-m.Used)
		f.ExhaustedOn = cola.DateOf(r.Now.Add(time.Duration(share * float64(month.End().Sub(r.Now)))))
	}
	return f
}
