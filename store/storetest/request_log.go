package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testRequestLog(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"every field, newest first, by account", listRequests},
		{"filters", filterRequests},
		{"pages", pageRequests},
		{"one request", readRequest},
		{"gaps add up", sumGaps},
		{"ignored and malformed requests", invalidRequests},
		{"shorter retention", limitRequests},
		{"concurrent writers", concurrentRequests},
	})
}

// newRequest returns a request that arrived n seconds after the epoch and expires a week later.
func newRequest(account cola.AccountID, n int) store.RecordedRequest {
	at := epoch.Add(time.Duration(n) * time.Second)
	return store.RecordedRequest{
		Account: account, ExpiresAt: at.Add(7 * 24 * time.Hour),
		LoggedRequest: cola.LoggedRequest{
			At: at, RequestID: fmt.Sprint("request-", n), Channel: cola.ChannelREST, Credential: keyCredential(1),
			Method: "GET", Target: "/api/v1/colas", Input: "q=oak", Status: 200, Duration: 1_234_567 * time.Nanosecond,
			Meter: cola.MeterListRecords, Units: 20,
		},
	}
}

// newGap returns a gap in the hour n hours after the epoch.
func newGap(account cola.AccountID, n, successes, failures int) store.RequestGap {
	hour := epoch.Truncate(time.Hour).Add(time.Duration(n) * time.Hour)
	return store.RequestGap{
		Account: account, Hour: hour, ExpiresAt: hour.Add(7 * 24 * time.Hour), Successes: successes, Errors: failures,
	}
}

func mustRecordRequests(t tb, st store.Store, requests ...store.RecordedRequest) {
	t.Helper()
	mustDo(t, st.RecordRequests(context.Background(), requests, nil))
}

// mustRequests lists requests and checks that each has an ID, which it removes.
func mustRequests(t tb, st store.Store, account cola.AccountID, which store.RequestFilter, limit int) []cola.LoggedRequest {
	t.Helper()
	list, err := st.Requests(context.Background(), account, which, limit)
	must(t, list, err)
	for i := range list {
		if list[i].ID == 0 {
			t.Errorf("request %+v has no ID", list[i])
		}
		list[i].ID = 0
	}
	return list
}

// checkRequests checks the request IDs of a list.
func checkRequests(t *testing.T, what string, got []cola.LoggedRequest, want ...int) {
	t.Helper()
	var have, expected []string
	for _, r := range got {
		have = append(have, r.RequestID)
	}
	for _, n := range want {
		expected = append(expected, fmt.Sprint("request-", n))
	}
	if diff := cmp.Diff(expected, have); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// hostileText is text that needs care in SQL, patterns and encodings.
const hostileText = "'; DROP TABLE request_log; -- \"\\%_ <script> ünï \u202e 🍷"

func listRequests(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustRecordRequests(t, st)
	first, second, other := newRequest(a.ID, 1), newRequest(a.ID, 2), newRequest(b.ID, 3)
	second.Channel, second.Credential = cola.ChannelMCP, cola.Credential{Kind: cola.CredentialLink, ID: 7}
	second.Method, second.Target, second.Input = "tools/call", "search_colas", `{"q": "`+hostileText+`"}`
	second.Status, second.Code, second.Meter, second.Units = 400, cola.CodeValidation, cola.MeterNone, 0
	second.Answer, second.RequestID = `{"error": `+hostileText, hostileText
	local := first
	local.At = first.At.In(time.FixedZone("", 3600)) // stored in UTC
	mustRecordRequests(t, st, second, other, local)
	checkEqual(t, "Requests", []cola.LoggedRequest{second.LoggedRequest, first.LoggedRequest},
		mustRequests(t, st, a.ID, store.RequestFilter{}, 10))
	checkEqual(t, "Requests of another account", []cola.LoggedRequest{other.LoggedRequest},
		mustRequests(t, st, b.ID, store.RequestFilter{}, 10))
	checkRequests(t, "Requests, limit 1", mustRequests(t, st, b.ID, store.RequestFilter{}, 1), 3)
	for _, limit := range []int{0, -1} {
		checkRequests(t, fmt.Sprint("Requests, limit ", limit), mustRequests(t, st, a.ID, store.RequestFilter{}, limit))
	}
	checkRequests(t, "Requests of an unknown account", mustRequests(t, st, b.ID+100, store.RequestFilter{}, 10))
}

func filterRequests(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	var all []store.RecordedRequest
	for n, change := range []func(*store.RecordedRequest){
		func(r *store.RecordedRequest) {},
		func(r *store.RecordedRequest) { r.Status, r.Code = 429, cola.CodeQuotaExceeded },
		func(r *store.RecordedRequest) { r.Channel = cola.ChannelMCP },
		func(r *store.RecordedRequest) { r.Credential = keyCredential(2) },
		func(r *store.RecordedRequest) { r.Credential = signInCredential(1) },
		func(r *store.RecordedRequest) { r.Target = "/api/v1/colas/100%_a" },
		func(r *store.RecordedRequest) { r.Input = "q=Blue+MOON" },
		func(r *store.RecordedRequest) { r.Status, r.Target = 503, "/x" },
	} {
		all = append(all, newRequest(a.ID, n))
		change(&all[n])
	}
	mustRecordRequests(t, st, all...)
	at := func(n int) time.Time { return all[n].At }
	for _, tt := range []struct {
		name  string
		which store.RequestFilter
		want  []int
	}{
		{"from", store.RequestFilter{From: at(6)}, []int{7, 6}},
		{"to", store.RequestFilter{To: at(2)}, []int{1, 0}},
		{"from and to", store.RequestFilter{From: at(2), To: at(4)}, []int{3, 2}},
		{"empty span", store.RequestFilter{From: at(4), To: at(4)}, nil},
		{"errors", store.RequestFilter{MinStatus: 400}, []int{7, 1}},
		{"4xx", store.RequestFilter{MinStatus: 400, MaxStatus: 499}, []int{1}},
		{"channel", store.RequestFilter{Channel: cola.ChannelMCP}, []int{2}},
		{"key", store.RequestFilter{Credential: keyCredential(2)}, []int{3}},
		{"browsers", store.RequestFilter{Credential: cola.Credential{Kind: cola.CredentialSignIn}}, []int{4}},
		{"wildcards are literal", store.RequestFilter{Text: "100%_A"}, []int{5}},
		{"a wildcard alone", store.RequestFilter{Text: "%"}, []int{5}},
		{"text in the input", store.RequestFilter{Text: "blue+moon"}, []int{6}},
		{"text escaped in the input", store.RequestFilter{Text: "Q=blue MOON"}, nil},
		{"text escaped in the value", store.RequestFilter{Text: "blue MOON"}, []int{6}},
		{"request ID", store.RequestFilter{Text: "request-3"}, []int{3}},
		{"part of a request ID", store.RequestFilter{Text: "request-"}, nil},
		{"several", store.RequestFilter{Text: "/x", MinStatus: 500, From: at(1), Channel: cola.ChannelREST}, []int{7}},
		{"hostile text", store.RequestFilter{Text: hostileText}, nil},
		{"escape character", store.RequestFilter{Text: "~"}, nil},
	} {
		checkRequests(t, tt.name, mustRequests(t, st, a.ID, tt.which, 10), tt.want...)
	}
	for _, which := range []store.RequestFilter{
		{Text: "a\x00"}, {Text: "\xff"}, {Channel: "\x00"}, {Credential: cola.Credential{Kind: "\xff"}},
	} {
		if _, err := st.Requests(t.Context(), a.ID, which, 10); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("Requests(%+v) error = %v, want ErrMalformed", which, err)
		}
	}
}

// pageRequests checks that cursors split a list without gaps or overlaps, even among requests with
// the same time.
func pageRequests(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	for n := range 7 {
		r := newRequest(a.ID, n)
		r.At = epoch.Add(time.Duration(n/3) * time.Second)
		mustRecordRequests(t, st, r, newRequest(b.ID, n))
	}
	page := func(which store.RequestFilter) []cola.LoggedRequest {
		t.Helper()
		list, err := st.Requests(t.Context(), a.ID, which, 3)
		return must(t, list, err)
	}
	cursor := func(r cola.LoggedRequest) store.RequestCursor { return store.RequestCursor{At: r.At, ID: r.ID} }
	first := page(store.RequestFilter{})
	checkRequests(t, "first page", first, 6, 5, 4)
	second := page(store.RequestFilter{Before: cursor(first[2])})
	checkRequests(t, "second page", second, 3, 2, 1)
	third := page(store.RequestFilter{Before: cursor(second[2])})
	checkRequests(t, "third page", third, 0)
	checkRequests(t, "after the third page", page(store.RequestFilter{After: cursor(third[0])}), 3, 2, 1)
	checkRequests(t, "after the second page", page(store.RequestFilter{After: cursor(second[0])}), 6, 5, 4)
	checkRequests(t, "after the first page", page(store.RequestFilter{After: cursor(first[0])}))
	checkRequests(t, "before the last page", page(store.RequestFilter{Before: cursor(third[0])}))
}

func readRequest(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	r := newRequest(a.ID, 1)
	mustRecordRequests(t, st, r)
	list, err := st.Requests(t.Context(), a.ID, store.RequestFilter{}, 1)
	r.ID = must(t, list, err)[0].ID
	found, err := st.Request(t.Context(), a.ID, r.ID)
	checkEqual(t, "Request", r.LoggedRequest, must(t, found, err))
	for account, id := range map[cola.AccountID]int64{b.ID: r.ID, a.ID: r.ID + 1, 0: r.ID} {
		if _, err := st.Request(t.Context(), account, id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Request(%d, %d) error = %v, want ErrNotFound", account, id, err)
		}
	}
}

func sumGaps(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustDo(t, st.RecordRequests(t.Context(), nil,
		[]store.RequestGap{newGap(a.ID, 2, 5, 1), newGap(a.ID, 0, 1, 0), newGap(b.ID, 0, 100, 100)}))
	mustDo(t, st.RecordRequests(t.Context(), []store.RecordedRequest{newRequest(a.ID, 1)},
		[]store.RequestGap{newGap(a.ID, 2, 10, 2)}))
	hour := func(n int) time.Time { return epoch.Truncate(time.Hour).Add(time.Duration(n) * time.Hour) }
	for _, tt := range []struct {
		from, to            time.Time
		successes, failures int
	}{
		{hour(0), hour(3), 16, 3},
		{hour(1), hour(3), 15, 3},
		{hour(2).Add(59 * time.Minute), hour(9), 15, 3},
		{hour(0), hour(2), 1, 0},
		{hour(3), hour(9), 0, 0},
	} {
		sum, err := st.RequestGaps(t.Context(), a.ID, tt.from, tt.to)
		checkEqual(t, fmt.Sprintf("gaps from %v to %v", tt.from, tt.to),
			store.RequestGap{Successes: tt.successes, Errors: tt.failures}, must(t, sum, err))
	}
}

func invalidRequests(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustDo(t, st.RecordRequests(t.Context(),
		[]store.RecordedRequest{newRequest(a.ID+100, 1), newRequest(0, 2), newRequest(a.ID, 3)},
		[]store.RequestGap{newGap(a.ID+100, 1, 1, 1)}))
	for _, text := range []string{"a\x00b", "\xff"} {
		for name, spoil := range map[string]func(*store.RecordedRequest){
			"target": func(r *store.RecordedRequest) { r.Target = text },
			"input":  func(r *store.RecordedRequest) { r.Input = text },
			"answer": func(r *store.RecordedRequest) { r.Answer = text },
		} {
			bad := newRequest(a.ID, 5)
			spoil(&bad)
			err := st.RecordRequests(t.Context(), []store.RecordedRequest{newRequest(a.ID, 4), bad}, nil)
			if !errors.Is(err, store.ErrMalformed) {
				t.Errorf("RecordRequests(%s %q) error = %v, want ErrMalformed", name, text, err)
			}
		}
	}
	checkRequests(t, "Requests", mustRequests(t, st, a.ID, store.RequestFilter{}, 10), 3)
}

// limitRequests checks that a shorter retention applies to recorded requests and gaps, in more than
// one batch, and that a longer one does not.
func limitRequests(t *testing.T, st store.Store, c *clock) {
	const day = 24 * time.Hour
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for n := range 1100 { // one a minute, for 18 hours and 20 minutes
		r := newRequest(a.ID, 60*n)
		r.ExpiresAt = r.At.Add(90 * day)
		gap := newGap(a.ID, n/60, 1, 0)
		gap.ExpiresAt = gap.Hour.Add(90*day + anHour)
		mustDo(t, st.RecordRequests(t.Context(), []store.RecordedRequest{r}, []store.RequestGap{gap}))
	}
	check := func(what string, requests, gaps int) {
		t.Helper()
		checkEqual(t, "number of requests "+what, requests, len(mustRequests(t, st, a.ID, store.RequestFilter{}, 2000)))
		sum, err := st.RequestGaps(t.Context(), a.ID, epoch.Add(-day), epoch.Add(day))
		checkEqual(t, "RequestGaps "+what, store.RequestGap{Successes: gaps}, must(t, sum, err))
	}
	c.advance(7*day + 10*anHour)
	mustDo(t, st.LimitRequestLog(t.Context(), 90*day))
	check("under 90 days", 1100, 1100)
	mustDo(t, st.LimitRequestLog(t.Context(), 7*day))
	check("under 7 days", 1100-601, 1100-600)
	c.advance(8 * anHour)
	mustDo(t, st.LimitRequestLog(t.Context(), 90*day))
	check("under 7 days, 8 hours later", 1100-1081, 1100-1080)
	mustDo(t, st.LimitRequestLog(t.Context(), 0))
	check("under 0 days", 0, 0)
	mustRecordRequests(t, st, newRequest(a.ID, 3))
	check("recorded afterward", 1, 0)
}

// ExpiredRequests checks that expired requests and gaps are deleted: by deleteOld, if the backend
// deletes them in the background, or else by the next write. The store's clock must be set to now.
func ExpiredRequests(t *testing.T, st store.Store, now time.Time, advance func(time.Duration), deleteOld func() error) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for n := range 3 {
		r, gap := newRequest(a.ID, n), newGap(a.ID, n, 1, 0)
		r.ExpiresAt, gap.ExpiresAt = now.Add(time.Duration(n)*time.Hour), now.Add(time.Duration(n)*time.Hour)
		mustDo(t, st.RecordRequests(t.Context(), []store.RecordedRequest{r}, []store.RequestGap{gap}))
	}
	advance(time.Hour)
	mustDo(t, deleteOld())
	last := newRequest(a.ID, 4)
	last.ExpiresAt = now.Add(anHour * 3)
	mustRecordRequests(t, st, last)
	checkRequests(t, "Requests", mustRequests(t, st, a.ID, store.RequestFilter{}, 10), 4, 2)
	sum, err := st.RequestGaps(t.Context(), a.ID, epoch.Add(-anHour), epoch.Add(9*anHour))
	checkEqual(t, "RequestGaps", store.RequestGap{Successes: 1}, must(t, sum, err))
}

func concurrentRequests(t *testing.T, st store.Store, _ *clock) {
	accounts := []store.Account{
		mustAccount(t, st, "a@example.com", cola.TierFree),
		mustAccount(t, st, "b@example.com", cola.TierFree),
	}
	const writers, rounds = 6, 10
	concurrently(writers, func(i int) {
		for n := range rounds {
			var requests []store.RecordedRequest
			var gaps []store.RequestGap
			for j := range accounts {
				account := accounts[(i+j)%len(accounts)].ID // in different orders
				requests = append(requests, newRequest(account, n))
				gaps = append(gaps, newGap(account, 0, 1, 2), newGap(account, 1, 1, 2))
			}
			if err := st.RecordRequests(t.Context(), requests, gaps); err != nil {
				t.Error(err)
			}
		}
	})
	for _, a := range accounts {
		checkEqual(t, "number of requests", writers*rounds, len(mustRequests(t, st, a.ID, store.RequestFilter{}, 1000)))
		sum, err := st.RequestGaps(t.Context(), a.ID, epoch.Add(-2*time.Hour), epoch.Add(2*time.Hour))
		checkEqual(t, "RequestGaps", store.RequestGap{Successes: 2 * writers * rounds, Errors: 4 * writers * rounds},
			must(t, sum, err))
	}
}
