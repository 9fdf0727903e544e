package loadtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/store"
)

// Cost is the total cost of a set of requests.
type Cost struct{ DetailViews, ListRecords, Requests int }

func (c *Cost) add(m cola.Meter, units, requests int) {
	used := cola.Used{DetailViews: c.DetailViews, ListRecords: c.ListRecords}
	used.Add(m, units)
	*c = Cost{used.DetailViews, used.ListRecords, c.Requests + requests}
}

// Plus returns the sum of two costs.
func (c Cost) Plus(o Cost) Cost {
	return Cost{c.DetailViews + o.DetailViews, c.ListRecords + o.ListRecords, c.Requests + o.Requests}
}

// within reports whether no part of c exceeds the same part of o.
func (c Cost) within(o Cost) bool {
	return c.DetailViews <= o.DetailViews && c.ListRecords <= o.ListRecords && c.Requests <= o.Requests
}

// String formats the cost as views/records/requests.
func (c Cost) String() string {
	return fmt.Sprintf("%d/%d/%d", c.DetailViews, c.ListRecords, c.Requests)
}

// Verdict says how an account's charges compare with its responses.
type Verdict uint8

// Verdicts.
const (
	Exact  Verdict = iota // charges equal responses, and no outcome is unknown
	Bounds                // at least the responses, at most the responses plus the unknown outcomes
	Lost                  // less than the responses
	Over                  // above the bounds, or more than the tier's quota or rate limit allows
)

// String returns the verdict's name.
func (v Verdict) String() string { return [...]string{"exact", "within bounds", "LOST", "OVER"}[v] }

// Statement compares an account's responses with its ledger.
type Statement struct {
	Account    *Account
	Answered   Cost // cost of its responses
	Open       Cost // maximum cost of exchanges with an unknown outcome and of unresolved 503s
	Unknown    int  // number of exchanges with an unknown outcome
	Unresolved int  // number of 503s that may have been charged
	Charged    Cost // in the ledger, minus the usage before the run
	Verdict    Verdict
	Problems   []string // reasons for the verdict Lost or Over

	grants []span
}

// span is the period from a granted request to its response.
type span struct{ sent, answered time.Time }

// Audit compares the ledger with each account's exchanges. endings lists the exits of the
// processes, in chronological order for each process. since is the start of the traffic.
func Audit(
	ctx context.Context, st store.Ledger, accounts []*Account, exchanges []Exchange, endings []Ending, since time.Time,
) ([]Statement, error) {
	statements := books(accounts, exchanges, endings)
	for i := range statements {
		s := &statements[i]
		if err := s.readLedger(ctx, st, since); err != nil {
			return nil, fmt.Errorf("account %s: %w", s.Account.Email, err)
		}
		s.judge()
	}
	return statements, nil
}

// books totals the cost of each account's responses.
func books(accounts []*Account, exchanges []Exchange, endings []Ending) []Statement {
	statements := make([]Statement, len(accounts))
	place := map[*Account]*Statement{}
	for i, a := range accounts {
		statements[i].Account, place[a] = a, &statements[i]
	}
	for i := range exchanges {
		if s := place[exchanges[i].Account]; s != nil {
			s.enter(&exchanges[i], exchanges[i].outcome(endings))
		}
	}
	return statements
}

func (s *Statement) enter(e *Exchange, o Outcome) {
	switch o {
	case Granted:
		s.Answered.add(e.Request.Meter, e.Units, 1)
		s.grants = append(s.grants, span{e.Sent, e.Answered})
	case Unknown, Failed:
		s.Unknown++
		s.Open.add(e.Request.Meter, e.Request.Most, 1)
	case Unresolved:
		s.Unresolved++
		s.Open.add(e.Request.Meter, e.Request.Most, 1)
	}
}

// readLedger reads the account's charges. The daily usage of the current month must add up to the
// month's counters.
func (s *Statement) readLedger(ctx context.Context, st store.Ledger, since time.Time) error {
	state, err := st.AccountUsage(ctx, s.Account.ID)
	if err != nil {
		return err
	}
	// Start a day early, because usage before the run may fall on the previous day and clocks may
	// differ slightly.
	today := cola.DateOf(time.Now())
	days, err := st.DailyUsage(ctx, s.Account.ID, cola.DateOf(since)-1, today+1)
	if err != nil {
		return err
	}
	months := map[cola.Period]Cost{}
	for _, d := range days {
		month := months[cola.PeriodOf(d.Day.Time())]
		month.add(d.Meter, d.Units, d.Requests)
		months[cola.PeriodOf(d.Day.Time())] = month
		s.Charged.add(d.Meter, d.Units, d.Requests)
	}
	s.Charged.DetailViews -= s.Account.Spent.DetailViews
	s.Charged.ListRecords -= s.Account.Spent.ListRecords
	for period, b := range months {
		s.checkMonth(period, b)
	}
	if b := months[cola.PeriodOf(time.Now())]; b.DetailViews != state.Used.DetailViews ||
		b.ListRecords != state.Used.ListRecords {
		s.addProblem(Over, "the days add up to %d views and %d records, but the month's counters are %+v",
			b.DetailViews, b.ListRecords, state.Used)
	}
	return nil
}

func (s *Statement) checkMonth(period cola.Period, c Cost) {
	limits := s.Account.Tier.Limits()
	if c.DetailViews > limits.DetailViews || c.ListRecords > limits.ListRecords {
		s.addProblem(Over, "%d views and %d records in %s exceed the limits of %d and %d",
			c.DetailViews, c.ListRecords, period, limits.DetailViews, limits.ListRecords)
	}
}

// addProblem adds a problem and raises the verdict to at least v.
func (s *Statement) addProblem(v Verdict, format string, args ...any) {
	s.Verdict = max(s.Verdict, v)
	s.Problems = append(s.Problems, fmt.Sprintf(format, args...))
}

// judge compares the responses with the ledger.
func (s *Statement) judge() {
	if s.Open != (Cost{}) {
		s.Verdict = max(s.Verdict, Bounds)
	}
	if !s.Answered.within(s.Charged) {
		s.addProblem(Lost, "charged %v, less than the %v answered (views/records/requests)", s.Charged, s.Answered)
	}
	if most := s.Answered.Plus(s.Open); !s.Charged.within(most) {
		s.addProblem(Over, "charged %v, more than the %v answered or unknown (views/records/requests)", s.Charged, most)
	}
	if n, limit := mostInWindow(s.grants), s.Account.Tier.Limits().PerMinute; n > limit {
		s.addProblem(Over, "%d requests granted in less than %v, limit %d", n, quota.Window, limit)
	}
}

// mostInWindow returns the maximum number of requests known to have been granted within one window:
// those that were both sent and answered in it.
func mostInWindow(grants []span) (most int) {
	grants = slices.SortedFunc(slices.Values(grants),
		func(a, b span) int { return cmp.Compare(a.sent.UnixNano(), b.sent.UnixNano()) })
	for i, first := range grants {
		end, n := first.sent.Add(quota.Window), 0
		for _, g := range grants[i:] {
			if !g.sent.Before(end) {
				break
			}
			if g.answered.Before(end) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
