package registry_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

func withRequestLog(o *registry.Options) { o.RequestLogDays = 7 }

// mustLog records requests of a caller, one second apart, with the IDs 1, 2, ….
func (w *world) mustLog(t *testing.T, c cola.Caller, statuses ...int) {
	t.Helper()
	for i, status := range statuses {
		w.advance(time.Second)
		w.LogRequest(c.Account, status >= 400, func() cola.LoggedRequest {
			return cola.LoggedRequest{
				RequestID: fmt.Sprint(i + 1), Channel: c.Channel, Credential: c.Credential, Method: "GET", Target: "/x", Status: status,
			}
		})
	}
}

func (w *world) mustRequestLog(t *testing.T, c cola.Caller, p registry.RequestLogParams) registry.RequestLogPage {
	t.Helper()
	page, _, err := w.RequestLog(t.Context(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// requestIDs returns the request IDs of a page.
func requestIDs(page registry.RequestLogPage) string {
	var ids []string
	for _, r := range page.Rows {
		ids = append(ids, r.RequestID)
	}
	return strings.Join(ids, " ")
}

func TestRequestLog(t *testing.T) {
	w := mustWorldOf(t, 0, withRequestLog)
	ann, bob := w.mustHolder(t, "ann@example.com", cola.TierFree), w.mustHolder(t, "bob@example.com", cola.TierFree)
	key := w.mustCreateKey(t, ann, registry.KeyParams{Name: "CI"})
	w.mustLog(t, keyCaller(ann.Account, key.ID), 200, 404, 503)
	w.mustLog(t, bob, 200)
	w.Close()
	page := w.mustRequestLog(t, ann, registry.RequestLogParams{})
	if got := requestIDs(page); got != "3 2 1" || page.Days != 7 || page.Older+page.Newer != "" || page.Rows[0].Source != "CI" {
		t.Errorf("RequestLog = %+v", page)
	}
	value := registry.RequestSource{Credential: cola.Credential{Kind: cola.CredentialKey, ID: key.ID}}.Value()
	start := page.Rows[2].At
	for _, tt := range []struct {
		p    registry.RequestLogParams
		want string
	}{
		{registry.RequestLogParams{Status: "success"}, "1"},
		{registry.RequestLogParams{Status: "ERROR"}, "3 2"},
		{registry.RequestLogParams{Status: "4xx"}, "2"},
		{registry.RequestLogParams{Status: "5xx"}, "3"},
		{registry.RequestLogParams{Channel: "rest", Credential: value, Text: " /X "}, "3 2 1"},
		{registry.RequestLogParams{Channel: "mcp"}, ""},
		{registry.RequestLogParams{Credential: "sign_in"}, ""},
		{registry.RequestLogParams{Credential: "key-99"}, ""},
		{registry.RequestLogParams{Text: "2"}, "2"},
		{registry.RequestLogParams{From: start.Add(time.Second), To: start.Add(2 * time.Second)}, "2"},
	} {
		if got := requestIDs(w.mustRequestLog(t, ann, tt.p)); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.p, got, tt.want)
		}
	}
	for _, bad := range []registry.RequestLogParams{
		{Status: "3xx"}, {Channel: "fax"}, {Credential: "key"}, {Credential: "key--1"}, {Credential: "door-1"},
		{Before: "x"}, {After: "1"}, {After: "1-"}, {Before: "-1--1"}, {Before: "1-9223372036854775808"}, {Text: strings.Repeat("x", 201)},
		{Text: "a\u202eb"}, {Text: "\x00"},
	} {
		if _, _, err := w.RequestLog(t.Context(), ann, bad); code(err) != cola.CodeValidation {
			t.Errorf("%+v: error = %v, want a validation error", bad, err)
		}
	}
}

// TestLoggedRequest checks that a request is visible only to its account, only in the dashboard,
// and only until it expires.
func TestLoggedRequest(t *testing.T) {
	w := mustWorldOf(t, 0, withRequestLog)
	ann, bob := w.mustHolder(t, "ann@example.com", cola.TierFree), w.mustHolder(t, "bob@example.com", cola.TierFree)
	w.mustLog(t, ann, 200)
	w.Close()
	id := fmt.Sprint(w.mustRequestLog(t, ann, registry.RequestLogParams{}).Rows[0].ID)
	if r, _, err := w.LoggedRequest(t.Context(), ann, id); err != nil || r.RequestID != "1" || r.Source != "" {
		t.Errorf("LoggedRequest = %+v, %v", r, err)
	}
	if got := requestIDs(w.mustRequestLog(t, bob, registry.RequestLogParams{})); got != "" {
		t.Errorf("another account's requests are visible: %s", got)
	}
	for _, other := range []string{"0" + id, "+" + id, "-1", "0", "x", "", "99999999999999999999", id + "\x00"} {
		if _, _, err := w.LoggedRequest(t.Context(), ann, other); code(err) != cola.CodeNotFound {
			t.Errorf("LoggedRequest(%q) error = %v", other, err)
		}
	}
	if _, _, err := w.LoggedRequest(t.Context(), bob, id); code(err) != cola.CodeNotFound {
		t.Errorf("LoggedRequest by another account: %v", err)
	}
	key := w.mustCreateKey(t, ann, registry.KeyParams{Name: "CI"})
	if _, _, err := w.LoggedRequest(t.Context(), keyCaller(ann.Account, key.ID), id); code(err) != cola.CodeForbidden {
		t.Errorf("LoggedRequest by a key: %v", err)
	}
	if _, _, err := w.RequestLog(t.Context(), keyCaller(ann.Account, key.ID), registry.RequestLogParams{}); code(err) != cola.CodeForbidden {
		t.Errorf("RequestLog by a key: %v", err)
	}
	w.advance(7*24*time.Hour + time.Second)
	ann = w.mustSignIn(t, ann.Account, "Lynx")
	if _, _, err := w.LoggedRequest(t.Context(), ann, id); code(err) != cola.CodeNotFound {
		t.Errorf("LoggedRequest after a week: %v", err)
	}
	if got := requestIDs(w.mustRequestLog(t, ann, registry.RequestLogParams{})); got != "" {
		t.Errorf("requests are visible after a week: %s", got)
	}
}

// TestRequestLogPages checks that walking through the pages of a filtered log in both directions
// shows every request once.
func TestRequestLogPages(t *testing.T) {
	w := mustWorldOf(t, 0, withRequestLog)
	ann := w.mustHolder(t, "ann@example.com", cola.TierFree)
	statuses := make([]int, 120)
	for i := range statuses {
		statuses[i] = 200
	}
	w.mustLog(t, ann, statuses...)
	w.Close()
	var pages, cursors []string
	p := registry.RequestLogParams{Status: "success"}
	page := w.mustRequestLog(t, ann, p)
	for {
		pages, cursors = append(pages, requestIDs(page)), append(cursors, page.Newer)
		if page.Older == "" {
			break
		}
		p.Before = page.Older
		page = w.mustRequestLog(t, ann, p)
	}
	if n := len(strings.Fields(strings.Join(pages, " "))); len(pages) != 3 || n != 120 || cursors[0] != "" {
		t.Fatalf("%d pages with %d requests, first cursor %q", len(pages), n, cursors[0])
	}
	var back []string
	for i := len(pages) - 1; i > 0; i-- {
		page = w.mustRequestLog(t, ann, registry.RequestLogParams{Status: "success", After: cursors[i]})
		back = append([]string{requestIDs(page)}, back...)
	}
	if diff := cmp.Diff(pages[:2], back); diff != "" || page.Newer != "" || page.Older == "" {
		t.Errorf("pages on the way back, %q, %q (-want +got):\n%s", page.Newer, page.Older, diff)
	}
	page = w.mustRequestLog(t, ann, registry.RequestLogParams{After: cursors[2], Text: "120"})
	if got := requestIDs(page); got != "120" {
		t.Errorf("the first page is incomplete: %q", got)
	}
}

// TestRequestsLeftOut checks that the page counts the unrecorded requests in its time span.
func TestRequestsLeftOut(t *testing.T) {
	w := mustWorldOf(t, 0, withRequestLog)
	ann, bob := w.mustHolder(t, "ann@example.com", cola.TierFree), w.mustHolder(t, "bob@example.com", cola.TierFree)
	hour := w.now().Truncate(time.Hour)
	err := w.store.RecordRequests(t.Context(), nil, []store.RequestGap{
		{Account: ann.Account, Hour: hour, ExpiresAt: hour.Add(100 * time.Hour), Successes: 5, Errors: 2},
		{Account: ann.Account, Hour: hour.Add(-5 * time.Hour), ExpiresAt: hour.Add(100 * time.Hour), Successes: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	all := w.mustRequestLog(t, ann, registry.RequestLogParams{})
	recent := w.mustRequestLog(t, ann, registry.RequestLogParams{From: hour.Add(-time.Hour), Status: "4xx"})
	none := w.mustRequestLog(t, bob, registry.RequestLogParams{})
	if got := [3][2]int{
		{all.Successes, all.Errors}, {recent.Successes, recent.Errors}, {none.Successes, none.Errors},
	}; got != [3][2]int{{105, 2}, {5, 2}, {0, 0}} {
		t.Errorf("left out = %v", got)
	}
}

// TestNoRequestLog checks that nothing is recorded if the request log is off.
func TestNoRequestLog(t *testing.T) {
	w := mustWorld(t, 0)
	ann := w.mustHolder(t, "ann@example.com", cola.TierFree)
	w.LogRequest(ann.Account, false, func() cola.LoggedRequest {
		t.Error("describe was called")
		return cola.LoggedRequest{}
	})
	w.Close()
	if page := w.mustRequestLog(t, ann, registry.RequestLogParams{}); page.Days != 0 || page.Rows != nil {
		t.Errorf("RequestLog = %+v", page)
	}
}
