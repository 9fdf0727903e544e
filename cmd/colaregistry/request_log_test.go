package main

import (
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestRequestLogDays checks that a server writes its last requests when it stops, and that a
// restart with fewer days deletes older requests.
func TestRequestLogDays(t *testing.T) {
	onBoth(t, func(t *testing.T, h testRegistry) {
		st := mustOpen(t, h)
		account, secret, _ := mustAccount(t, st, "ann@example.com", cola.TierFree)
		at := time.Now().AddDate(0, 0, -8)
		old := store.RecordedRequest{Account: account.ID, ExpiresAt: at.AddDate(0, 0, 90), LoggedRequest: cola.LoggedRequest{At: at}}
		if err := st.RecordRequests(t.Context(), []store.RecordedRequest{old}, nil); err != nil {
			t.Fatal(err)
		}
		for _, run := range []struct {
			days string
			want int
		}{{"90", 2}, {"7", 2}, {"0", 0}, {"1", 1}} {
			s := startServer(t, h, "--request-log-days", run.days)
			s.get(t, "/usage", secret.Reveal())
			s.stop(t)
			list, err := st.Requests(t.Context(), account.ID, store.RequestFilter{}, 10)
			if err != nil || len(list) != run.want {
				t.Errorf("--request-log-days %s: %d requests recorded, %v; want %d", run.days, len(list), err, run.want)
			}
		}
	})
	for days, valid := range map[int]bool{-1: false, 0: true, 90: true, 91: false} {
		f := dashboardFlags{RequestLogDays: days}
		if err := f.checkRequestLog(); (err == nil) != valid {
			t.Errorf("--request-log-days %d: %v", days, err)
		}
	}
}
