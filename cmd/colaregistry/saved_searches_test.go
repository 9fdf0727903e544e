package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// create creates a saved search over REST, with header lines ("Name: value") in addition to the
// usual ones.
func (s *serverProcess) create(t *testing.T, key, body string, lines ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		s.base+"/saved-searches", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range append([]string{"X-API-Key: " + key, "Content-Type: application/json"}, lines...) {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	return do(t, req)
}

// createByTool creates a saved search with a tool call.
func (s *serverProcess) createByTool(t *testing.T, key, arguments string) answer {
	t.Helper()
	return s.post(t, key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_saved_search","arguments":`+arguments+`}}`)
}

// savedCase is a request to create a saved search, for both REST and the tool.
type savedCase struct {
	sent  string
	field string // Go name of a filter field that the created search must set; not checked if empty
	fails bool
}

// savedCases returns a case for the example of every filter and schedule field, and for an invalid
// value of each. A field without an example fails the test.
func savedCases(t *testing.T) (cases []savedCase) {
	t.Helper()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[cola.SavedSearchFilters]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		good, bad := valuesOf(t, f)
		extra := ""
		switch {
		case strings.HasPrefix(name, "volume_m"):
			extra = `,"volume_unit":"milliliters"`
		case name == "volume_unit":
			extra = `,"volume_max":2`
		}
		for value, fails := range map[string]bool{good: false, bad: true} {
			cases = append(cases,
				savedCase{fmt.Sprintf(`{"name":"One","filters":{%q:%s%s}}`, name, value, extra), f.Name, fails})
		}
	}
	schedules := map[string]string{
		"cadence": `"weekly","day":6`, "day": `28,"cadence":"monthly"`, "active": `false,"cadence":"daily"`,
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[cola.ScheduleParams]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		good, ok := schedules[name]
		if !ok {
			t.Errorf("no case for schedule.%s", name)
		}
		_, bad := valuesOf(t, f)
		for value, fails := range map[string]bool{good: false, bad: true} {
			cases = append(cases, savedCase{fmt.Sprintf(`{"name":"One","filters":{"brand_name":"oak"},"schedule":{%q:%s}}`, name, value), "BrandName", fails})
		}
	}
	return append(cases, otherSavedCases()...)
}

// otherSavedCases returns the cases that involve more than one field.
func otherSavedCases() (cases []savedCase) {
	for _, body := range []string{
		`{"name":" Ünïcode \"<&>\" ","filters":{}}`,
		`{"name":"1849","filters":{"abv_min":12,"type_wine":true,"query":null}}`,
		`{"name":"Daily","filters":{"abv_max":99.5},"schedule":{"cadence":"DAILY"}}`,
		`{"name":"Day","filters":{"abv_max":9},"schedule":{"cadence":"daily","day":0}}`,
		`{"name":"Sundays","filters":{"country":"DE"},"schedule":{"cadence":"weekly"}}`,
		`{"name":"Paused","filters":{"type_wine":true},"schedule":{"cadence":"monthly","day":1,"active":false}}`,
	} {
		cases = append(cases, savedCase{sent: body})
	}
	for _, body := range []string{
		`{}`, `{"name":"x"}`, `{"filters":{"brand_name":"oak"}}`,
		`{"name":"   ","filters":{}}`, `{"name":null,"filters":null}`,
		`{"name":"x","filters":{"brand":"oak","approval_date_from":"2024-01-01"},"brand_name":"oak","schedule":{"hour":6}}`,
		`{"name":"x","filters":"oak","schedule":"weekly"}`, `{"name":["x"],"filters":[]}`,
		`{"name":"x","name":"y","filters":{"query":"a","query":"b"}}`,
		`{"name":"x","filters":{"volume_min":1}}`,
		`{"name":"x","filters":{"abv_min":20,"abv_max":10}}`, `{"Name":"x","filters":{}}`,
		`{"name":"x","filters":{},"schedule":{}}`, `{"name":"x","filters":{},"schedule":{"cadence":"weekly"}}`,
		`{"name":"x","filters":{"application_status":"approved"},"schedule":{"cadence":"daily"}}`,
		`{"name":"x","filters":{"type_wine":true,"type_malt_beverage":true,"type_distilled_spirit":true,"abv_min":0},"schedule":{"cadence":"daily","active":false}}`,
	} {
		cases = append(cases, savedCase{sent: body, fails: true})
	}
	return cases
}

// valuesOf returns a valid and an invalid value for a field, as JSON.
func valuesOf(t *testing.T, f reflect.StructField) (good, bad string) {
	t.Helper()
	switch f.Type {
	case reflect.TypeFor[string]():
		return mustQuote(t, f.Tag.Get("example")), mustQuote(t, strings.Repeat("x", 201))
	case reflect.TypeFor[cola.Opt[bool]]():
		return "true", "{}"
	case reflect.TypeFor[cola.Opt[float64]](), reflect.TypeFor[cola.Opt[int]]():
		return f.Tag.Get("example"), "{}"
	}
	t.Errorf("no case for %s of type %s", f.Name, f.Type)
	return "null", "null"
}

func mustQuote(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil || s == "" {
		t.Errorf("invalid example: %q (%v)", s, err)
	}
	return string(b)
}

// TestSavedSearchParity checks that REST and the tool create the same search, in the response and
// in the store, or return the same error. Both cost one request and no quota.
func TestSavedSearchParity(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s, st := startServer(t, h), mustOpen(t, h)
		for i, c := range savedCases(t) {
			account, secret, _ := mustAccount(t, st, fmt.Sprintf("saved%d@example.com", i), cola.TierFree)
			rest := s.create(t, secret.Reveal(), c.sent)
			first := spentBy(t, st, account)
			tool := s.createByTool(t, secret.Reveal(), c.sent)
			second := spentBy(t, st, account)
			if first != (spent{requests: 1}) || second.sub(first) != first {
				t.Errorf("%s: REST cost %+v, tool %+v", c.sent, first, second.sub(first))
			}
			stored, _, err := st.SavedSearches(t.Context(), account.ID, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			if c.fails {
				checkBothRejected(t, c, rest, tool, stored)
				continue
			}
			checkBothCreated(t, c, rest, tool, stored)
		}
	})
}

func checkBothRejected(t *testing.T, c savedCase, rest, tool answer, kept []cola.SavedSearch) {
	t.Helper()
	if rest.StatusCode != http.StatusBadRequest || len(kept) != 0 {
		t.Errorf("%s: status %d, want 400: %.300s; %d stored, want 0", c.sent, rest.StatusCode, rest.body, len(kept))
	}
	envelope := toolError(t, tool)
	if diff := cmp.Diff(rest.json, envelope); diff != "" || tool.at("result", "isError") != true {
		t.Errorf("%s: errors differ (-REST +tool):\n%s", c.sent, diff)
	}
}

// toolError returns the error envelope of a failed call.
func toolError(t *testing.T, tool answer) (envelope map[string]any) {
	t.Helper()
	parts, _ := tool.at("result", "content").([]any)
	if len(parts) == 0 {
		t.Fatalf("tool response without content: status %d: %.300s", tool.StatusCode, tool.body)
	}
	// an invalid envelope is compared as missing
	_ = json.Unmarshal([]byte(parts[0].(map[string]any)["text"].(string)), &envelope)
	return envelope
}

func checkBothCreated(t *testing.T, c savedCase, rest, tool answer, kept []cola.SavedSearch) {
	t.Helper()
	one, _ := rest.at("data").(map[string]any)
	other, _ := tool.at("result", "structuredContent", "data").(map[string]any)
	if rest.StatusCode != http.StatusCreated || one == nil || other == nil || len(kept) != 2 {
		t.Errorf("%s: REST %d %.300s, tool %.300s, %d stored", c.sent, rest.StatusCode, rest.body, tool.body, len(kept))
		return
	}
	if diff := cmp.Diff(withoutSelf(t, one), withoutSelf(t, other)); diff != "" {
		t.Errorf("%s: responses differ (-REST +tool):\n%s", c.sent, diff)
	}
	if diff := cmp.Diff(kept[0].Filters, kept[1].Filters); diff != "" || kept[0].Name != kept[1].Name ||
		kept[0].UUID != one["uuid"] || kept[1].UUID != other["uuid"] {
		t.Errorf("%s: stored %+v and %+v:\n%s", c.sent, kept[0], kept[1], diff)
	}
	if c.field != "" && reflect.ValueOf(kept[0].Filters).FieldByName(c.field).IsZero() {
		t.Errorf("%s: the filter is not stored: %+v", c.sent, kept[0].Filters)
	}
}

// withoutSelf checks the fields that are unique to a search and returns the search without them. It
// also removes the due time, which may differ between two searches created in sequence.
func withoutSelf(t *testing.T, search map[string]any) map[string]any {
	t.Helper()
	search = maps.Clone(search)
	uuid, _ := search["uuid"].(string)
	manage, _ := search["manage_url"].(string)
	if len(uuid) != 36 || manage != fmt.Sprint(search["dashboard_url"], "/", uuid) || search["created_at"] == nil {
		t.Errorf("invalid uuid, manage_url or created_at: %v", search)
	}
	for _, own := range []string{"uuid", "manage_url", "created_at"} {
		delete(search, own)
	}
	if schedule, ok := search["schedule"].(map[string]any); ok {
		schedule = maps.Clone(schedule)
		if due := schedule["next_run_at"] != nil; due != (schedule["active"] == true) {
			t.Errorf("active %v, next run at %v", schedule["active"], schedule["next_run_at"])
		}
		delete(schedule, "next_run_at")
		search["schedule"] = schedule
	}
	return search
}

// TestRepeatedCreation checks that a repeated request creates no second search. REST recognizes the
// repetition by its idempotency key, the tool by its content.
func TestRepeatedCreation(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s, st := startServer(t, h), mustOpen(t, h)
		account, secret, _ := mustAccount(t, st, "again@example.com", cola.TierFree)
		const body, other = `{"name":"Oaks","filters":{"brand_name":"oak"}}`, `{"name":"Elms","filters":{"brand_name":"elm"}}`
		key := secret.Reveal()
		first, second := s.create(t, key, body, "Idempotency-Key: a"), s.create(t, key,
			` { "filters" : {"brand_name":" oak "},"name":"Oaks"}`, "Idempotency-Key: a")
		if first.StatusCode != 201 || second.StatusCode != 201 || !cmp.Equal(first.json, second.json) ||
			first.Header.Get("Location") != second.Header.Get("Location") {
			t.Errorf("first response: status %d %s; second: %d %s; want the same 201", first.StatusCode, first.body, second.StatusCode, second.body)
		}
		if first.Header.Get("Idempotent-Replayed") != "" || second.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("Idempotent-Replayed: first %q, second %q",
				first.Header.Get("Idempotent-Replayed"), second.Header.Get("Idempotent-Replayed"))
		}
		if reused := s.create(t, key, other, "Idempotency-Key: a"); reused.StatusCode != 409 ||
			reused.at("error", "code") != "idempotency_key_reused" {
			t.Errorf("key with a different search: status %d, want 409 with idempotency_key_reused: %s",
				reused.StatusCode, reused.body)
		}
		call, repeated := s.createByTool(t, key, body), s.createByTool(t, key, body)
		created := call.at("result", "structuredContent", "data")
		if diff := cmp.Diff(created, repeated.at("result", "structuredContent", "data")); diff != "" || created == nil ||
			cmp.Equal(created, first.at("data")) {
			t.Errorf("repeated call (-first +second):\n%s%s", diff, call.body)
		}
		if notes := fmt.Sprint(repeated.at("result", "structuredContent", "notes")); !strings.Contains(notes, "earlier call") {
			t.Errorf("notes of a repeated call: %s", notes)
		}
		third, fourth := s.create(t, key, body), s.create(t, key, body)
		stored, _, err := st.SavedSearches(t.Context(), account.ID, 0, 100)
		if err != nil || len(stored) != 4 || third.at("data", "uuid") == fourth.at("data", "uuid") {
			t.Errorf("%d searches stored, want 4: one over REST with a key, one with the tool, two over REST without a key (%v)", len(stored), err)
		}
		if got := spentBy(t, st, account); got != (spent{requests: 7}) {
			t.Errorf("total cost = %+v, want 7 requests", got)
		}
	})
}

// TestSavedSearchLimit checks that REST and the tool reject the eleventh active search with the
// same error but accept inactive ones.
func TestSavedSearchLimit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h testRegistry) {
		s, st := startServer(t, h), mustOpen(t, h)
		account, secret, _ := mustAccount(t, st, "limit@example.com", cola.TierPro)
		key := secret.Reveal()
		search := func(name, schedule string) string {
			return fmt.Sprintf(`{"name":%q,"filters":{"brand_name":"oak"},"schedule":%s}`, name, schedule)
		}
		for i := range cola.MaxActiveSchedules {
			if got := s.create(t, key, search(fmt.Sprint(i), `{"cadence":"daily"}`)); got.StatusCode != 201 {
				t.Fatalf("search %d: status %d, want 201: %s", i, got.StatusCode, got.body)
			}
		}
		rest, tool := s.create(t, key, search("x", `{"cadence":"daily"}`)), s.createByTool(t,
			key, search("x", `{"cadence":"daily"}`))
		if rest.StatusCode != 409 || rest.at("error", "code") != "watchlist_limit_reached" ||
			rest.at("error", "details", "limit") != 10. {
			t.Errorf("one more over REST: %d %s", rest.StatusCode, rest.body)
		}
		if diff := cmp.Diff(rest.json, toolError(t, tool)); diff != "" || tool.StatusCode != 200 {
			t.Errorf("one more with the tool: %d (-REST +tool):\n%s", tool.StatusCode, diff)
		}
		paused, none := s.create(t, key, search("p", `{"cadence":"daily","active":false}`)), s.createByTool(t,
			key, search("n", `null`))
		if paused.StatusCode != 201 || none.at("result", "structuredContent", "data") == nil {
			t.Errorf("paused search: %d %s; search without a schedule: %s", paused.StatusCode, paused.body, none.body)
		}
		stored, _, err := st.SavedSearches(t.Context(), account.ID, 0, 100)
		active := slices.DeleteFunc(slices.Clone(stored),
			func(s cola.SavedSearch) bool { return s.Schedule == nil || !s.Schedule.Active })
		if err != nil || len(stored) != 12 || len(active) != cola.MaxActiveSchedules {
			t.Errorf("%d stored, %d active (%v); want 12 and %d", len(stored), len(active), err, cola.MaxActiveSchedules)
		}
	})
}
