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
	// maxUseRows is the maximum number of rows in a report. If there are more sources, the last
	// rows combine the remaining ones, one row per channel.
	maxUseRows = 12
	// monthsRead is how many months before the current one are checked for earlier use.
	monthsRead = 11
	// refusalsReported is the maximum number of refusals in a report.
	refusalsReported = 50
	// otherUses names the row that combines a channel's other sources.
	otherUses = "others"
)

// UsageSpan is a time span of a usage report, up to the present.
type UsageSpan string

// The spans.
const (
	Last7Days    UsageSpan = "7d"
	Last30Days   UsageSpan = "30d"
	Last90Days   UsageSpan = "90d"
	Last12Months UsageSpan = "12m"
)

// UsageSpans returns all spans, shortest first.
func UsageSpans() []UsageSpan { return []UsageSpan{Last7Days, Last30Days, Last90Days, Last12Months} }

// steps returns the days of the span that ends today or, for Last12Months, its calendar months. The
// current month includes its remaining days.
func (p UsageSpan) steps(today cola.Date) (steps []UsageStep) {
	if p == Last12Months {
		current := cola.PeriodOf(today.Time())
		for month := current - 11; month <= current; month++ {
			first, last := periodDays(month)
			steps = append(steps, UsageStep{First: first, Last: last})
		}
		return steps
	}
	days := map[UsageSpan]int{Last7Days: 7, Last90Days: 90}[p]
	if days == 0 {
		days = 30
	}
	for day := today.AddDays(1 - days); day <= today; day++ {
		steps = append(steps, UsageStep{First: day, Last: day})
	}
	return steps
}

// UsageReport is an account's usage in the current month and in a time span. Days, Steps, Rows and
// State.Used come from one read of the ledger, so Steps and Rows have the same totals, and so do
// Days and State.Used. Earlier usage, which affects Since and Projected, and Refusals are read
// separately.
type UsageReport struct {
	State cola.QuotaState // this month's quota state
	Now   time.Time       // when the report was made
	// Since is the first day that Projected is based on: the first day of use this month, or the
	// 1st if there was usage in an earlier month. It is 0 if there was no usage at all.
	Since     cola.Date
	Projected cola.Used   // projection for the whole month
	Days      []Usage     // days of the month so far, from the 1st to today
	Steps     []UsageStep // steps of the span, oldest first; the last one includes today
	Rows      []UsageRow  // sources in the span, most requests first, at most 12; the last ones may each combine a channel's other sources
	Refusals  []Refusal   // latest first, at most 50; new ones appear after a few seconds
}

// Usage counts requests and the units of every meter.
type Usage struct {
	DetailViews, ListRecords, Requests int
}

// add adds a ledger row.
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

// UsageStep is the usage of a day or month (UTC). By has an entry for each row of UsageReport.Rows,
// zero if that row was unused.
type UsageStep struct {
	First, Last cola.Date // equal for a day
	Total       Usage
	By          []Usage // in the order of UsageReport.Rows
}

// UsageRow is the usage in a report's span through one channel with one credential, or with the
// channel's other credentials.
type UsageRow struct {
	Channel    cola.Channel
	Credential cola.Credential // ID is 0 for sign-ins, because all browsers share one row; zero value for a channel's other credentials
	Name       string          // name of the key or app; empty for browsers; "others" for a channel's other credentials
	Total      Usage
}

// Reasons for refusals.
const (
	RefusedBurst       = "burst"              // too many requests within a minute
	RefusedDetailViews = "detail_views"       // the month's detail views were used up
	RefusedListRecords = "list_records"       // the month's list records were used up
	RefusedScope       = "insufficient_scope" // an app or key lacked a scope
	RefusedNetwork     = cola.NetworkNotAllowed
	RefusedCredential  = "credential_ended" // the key, app or sign-in was revoked or has expired
	RefusedSuspended   = "account_suspended"
)

// Refusal counts the requests from one source that were rejected within a minute for the same
// reason.
type Refusal struct {
	LastAt     time.Time // time of the latest request
	Channel    cola.Channel
	Credential cola.Credential
	Name       string // name of the key or app; empty for a browser
	Reason     string
	Count      int
}

// UsageReport returns the usage of the caller's account in this month and in the given span. It is
// free.
func (s *Service) UsageReport(ctx context.Context, c cola.Caller, span UsageSpan) (UsageReport, cola.QuotaState, error) {
	report, state, err := readManaged(ctx, s, c, "read usage",
		func(ctx context.Context, state cola.QuotaState) (UsageReport, error) {
			now := s.now()
			read, err := s.readUsage(ctx, c.Account, state.Period, span.steps(cola.DateOf(now)))
			if err != nil {
				return UsageReport{}, err
			}
			return read.report(state, now), nil
		})
	if err == nil {
		state = report.State
	}
	return report, state, err
}

// usageData is an account's usage as stored.
type usageData struct {
	days     []store.DayUsage // days of this month and of the steps
	steps    []UsageStep      // steps of the span, without their usage
	earlier  bool             // there was usage in an earlier month
	refusals []store.Refusal
	credentialNames
}

func (s *Service) readUsage(ctx context.Context, account cola.AccountID, month cola.Period, steps []UsageStep) (r usageData, err error) {
	r.steps = steps
	first, last := periodDays(month)
	first = min(first, steps[0].First)
	if r.days, err = s.store.DailyUsage(ctx, account, first, last); err != nil {
		return r, err
	}
	months, err := s.store.MonthlyUsage(ctx, account, month-monthsRead, month-1)
	if err != nil {
		return r, err
	}
	r.earlier = len(months) > 0
	if r.refusals, err = s.store.Refusals(ctx, account, refusalsReported); err != nil {
		return r, err
	}
	r.credentialNames, err = s.credentialNames(ctx, account)
	return r, err
}

// report builds the report for the state's month.
func (r usageData) report(state cola.QuotaState, now time.Time) UsageReport {
	report := UsageReport{State: state, Now: now, Days: r.monthDays(state.Period, now), Steps: r.steps, Refusals: r.refusalRows()}
	report.State.Used = cola.Used{} // the days include usage since the state was read
	first, _ := periodDays(state.Period)
	for i, d := range report.Days {
		if d.DetailViews+d.ListRecords > 0 && report.Since == 0 {
			report.Since = first.AddDays(i)
		}
		report.State.Used.DetailViews += d.DetailViews
		report.State.Used.ListRecords += d.ListRecords
	}
	if r.earlier {
		report.Since = first
	}
	report.Projected = projectUsage(report.State.Used, report.Since, state.Period.End(), now)
	rows, rowOf := r.rows()
	report.Rows = rows
	for i := range report.Steps {
		report.Steps[i].By = make([]Usage, len(rows))
	}
	for _, d := range r.days {
		if i := r.stepOf(d.Day); i >= 0 {
			report.Steps[i].Total.add(d)
			report.Steps[i].By[rowOf[usageSourceOf(d)]].add(d)
		}
	}
	return report
}

// stepOf returns the index of a day's step, or -1. If the database's clock is ahead, later usage
// counts toward the last step.
func (r usageData) stepOf(day cola.Date) int {
	last := len(r.steps) - 1
	if day > r.steps[last].Last {
		return last
	}
	return slices.IndexFunc(r.steps, func(s UsageStep) bool { return s.First <= day && day <= s.Last })
}

// usageSource is the channel and credential that usage came through.
type usageSource struct {
	channel    cola.Channel
	credential cola.Credential
}

// usageSourceOf returns the source of a ledger row. All browsers are one source.
func usageSourceOf(d store.DayUsage) usageSource {
	source := usageSource{d.Channel, d.Credential}
	if source.credential.Kind == cola.CredentialSignIn {
		source.credential.ID = 0
	}
	return source
}

// rows returns the report's rows, and the index of each source's row.
func (r usageData) rows() ([]UsageRow, map[usageSource]int) {
	totals := map[usageSource]*Usage{}
	var rows []UsageRow
	for _, d := range r.days {
		if r.stepOf(d.Day) < 0 {
			continue
		}
		source := usageSourceOf(d)
		if totals[source] == nil {
			totals[source] = &Usage{}
			rows = append(rows, UsageRow{Channel: source.channel, Credential: source.credential, Name: r.name(source.credential)})
		}
		totals[source].add(d)
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
		source := usageSource{row.Channel, row.Credential}
		if _, ok := rowOf[source]; !ok {
			rowOf[source] = rowOf[usageSource{channel: source.channel}]
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
	n := rowsShownAlone(rows)
	left := map[cola.Channel]int{}
	for _, row := range rows[n:] {
		left[row.Channel]++
	}
	var list, others []UsageRow
	for i, row := range rows {
		if i < n || left[row.Channel] == 1 { // a single other row keeps its name
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

// rowsShownAlone returns how many of the first rows fit alongside one row per channel for the
// remaining ones.
func rowsShownAlone(rows []UsageRow) int {
	if len(rows) <= maxUseRows {
		return len(rows)
	}
	channels := map[cola.Channel]bool{} // of rows[n:]
	n := len(rows)
	for n > 0 && n+len(channels) > maxUseRows {
		n--
		channels[rows[n].Channel] = true
	}
	return n
}

// monthDays returns the usage on each day of a month, up to now.
func (r usageData) monthDays(month cola.Period, now time.Time) []Usage {
	first, last := periodDays(month)
	today := min(max(cola.DateOf(now), first), last)
	if n := len(r.days); n > 0 {
		today = max(today, r.days[n-1].Day) // the database's clock may be ahead
	}
	days := make([]Usage, today-first+1)
	for _, d := range r.days {
		if d.Day >= first {
			days[d.Day-first].add(d)
		}
	}
	return days
}

// projectUsage extrapolates the usage since the given day to the end of the month. It never returns
// less than was used, and does not extrapolate during the first day.
func projectUsage(used cola.Used, since cola.Date, end, now time.Time) cola.Used {
	elapsed, left := now.Sub(since.Time()), end.Sub(now)
	if elapsed < 24*time.Hour || left <= 0 {
		return used
	}
	extrapolate := func(units int) int { return int(math.Round(float64(units) * (1 + left.Hours()/elapsed.Hours()))) }
	return cola.Used{DetailViews: extrapolate(used.DetailViews), ListRecords: extrapolate(used.ListRecords)}
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
