package loadtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// fakeLedger is a ledger with one account.
type fakeLedger struct {
	store.Ledger
	used cola.Used
	days []store.DayUsage
}

func (l fakeLedger) AccountUsage(context.Context, cola.AccountID) (store.AccountState, error) {
	return store.AccountState{Exists: true, Used: l.used}, nil
}

func (l fakeLedger) DailyUsage(context.Context, cola.AccountID, cola.Date, cola.Date) ([]store.DayUsage, error) {
	return l.days, nil
}

// charges returns a ledger whose daily and monthly usage agree.
func charges(views, records, requests int) fakeLedger {
	today := cola.DateOf(time.Now())
	return fakeLedger{used: cola.Used{DetailViews: views, ListRecords: records}, days: []store.DayUsage{
		{Day: today, Meter: cola.MeterDetailViews, Units: views},
		{Day: today, Meter: cola.MeterListRecords, Units: records, Requests: requests},
	}}
}

var (
	asksDetail = Request{Path: "/colas/1", Meter: cola.MeterDetailViews, Most: 1, Want: 200}
	asksList   = Request{Path: "/colas", Meter: cola.MeterListRecords, Most: 20, Want: 200}
)

// TestAudit covers every kind of difference between the responses and the ledger, because every
// load test relies on the audit.
func TestAudit(t *testing.T) {
	answered := []Exchange{
		{Request: asksDetail, Status: 200, Units: 1, Sent: at(1), Answered: at(2)},
		{Request: asksList, Status: 200, Units: 15, Sent: at(1), Answered: at(2)},
		{Request: asksList, Status: 404, Sent: at(1), Answered: at(2)},
		{Request: asksList, Status: 429, Burst: true, Sent: at(1), Answered: at(2)},
		{Request: asksDetail, Status: 503, Sent: at(1), Answered: at(2)},
	}
	cutOff := append(answered[:len(answered):len(answered)],
		Exchange{Request: asksList, Failure: Reset, Sent: at(9), Answered: at(10.5)})
	endings := []Ending{{At: at(10), Gone: at(11), Killed: true, Clear: at(8)}}
	spent := cola.Used{DetailViews: 100, ListRecords: 9_950}
	inconsistent := charges(101, 9_965, 3)
	inconsistent.used.ListRecords--
	for _, tt := range []struct {
		name      string
		exchanges []Exchange
		ledger    fakeLedger
		want      Verdict
		problem   string
	}{
		{"equal", answered, charges(101, 9_965, 3), Exact, ""},
		{"one record less", answered, charges(101, 9_964, 3), Lost, "less than"},
		{"one view less", answered, charges(100, 9_965, 3), Lost, "less than"},
		{"one request less", answered, charges(101, 9_965, 2), Lost, "less than"},
		{"one record more", answered, charges(101, 9_966, 3), Over, "more than"},
		{"one view more", answered, charges(102, 9_965, 3), Over, "more than"},
		{"one request more", answered, charges(101, 9_965, 4), Over, "more than"},
		{"unknown not charged", cutOff, charges(101, 9_965, 3), Bounds, ""},
		{"unknown charged", cutOff, charges(101, 9_985, 4), Bounds, ""},
		{"more than unknown", cutOff, charges(101, 9_986, 4), Over, "more than"},
		{"less than answered, with unknown", cutOff, charges(101, 9_964, 4), Lost, "less than"},
		{
			"above the quota", append(cutOff[:len(cutOff):len(cutOff)], cutOff[5], cutOff[5]),
			charges(101, 10_001, 4), Over, "exceed the limits",
		},
		{"inconsistent days", answered, inconsistent, Over, "add up"},
	} {
		account := &Account{Account: store.Account{ID: 7, Tier: cola.TierFree}, Key: auth.NewSecret(), Spent: spent}
		exchanges := make([]Exchange, len(tt.exchanges))
		for i, e := range tt.exchanges {
			e.Account = account
			exchanges[i] = e
		}
		got, err := Audit(t.Context(), tt.ledger, []*Account{account}, exchanges, endings, time.Now())
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %d statements, %v; want 1", tt.name, len(got), err)
		}
		problems := strings.Join(got[0].Problems, "; ")
		if got[0].Verdict != tt.want || !strings.Contains(problems, tt.problem) ||
			(tt.problem == "") != (problems == "") {
			t.Errorf("%s: %v %q, want %v %q", tt.name, got[0].Verdict, problems, tt.want, tt.problem)
		}
	}
}

func TestAuditRateLimit(t *testing.T) {
	account := &Account{Account: store.Account{ID: 7, Tier: cola.TierFree}}
	limit := cola.TierFree.Limits().PerMinute
	exchangesUntil := func(last float64) []Exchange {
		var all []Exchange
		for i := range limit + 1 {
			seconds := float64(i)
			if i == limit {
				seconds = last
			}
			all = append(all, Exchange{Account: account, Status: 400, Sent: at(seconds), Answered: at(seconds + 1)})
		}
		return all
	}
	for last, want := range map[float64]Verdict{58.9: Over, 59: Exact, 100: Exact} {
		got, err := Audit(t.Context(), charges(0, 0, limit+1), []*Account{account}, exchangesUntil(last), nil, time.Now())
		if err != nil || got[0].Verdict != want {
			t.Errorf("%d requests, the last after %v s: %v %v, %v; want %v",
				limit+1, last, got[0].Verdict, got[0].Problems, err, want)
		}
	}
}
