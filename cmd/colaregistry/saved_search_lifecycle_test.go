package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// mustAnswer sends a request and checks the response status.
func (s *serverProcess) mustAnswer(t *testing.T, status int, method, path, key, body string) answer {
	t.Helper()
	got := s.rest(t, method, path, key, body)
	if got.StatusCode != status {
		t.Errorf("%s %s %s: %d %.300s, want %d", method, path, body, got.StatusCode, got.body, status)
	}
	return got
}

// TestSavedSearchLifecycle creates a saved search and reads it from its Location, then lists,
// changes, pauses, resumes and deletes it. None of this uses quota, and another account never sees
// the search.
func TestSavedSearchLifecycle(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s, st := startServer(t, h), mustOpen(t, h)
		account, secret, _ := mustAccount(t, st, "life@example.com", cola.TierPro)
		_, otherSecret, _ := mustAccount(t, st, "another@example.com", cola.TierPro)
		key, other := secret.Reveal(), otherSecret.Reveal()

		created := s.create(t, key,
			`{"name":"Oaks","filters":{"brand_name":"oak"},"schedule":{"cadence":"weekly","day":1}}`)
		location := strings.TrimPrefix(created.Header.Get("Location"), "/api/v1")
		s.create(t, key, `{"name":"Elms","filters":{}}`)
		s.create(t, other, `{"name":"Another's","filters":{}}`)
		read := s.mustAnswer(t, 200, "GET", location, key, "")
		if diff := cmp.Diff(created.json, read.json); diff != "" {
			t.Errorf("created and read (-created +read):\n%s", diff)
		}
		list := s.mustAnswer(t, 200, "GET", "/saved-searches?per_page=1", key, "")
		if diff := cmp.Diff(map[string]any{"total": 2., "page": 1., "per_page": 1., "has_more": true, "truncated_by_quota": false}, list.at("meta")); diff != "" || !cmp.Equal(list.at("data"), any([]any{created.at("data")})) {
			t.Errorf("list: want only the created search: %s", list.body)
		}

		s.checkIsolation(t, location, other)
		paused := s.mustAnswer(t, 200, "PATCH", location, key, `{"schedule":{"active":false}}`)
		if paused.at("data", "schedule", "active") != false || paused.at("data", "schedule", "next_run_at") != nil ||
			paused.at("data", "schedule", "cadence") != "weekly" {
			t.Errorf("paused search: want an inactive weekly schedule: %s", paused.body)
		}
		changed := s.mustAnswer(t, 200, "PATCH", location, key,
			`{"name":"Elms","filters":{"brand_name":"elm"},"schedule":{"active":true,"cadence":"daily"}}`)
		if got := s.mustAnswer(t, 200, "GET", location, key, ""); !cmp.Equal(changed.json, got.json) ||
			got.at("data", "filters", "brand_name") != "elm" ||
			got.at("data", "schedule", "day") != 0.0 || got.at("data", "schedule", "next_run_at") == nil {
			t.Errorf("changed to %s, read %s", changed.body, got.body)
		}
		s.mustAnswer(t, 400, "PATCH", location, key, `{"filters":{}}`)
		s.mustAnswer(t, 400, "PATCH", location, key, `{}`)

		if deleted := s.mustAnswer(t, 204, "DELETE", location, key, ""); len(deleted.body) != 0 {
			t.Errorf("DELETE returned %q, want no body", deleted.body)
		}
		for _, method := range []string{"GET", "DELETE"} {
			s.mustAnswer(t, 404, method, location, key, "")
		}
		s.mustAnswer(t, 404, "PATCH", location, key, `{"name":"x"}`)
		if got, want := spentBy(t, st, account), (spent{requests: 13}); got != want {
			t.Errorf("total cost %+v, want %+v", got, want)
		}
	})
}

// checkIsolation tries every operation on another account's search.
func (s *serverProcess) checkIsolation(t *testing.T, location, key string) {
	t.Helper()
	s.mustAnswer(t, 404, "GET", location, key, "")
	s.mustAnswer(t, 404, "PATCH", location, key, `{"name":"Mine"}`)
	s.mustAnswer(t, 404, "PATCH", location, key, `{}`)
	s.mustAnswer(t, 404, "DELETE", location, key, "")
	if list := s.mustAnswer(t, 200, "GET", "/saved-searches", key, ""); list.at("meta", "total") != 1. ||
		strings.Contains(string(list.body), location) {
		t.Errorf("list of another account: %s", list.body)
	}
}

// TestSavedSearchChangesParity checks that PATCH and the tool make the same change or return the
// same error, at the same cost. The same goes for deletion and the list.
func TestSavedSearchChangesParity(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s, st := startServer(t, h), mustOpen(t, h)
		_, stranger, _ := mustAccount(t, st, "stranger@example.com", cola.TierPro)
		for i, c := range []struct{ body, arguments string }{
			{`"name":"Elms"`, `"name":"Elms"`},
			{`"filters":{"brand_name":"elm","type_wine":true}`, `"filters":{"brand_name":"elm","type_wine":"true"}`},
			{`"schedule":{"active":false}`, `"schedule":{"active":false},"name":null`},
			{`"schedule":{"cadence":"monthly","day":28}`, `"schedule":{"cadence":"monthly","day":"28"}`},
			{`"schedule":null`, `"remove_schedule":true`},
			{``, ``}, {`"name":"  "`, `"name":"  "`}, {`"nam":"x"`, `"nam":"x"`},
			{`"filters":{"brand":"x","abv_min":200}`, `"filters":{"brand":"x","abv_min":200}`},
			{`"filters":{"application_status":"approved"}`, `"filters":{"application_status":"approved"}`},
			{`"schedule":{"cadence":"hourly"}`, `"schedule":{"cadence":"hourly"}`},
		} {
			account, secret, _ := mustAccount(t, st, fmt.Sprintf("change%d@example.com", i), cola.TierPro)
			key := secret.Reveal()
			create := func() string {
				created := s.create(t, key,
					`{"name":"Oaks","filters":{"brand_name":"oak"},"schedule":{"cadence":"weekly","day":1}}`)
				return fmt.Sprint(created.at("data", "uuid"))
			}
			byREST, byTool := create(), create()
			tool := func(key, name, uuid, arguments string) answer {
				arguments = strings.TrimSuffix(`{"uuid":"`+uuid+`",`+arguments, ",") + "}"
				return s.post(t, key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`)
			}
			rest, called := s.rest(t, "PATCH", "/saved-searches/"+byREST, key, "{"+c.body+"}"), tool(key,
				"update_saved_search", byTool, c.arguments)
			if rest.StatusCode == http.StatusOK {
				changed, _ := called.at("result", "structuredContent", "data").(map[string]any)
				if diff := cmp.Diff(withoutSelf(t, rest.at("data").(map[string]any)), withoutSelf(t, changed)); diff != "" {
					t.Errorf("%s (-REST +tool):\n%s", c.body, diff)
				}
			} else if diff := cmp.Diff(rest.json, toolError(t, called)); diff != "" {
				t.Errorf("%s: errors differ (-REST +tool):\n%s", c.body, diff)
			}
			list := s.rest(t, "GET", "/saved-searches", key, "")
			listed := s.post(t, key,
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_saved_searches"}}`)
			if diff := cmp.Diff(list.at("data"), listed.at("result", "structuredContent", "data")); diff != "" {
				t.Errorf("%s: lists differ (-REST +tool):\n%s", c.body, diff)
			}
			if got := tool(stranger.Reveal(), "delete_saved_search", byTool, ""); got.at("result", "isError") != true {
				t.Errorf("delete by another account: %s", got.body)
			}
			s.mustAnswer(t, http.StatusNoContent, "DELETE", "/saved-searches/"+byREST, key, "")
			if deleted := tool(key, "delete_saved_search", byTool, ""); deleted.at("result", "structuredContent", "data", "deleted") != true {
				t.Errorf("delete_saved_search: deleted is not true: %s", deleted.body)
			}
			resp := s.rest(t, "DELETE", "/saved-searches/"+byTool, key, "")
			if diff := cmp.Diff(resp.json, toolError(t, tool(key, "delete_saved_search", byTool, ""))); diff != "" {
				t.Errorf("deleted again (-REST +tool):\n%s", diff)
			}
			if got, want := spentBy(t, st, account), (spent{requests: 10}); got != want {
				t.Errorf("%s: total cost %+v, want %+v", c.body, got, want)
			}
		}
	})
}

// TestConcurrentResume sends many concurrent resume requests to two processes and checks that
// exactly as many succeed as the limit allows.
func TestConcurrentResume(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		servers := []*serverProcess{startServer(t, h), startServer(t, h)}
		st := mustOpen(t, h)
		account, secret, _ := mustAccount(t, st, "resume@example.com", cola.TierPro)
		key := secret.Reveal()
		search := func(active bool) string {
			created := servers[0].create(t, key, fmt.Sprintf(`{"name":"n","filters":{"brand_name":"oak"},"schedule":{"cadence":"daily","active":%v}}`, active))
			return "/saved-searches/" + fmt.Sprint(created.at("data", "uuid"))
		}
		for range cola.MaxActiveSchedules - 3 {
			search(true)
		}
		var wg sync.WaitGroup
		statuses := make([]int, 10)
		for i := range statuses {
			location := search(false)
			wg.Go(func() {
				got := servers[i%2].rest(t, "PATCH", location, key, `{"schedule":{"active":true}}`)
				if statuses[i] = got.StatusCode; got.StatusCode == 409 && (got.at("error", "code") != "watchlist_limit_reached" || got.at("error", "details", "limit") != 10.) {
					t.Errorf("409: want watchlist_limit_reached with limit 10: %s", got.body)
				}
			})
		}
		wg.Wait()
		count := map[int]int{}
		for _, status := range statuses {
			count[status]++
		}
		stored, _, err := st.SavedSearches(t.Context(), account.ID, 0, 100)
		active := 0
		for _, s := range stored {
			if s.Schedule.Active {
				active++
			}
		}
		if err != nil || count[200] != 3 || count[409] != 7 || active != cola.MaxActiveSchedules {
			t.Errorf("responses %v, %d active (%v), want 3 resumed, 7 rejected", count, active, err)
		}
	})
}

// TestPreviewCounts checks that the daily counts of a preview match the totals of
// searches for those days, and that a preview uses no quota.
func TestPreviewCounts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s, st := startServer(t, h), mustOpen(t, h)
		account, secret, _ := mustAccount(t, st, "preview@example.com", cola.TierPro)
		key := secret.Reveal()
		for filters, query := range map[string]string{
			`{"type_wine":true,"query":"red"}`:  "product_type=wine&q=red",
			`{"application_status":"approved"}`: "status=approved",
		} {
			preview := s.mustAnswer(t, http.StatusOK, "POST", "/saved-searches/preview", key, `{"filters":`+filters+`}`)
			days, _ := preview.at("data", "days").([]any)
			if broad := strings.Contains(filters, "status"); len(days) != cola.PreviewDays ||
				preview.at("data", "too_broad") != broad {
				t.Fatalf("%s: %s", filters, preview.body)
			}
			first, last := days[0].(map[string]any)["date"].(string), days[len(days)-1].(map[string]any)["date"].(string)
			if age := time.Since(mustDay(t, first)); age < 0 || age > 25*time.Hour {
				t.Errorf("%s: first day = %s, want today or yesterday", filters, first)
			}
			whole := s.mustAnswer(t, http.StatusOK, "GET",
				"/colas?per_page=1&approval_date_from="+last+"&approval_date_to="+first+"&"+query, key, "")
			if total := preview.at("data", "total"); total == 0. || total != whole.at("pagination", "total") {
				t.Errorf("%s: preview total %v, search total %v", filters, total, whole.at("pagination", "total"))
			}
			for _, day := range days[:10] {
				day := day.(map[string]any)
				date := fmt.Sprint(day["date"])
				found := s.mustAnswer(t, http.StatusOK, "GET",
					"/colas?per_page=1&approval_date_from="+date+"&approval_date_to="+date+"&"+query, key, "")
				if day["count"] != found.at("pagination", "total") {
					t.Errorf("%s: preview of the day %v, search total %v", filters, day, found.at("pagination", "total"))
				}
			}
		}
		before := spentBy(t, st, account)
		s.mustAnswer(t, http.StatusOK, "POST", "/saved-searches/preview", key, `{"filters":{}}`)
		s.mustAnswer(t, http.StatusBadRequest, "POST", "/saved-searches/preview", key, `{"filters":{"brand":1}}`)
		if got := spentBy(t, st, account).sub(before); got != (spent{requests: 2}) {
			t.Errorf("previews cost %+v, want two requests", got)
		}
	})
}

func mustDay(t *testing.T, date string) time.Time {
	t.Helper()
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		t.Fatal(err)
	}
	return day
}

// TestSavedSearchScope checks that an access token without the write scope can read and
// preview, and gets a scope challenge for everything else.
func TestSavedSearchScope(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		i := startIssuer(t)
		s := startServer(t, h, "--oidc-issuer", i.URL)
		registerApp(t, h, i, "saved_searches:write")
		mustAccount(t, mustOpen(t, h), "ada@example.com", cola.TierPro)
		claims := func(scope string) map[string]any {
			return map[string]any{"email": "ada@example.com", "email_verified": true, "scope": scope}
		}
		reads, writes := i.token(t, s, claims("openid")), i.token(t, s, claims("openid saved_searches:write"))
		created := s.rest(t, "POST", "/saved-searches", writes, createBody)
		location := "/saved-searches/" + fmt.Sprint(created.at("data", "uuid"))
		for _, tt := range []struct {
			method, path, body string
			without, with      int
		}{
			{"GET", "/saved-searches", "", 200, 200}, {"GET", location, "", 200, 200},
			{"POST", "/saved-searches/preview", `{"filters":{}}`, 200, 200},
			{"PATCH", location, `{"name":"x"}`, 403, 200}, {"PATCH", location, `{}`, 403, 400},
			{"DELETE", location, "", 403, 204}, {"DELETE", location, "", 403, 404},
		} {
			got := s.rest(t, tt.method, tt.path, reads, tt.body)
			challenge := got.Header.Get("WWW-Authenticate")
			challenged := strings.Contains(challenge, `error="insufficient_scope"`) &&
				strings.Contains(challenge, `scope="saved_searches:write"`)
			if got.StatusCode != tt.without || challenged != (tt.without == 403) {
				t.Errorf("%s %s without the scope: %d %q %s", tt.method, tt.path, got.StatusCode, challenge, got.body)
			}
			if got := s.rest(t, tt.method, tt.path, writes, tt.body); got.StatusCode != tt.with {
				t.Errorf("%s %s with the scope: %d %s", tt.method, tt.path, got.StatusCode, got.body)
			}
		}
	})
}
