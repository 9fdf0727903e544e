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

// Balance is what requests come to.
type Balance struct{ DetailViews, ListRecords, Requests int }

func (b *Balance) add(m cola.Meter, units, requests int) {
	used := cola.Used{DetailViews: b.DetailViews, ListRecords: b.ListRecords}
	used.Add(m, units)
	*b = Balance{used.DetailViews, used.ListRecords, b.Requests + requests}
}

// Plus returns the sum of both.
func (b Balance) Plus(o Balance) Balance {
	return Balance{b.DetailViews + o.DetailViews, b.ListRecords + o.ListRecords, b.Requests + o.Requests}
}

// within reports whether none of it is more than in another.
func (b Balance) within(o Balance) bool {
	return b.DetailViews <= o.DetailViews && b.ListRecords <= o.ListRecords && b.Requests <= o.Requests
}

// String is views/records/requests.
func (b Balance) String() string {
	return fmt.Sprintf("%d/%d/%d", b.DetailViews, b.ListRecords, b.Requests)
}

// Verdict is how an account's charges compare with what it was answered.
type Verdict uint8

// The verdicts.
const (
	Exact  Verdict = iota // charged is what was answered, with nothing unknown
	Bounds                // no less than was answered, no more than that and what is unknown can have cost
	Lost                  // less than was answered
	Over                  // more than that, or more than its tier allows in a month or in a window
)

// String is the verdict's name.
func (v Verdict) String() string { return [...]string{"exact", "within bounds", "LOST", "OVER"}[v] }

// Statement is an account's books beside the ledger's.
type Statement struct {
	Account    *Account
	Answered   Balance // what it was answered
	Open       Balance // the most that exchanges of unknown outcome, and unresolved 503s, can have cost
	Unknown    int     // of those
	Unresolved int
	Charged    Balance // by the ledger, less what was spent before
	Verdict    Verdict
	Problems   []string // what makes the verdict Lost or Over

	grants []span
}

// span is when a grant was had: some time between its request and its answer.
type span struct{ sent, answered time.Time }

// Audit holds the ledger against the books, account by account. Endings are all those that were brought about, in the order of
// time; since is when the traffic began.
func Audit(ctx context.Context, st store.Ledger, accounts []*Account, exchanges []Exchange, endings []Ending, since time.Time) ([]Statement, error) {
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

// books sums up what each account was answered.
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
		s.Answered.add(e.Question.Meter, e.Units, 1)
		s.grants = append(s.grants, span{e.Sent, e.Answered})
	case Unknown, Failed:
		s.Unknown++
		s.Open.add(e.Question.Meter, e.Question.Most, 1)
	case Unresolved:
		s.Unresolved++
		s.Open.add(e.Question.Meter, e.Question.Most, 1)
	}
}

// readLedger reads what the account was charged. The days of a month must add up to its counter.
func (s *Statement) readLedger(ctx context.Context, st store.Ledger, since time.Time) error {
	state, err := st.AccountUsage(ctx, s.Account.ID)
	if err != nil {
		return err
	}
	// A day earlier, for what was spent on the eve of the run and for clocks that differ a little.
	today := cola.DateOf(time.Now())
	days, err := st.DailyUsage(ctx, s.Account.ID, cola.DateOf(since)-1, today+1)
	if err != nil {
		return err
	}
	months := map[cola.Period]Balance{}
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
	if b := months[cola.PeriodOf(time.Now())]; b.DetailViews != state.Used.DetailViews || b.ListRecords != state.Used.ListRecords {
		s.find(Over, "the days add up to %d views and %d records, the month's counters are %+v", b.DetailViews, b.ListRecords, state.Used)
	}
	return nil
}

func (s *Statement) checkMonth(period cola.Period, b Balance) {
	limits := s.Account.Tier.Limits()
	if b.DetailViews > limits.DetailViews || b.ListRecords > limits.ListRecords {
		s.find(Over, "%d views and %d records in %s are over the limits of %d and %d",
			b.DetailViews, b.ListRecords, period, limits.DetailViews, limits.ListRecords)
	}
}

// find notes what is wrong.
func (s *Statement) find(v Verdict, format string, args ...any) {
	s.Verdict = max(s.Verdict, v)
	s.Problems = append(s.Problems, fmt.Sprintf(format, args...))
}

// judge compares the books with the ledger.
func (s *Statement) judge() {
	if s.Open != (Balance{}) {
		s.Verdict = max(s.Verdict, Bounds)
	}
	if !s.Answered.within(s.Charged) {
		s.find(Lost, "charged %v, less than the %v that were answered (views/records/requests)", s.Charged, s.Answered)
	}
	if most := s.Answered.Plus(s.Open); !s.Charged.within(most) {
		s.find(Over, "charged %v, more than the %v that were answered or of unknown outcome (views/records/requests)", s.Charged, most)
	}
	if n, limit := mostInWindow(s.grants), s.Account.Tier.Limits().PerMinute; n > limit {
		s.find(Over, "%d requests let through in less than %v, more than %d", n, quota.Window, limit)
	}
}

// mostInWindow returns the largest number of grants that were surely had within one window: those sent and answered in it.
func mostInWindow(grants []span) (most int) {
	grants = slices.SortedFunc(slices.Values(grants), func(a, b span) int { return cmp.Compare(a.sent.UnixNano(), b.sent.UnixNano()) })
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
