package registry

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	// maxUseRows limits the rows of a report. If there are more sources, the last rows combine the
	// rest, one row per channel.
	maxUseRows = 12
	// monthsReported is the number of months in a report, including the current one.
	monthsReported = 12
	// refusalsReported limits the refusals of a report.
	refusalsReported = 50
	// otherUses names the row that combines a channel's other sources.
	otherUses = "others"
)

// UsageReport is the usage of an account. All figures of the current month come from one read, so
// days, rows and state have the same totals.
type UsageReport struct {
	State     cola.QuotaState // of this month
	Now       time.Time       // when the report was made
	Projected cola.Used       // projection for the whole month
	Days      []DayUsage      // of the month so far, first to today
	Rows      []UsageRow      // most requests first, at most 12; the last may combine a channel's other sources
	Months    []MonthUsage    // 12, oldest first; the last is the current month
	Refusals  []Refusal       // latest first, at most 50; new ones appear after a few seconds
}

// Usage counts units of every meter, and requests.
type Usage struct {
	DetailViews, ListRecords, Requests int
}

// add adds a row of the ledger.
func (u *Usage) add(d store.DayUsage) {
	u.Requests += d.Requests
	switch d.Meter {
	case cola.MeterDetailViews:
		u.DetailViews += d.Units
	case cola.MeterListRecords:
		u.ListRecords += d.Units
	}
}

// Plus returns the sum of u and more.
func (u Usage) Plus(more Usage) Usage {
	return Usage{u.DetailViews + more.DetailViews, u.ListRecords + more.ListRecords, u.Requests + more.Requests}
}

// DayUsage is the usage of one day (UTC). By has an entry for each row of UsageReport.Rows, zero if
// it was unused.
type DayUsage struct {
	Day   cola.Date
	Total Usage
	By    []Usage // in the order of UsageReport.Rows
}

// UsageRow is the usage of a month through one channel with one credential, or with the channel's
// remaining ones.
type UsageRow struct {
	Channel    cola.Channel
	Credential cola.Credential // ID 0 for sign-ins: all browsers are one row; zero for a channel's remaining rows
	Name       string          // of the key or app; empty for browsers; "others" for a channel's remaining rows
	Total      Usage
}

// MonthUsage is the usage of one calendar month (UTC).
type MonthUsage struct {
	Period cola.Period
	Used   cola.Used
}

// Reasons of refusals.
const (
	RefusedBurst       = "burst"              // too many requests within a minute
	RefusedDetailViews = "detail_views"       // the month's detail views were used up
	RefusedListRecords = "list_records"       // the month's list records were used up
	RefusedScope       = "insufficient_scope" // an app lacked a scope
	RefusedCredential  = "credential_ended"   // the key, app or sign-in was revoked or has expired
	RefusedSuspended   = "account_suspended"
)

// Refusal counts the requests from one source that were rejected within a minute for the same
// reason.
type Refusal struct {
	LastAt     time.Time // time of the latest
	Channel    cola.Channel
	Credential cola.Credential
	Name       string // of the key or app; empty for a browser
	Reason     string
	Count      int
}

// UsageReport returns the usage of the caller's account this month and in the last 12 months. It is
// free.
func (s *Service) UsageReport(ctx context.Context, c cola.Caller) (UsageReport, cola.QuotaState, error) {
	report, state, err := readManaged(ctx, s, c, "read usage",
		func(ctx context.Context, state cola.QuotaState) (UsageReport, error) {
			read, err := s.readUsage(ctx, c.Account, state.Period)
			if err != nil {
				return UsageReport{}, err
			}
			return read.report(state, s.now()), nil
		})
	if err == nil {
		state = report.State
	}
	return report, state, err
}

// usageData is the usage of an account as stored.
type usageData struct {
	days     []store.DayUsage // of one month
	months   []store.MonthUsage
	refusals []store.Refusal
	credentialNames
}

func (s *Service) readUsage(ctx context.Context, account cola.AccountID, month cola.Period) (r usageData, err error) {
	first, last := periodDays(month)
	if r.days, err = s.store.DailyUsage(ctx, account, first, last); err != nil {
		return r, err
	}
	if r.months, err = s.store.MonthlyUsage(ctx, account, month-monthsReported+1, month); err != nil {
		return r, err
	}
	if r.refusals, err = s.store.Refusals(ctx, account, refusalsReported); err != nil {
		return r, err
	}
	r.credentialNames, err = s.credentialNames(ctx, account)
	return r, err
}

// report builds the report for the month of the state.
func (r usageData) report(state cola.QuotaState, now time.Time) UsageReport {
	state.Used = cola.Used{} // the days include usage since the state was read
	for _, d := range r.days {
		state.Used.Add(d.Meter, d.Units)
	}
	rows, rowOf := r.rows()
	report := UsageReport{
		State: state, Now: now, Projected: projectUsage(state.Used, state.Period, now),
		Rows: rows, Days: r.daily(state.Period, now, len(rows), rowOf), Refusals: r.refusalRows(),
	}
	for month := state.Period - monthsReported + 1; month < state.Period; month++ {
		report.Months = append(report.Months, MonthUsage{Period: month, Used: r.usedInMonth(month)})
	}
	report.Months = append(report.Months, MonthUsage{Period: state.Period, Used: state.Used})
	return report
}

func (r usageData) usedInMonth(month cola.Period) cola.Used {
	for _, m := range r.months {
		if m.Period == month {
			return m.Used
		}
	}
	return cola.Used{}
}

// usageSource is the channel and credential that usage came through.
type usageSource struct {
	channel    cola.Channel
	credential cola.Credential
}

// usageSourceOf returns the group of a ledger row. All browsers are one group.
func usageSourceOf(d store.DayUsage) usageSource {
	by := usageSource{d.Channel, d.Credential}
	if by.credential.Kind == cola.CredentialSignIn {
		by.credential.ID = 0
	}
	return by
}

// rows returns the rows of a report, and the index of each source's row.
func (r usageData) rows() ([]UsageRow, map[usageSource]int) {
	totals := map[usageSource]*Usage{}
	var rows []UsageRow
	for _, d := range r.days {
		by := usageSourceOf(d)
		if totals[by] == nil {
			totals[by] = &Usage{}
			rows = append(rows, UsageRow{Channel: by.channel, Credential: by.credential, Name: r.name(by.credential)})
		}
		totals[by].add(d)
	}
	for i := range rows {
		rows[i].Total = *totals[usageSource{rows[i].Channel, rows[i].Credential}]
	}
	slices.SortFunc(rows, byRequests)
	list := foldRows(rows)
	rowOf := make(map[usageSource]int, len(rows)+len(list))
	for i, row := range list {
		rowOf[usageSource{row.Channel, row.Credential}] = i
	}
	for _, row := range rows {
		by := usageSource{row.Channel, row.Credential}
		if _, alone := rowOf[by]; !alone {
			rowOf[by] = rowOf[usageSource{channel: by.channel}]
		}
	}
	return list, rowOf
}

// byRequests sorts rows by requests, descending, with a fixed order for ties.
func byRequests(a, b UsageRow) int {
	return cmp.Or(
		cmp.Compare(b.Total.Requests, a.Total.Requests), cmp.Compare(a.Channel, b.Channel),
		cmp.Compare(a.Credential.Kind, b.Credential.Kind), cmp.Compare(a.Credential.ID, b.Credential.ID),
	)
}

// foldRows combines the last rows by channel if there are too many, so that the rows of a channel
// still add up to its total.
func foldRows(rows []UsageRow) []UsageRow {
	alone := rowsShownAlone(rows)
	left := map[cola.Channel]int{}
	for _, row := range rows[alone:] {
		left[row.Channel]++
	}
	var list, others []UsageRow
	for i, row := range rows {
		if i < alone || left[row.Channel] == 1 { // a single other row keeps its name
			list = append(list, row)
			continue
		}
		at := slices.IndexFunc(others, func(o UsageRow) bool { return o.Channel == row.Channel })
		if at < 0 {
			at = len(others)
			others = append(others, UsageRow{Channel: row.Channel, Name: otherUses})
		}
		others[at].Total = others[at].Total.Plus(row.Total)
	}
	slices.SortFunc(others, byRequests)
	return append(list, others...)
}

// rowsShownAlone returns how many of the first rows fit alongside one row per channel for the rest.
func rowsShownAlone(rows []UsageRow) int {
	if len(rows) <= maxUseRows {
		return len(rows)
	}
	channels := map[cola.Channel]bool{} // of rows[alone:]
	alone := len(rows)
	for alone > 0 && alone+len(channels) > maxUseRows {
		alone--
		channels[rows[alone].Channel] = true
	}
	return alone
}

// daily returns the days of a month up to now, for the given rows.
func (r usageData) daily(month cola.Period, now time.Time, rows int, rowOf map[usageSource]int) []DayUsage {
	first, last := periodDays(month)
	today := min(max(cola.DateOf(now), first), last)
	if n := len(r.days); n > 0 {
		today = max(today, r.days[n-1].Day) // the database's clock may be ahead
	}
	days := make([]DayUsage, today-first+1)
	for i := range days {
		days[i] = DayUsage{Day: first.AddDays(i), By: make([]Usage, rows)}
	}
	for _, d := range r.days {
		day := &days[d.Day-first]
		day.Total.add(d)
		day.By[rowOf[usageSourceOf(d)]].add(d)
	}
	return days
}

// projectUsage extrapolates the usage so far to the whole month. It never returns less than was
// used, and does not extrapolate during the first day.
func projectUsage(used cola.Used, month cola.Period, now time.Time) cola.Used {
	start, whole := month.Start(), month.End().Sub(month.Start())
	elapsed := now.Sub(start)
	if elapsed < 24*time.Hour || elapsed >= whole {
		return used
	}
	ahead := func(units int) int { return int(math.Round(float64(units) * whole.Hours() / elapsed.Hours())) }
	return cola.Used{DetailViews: ahead(used.DetailViews), ListRecords: ahead(used.ListRecords)}
}

// refusalRows returns the refusals with the names of their credentials.
func (r usageData) refusalRows() []Refusal {
	list := make([]Refusal, len(r.refusals))
	for i, n := range r.refusals {
		list[i] = Refusal{
			LastAt: n.LastAt, Channel: n.Channel, Credential: n.Credential, Name: r.name(n.Credential),
			Reason: n.Reason, Count: n.Count,
		}
	}
	return list
}

// Usage returns the caller's usage and limits. It is free.
func (s *Service) Usage(ctx context.Context, c cola.Caller) (cola.UsageStats, cola.QuotaState, error) {
	state, err := s.Admit(ctx, c)
	if err != nil {
		return cola.UsageStats{}, state, err
	}
	stats := state.Stats()
	stats.DataAsOf = s.index.View().DataAsOf(s.today())
	return stats, state, nil
}
