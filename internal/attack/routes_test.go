package attack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// free holds the only requests that may show labels without a charge, each with its maximum number
// of labels.
var free = map[string]int{
	"GET /feeds/{token}":       25,
	"GET /site/samples/{name}": 2,  // the same for everyone, for an hour
	"GET /requests":            50, // IDs that the account itself sent, one per request
	"GET /account/export":      50, // the same IDs
	// The overview shows the landing page's samples; dashboard.TestOverviewFree checks that it shows no
	// other labels.
	"GET /":                        8,
	"POST /account/keep":           8,  // redirects to the overview
	"GET /sign-in/email":           8,  // redirects there
	"GET /sign-in/link/{token}":    8,  // redirects there, because the link is invalid
	"POST /sign-in/link/{token}":   8,  // redirects there, because the link is invalid
	"GET /deliveries/{id}":         25, // in the message as it was sent
	"POST /deliveries/{id}/replay": 25, // redirects there
	"POST /saved-searches/preview": 5,  // and 100 distinct labels per day
	// Without JavaScript, the form shows the same preview.
	"GET /saved-searches/new":          5,
	"POST /saved-searches/new":         5,
	"GET /saved-searches/{uuid}/edit":  5,
	"POST /saved-searches/{uuid}/edit": 5,
}

// bodies maps requests to their bodies. Forms are url.Values.
var bodies = map[string]any{
	"POST /api/v1/saved-searches":         map[string]any{"name": "Wine", "filters": map[string]any{"type_wine": true}},
	"POST /api/v1/saved-searches/preview": map[string]any{"filters": map[string]any{"type_wine": true}},
	"PATCH /api/v1/saved-searches/{uuid}": map[string]any{"name": "Renamed"},
	"POST /api/v1/destinations":           map[string]any{"kind": "email", "address": "other@example.com"},
	"PATCH /api/v1/destinations/{uuid}":   map[string]any{"send_empty": true},
	"POST /saved-searches/preview":        url.Values{"filters.type_wine": {"true"}},
	"POST /saved-searches/new":            url.Values{"filters.type_wine": {"true"}, "preview": {"true"}},
	"POST /saved-searches/{uuid}/edit":    url.Values{"filters.type_wine": {"true"}, "preview": {"true"}},
}

// queries maps GET requests to the query strings that make them show labels.
var queries = map[string]string{
	// Without a return page, it redirects to the overview, which has its own entry in free.
	"GET /sign-in":                       "?return=%2Fplans",
	"GET /explore":                       "?approval_date_from=2005-01-01",
	"GET /brands":                        "?q=quokka",
	"GET /trends":                        "?group_by=year",
	"GET /api/v1/colas":                  "?approval_date_from=2005-01-01",
	"GET /saved-searches/{uuid}/explain": "?ttb_id=99365001000001",
	"GET /saved-searches/new":            "?q=quokka",
}

// ttbID matches the TTB ID of a label.
var ttbID = regexp.MustCompile(`\b\d{14}\b`)

// shown returns the labels in a response that are not in the request.
func (w *world) shown(request string, a response) (ids []string) {
	for _, id := range ttbID.FindAllString(string(a.Body), -1) {
		if w.labels[id] && !strings.Contains(request, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// spent returns the account's usage from the ledger.
func (w *world) spent() cola.Used {
	w.t.Helper()
	state, err := w.Store.AccountUsage(w.t.Context(), w.account.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return state.Used
}

// as sends a request to a route with the key or, for the dashboard, the signed-in browser.
func (w *world) as(method, route string) (request string, a response) {
	w.t.Helper()
	request = w.path(route) + queries[method+" "+route]
	if strings.HasPrefix(route, "/sign-in") && free[method+" "+route] > 0 {
		// Over its page limit, a session counts as signed out on these pages.
		time.Sleep(time.Second)
	}
	for {
		a = w.once(method, route, request)
		if a.Status != http.StatusTooManyRequests {
			return request, a
		}
		wait, err := time.ParseDuration(cmp.Or(a.Header.Get("Retry-After"), "x") + "s")
		if err != nil || wait > time.Minute {
			return request, a // the route's own limit rather than the rate limit
		}
		time.Sleep(wait)
	}
}

func (w *world) once(method, route, request string) response {
	body := bodies[method+" "+route]
	if strings.HasPrefix(route, "/api/v1/") {
		return w.rest(w.account.Key.Reveal(), method, strings.TrimPrefix(request, "/api/v1"), body)
	}
	header := http.Header{}
	if form, ok := body.(url.Values); ok {
		header.Set("Content-Type", "application/x-www-form-urlencoded")
		body = form.Encode()
	}
	return w.send(w.browser, method, request, header, body)
}

// destructive reports whether a request changes a resource in a way that can break later requests.
func destructive(method, route string) bool {
	return method == http.MethodDelete || route == "/sign-out" || strings.HasPrefix(route, "/unsubscribe") ||
		method == http.MethodPost && destructiveRoute.MatchString(route)
}

// destructiveRoute matches routes that delete, invalidate, pause or replace a resource.
var destructiveRoute = regexp.MustCompile(`/(delete|end|end-others|feed|pause|revoke|rotate|secret)$`)

// methods returns the methods to try for a route.
func (w *world) methods(documented map[string]map[string]any, route string) []string {
	all := []string{http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodDelete}
	operations, ok := documented[strings.TrimPrefix(route, "/api/v1")]
	if !ok || !strings.HasPrefix(route, "/api/v1/") {
		return all
	}
	// Undocumented methods would use up the account's rate limit.
	return slices.DeleteFunc(all, func(method string) bool { return operations[strings.ToLower(method)] == nil })
}

// visits lists all routes except /mcp with each of their methods, destructive requests last.
func (w *world) visits() (visits [][2]string) {
	w.t.Helper()
	var api struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(w.send(http.DefaultClient, http.MethodGet, "/api/v1/openapi.json", nil, nil).Body, &api); err != nil {
		w.t.Fatal(err)
	}
	for _, last := range []bool{false, true} {
		for _, route := range w.routes() {
			for _, method := range w.methods(api.Paths, route) {
				if route != "/mcp" && destructive(method, route) == last {
					visits = append(visits, [2]string{method, route})
				}
			}
		}
	}
	return visits
}

// related is the number of labels that a detail view covers besides the record: a permittee's
// recent labels, or a label's earlier application.
const related = 10

// uncharged returns the number of labels in a response that its charge does not cover. Each label
// costs a list record unless it is part of a detail view.
func uncharged(labels int, before, after cola.Used) int {
	paid := after.ListRecords - before.ListRecords + (1+related)*(after.DetailViews-before.DetailViews)
	return max(0, labels-paid)
}

func TestUncharged(t *testing.T) {
	before := cola.Used{ListRecords: 100, DetailViews: 7}
	for _, tt := range []struct{ labels, list, details, want int }{
		{20, 20, 0, 0}, {20, 1, 0, 19}, {20, 0, 0, 20}, {5, 20, 0, 0}, {11, 0, 1, 0}, {20, 0, 1, 9}, {0, 0, 0, 0},
	} {
		after := cola.Used{ListRecords: before.ListRecords + tt.list, DetailViews: before.DetailViews + tt.details}
		if got := uncharged(tt.labels, before, after); got != tt.want {
			t.Errorf("uncharged(%d labels, %d list records, %d detail views) = %d, want %d",
				tt.labels, tt.list, tt.details, got, tt.want)
		}
	}
}

// TestLabelCharges requests every route except /mcp with each method worth trying, and every tool,
// resource and prompt at /mcp/chatgpt. Only the routes in free may show more labels than they
// charge for.
func TestLabelCharges(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		showed := map[string]int{}
		check := func(name string, ask func() (string, response)) {
			before := w.spent()
			request, a := ask()
			ids := w.shown(request, a)
			if showed[name] = len(ids); len(ids) <= free[name] {
				return
			}
			if after := w.spent(); uncharged(len(ids), before, after) > free[name] {
				t.Errorf("%s shows %d labels, such as %s, but usage only went from %+v to %+v",
					name, len(ids), ids[0], before, after)
			}
		}
		for _, m := range w.messages() {
			check(m[0]+" "+m[1], func() (string, response) { return w.ask(m[0], m[1]) })
		}
		for _, v := range w.visits() {
			check(v[0]+" "+v[1], func() (string, response) { return w.as(v[0], v[1]) })
		}
		for name := range free {
			if showed[name] == 0 {
				t.Errorf("%s shows no labels; remove it from free", name)
			}
		}
	})
}

// toolArguments maps each tool to arguments that make it show labels, if it can. A missing tool
// fails the test.
var toolArguments = map[string]string{
	"search_colas":            `{"approval_date_from":"2005-01-01"}`,
	"count_labels":            `{"group_by":"brand","approval_date_from":"2005-01-01"}`,
	"get_cola":                `{"ttb_id":"{ttb_id}"}`,
	"search":                  `{"query":"quokka"}`,
	"fetch":                   `{"id":"{ttb_id}"}`,
	"lookup_barcode":          `{"barcode_value":"{barcode_value}"}`,
	"check_brand":             `{"q":"oak"}`,
	"search_permittees":       `{"state":"CA"}`,
	"get_permittee":           `{"permit_number":"{permit_number}"}`,
	"suggest_values":          `{"field":"company","q":"a"}`,
	"get_usage":               `{}`,
	"get_processing_times":    `{"kind":"cola"}`,
	"list_production_reports": `{"commodity":"beer"}`,
	"search_avas":             `{"state":"CA"}`,
	"get_ava":                 `{"ava_id":"{ava_id}"}`,
	"create_saved_search":     `{"name":"Oak","filters":{"brand_name":"oak"}}`,
	"list_saved_searches":     `{}`,
	"update_saved_search":     `{"uuid":"00000000-0000-4000-8000-000000000000","name":"Renamed"}`,
	"delete_saved_search":     `{"uuid":"00000000-0000-4000-8000-000000000000"}`,
}

// ask sends a JSON-RPC request with the account's key to /mcp/chatgpt, which has all tools. It
// returns the message and the response.
func (w *world) ask(method, params string) (string, response) {
	w.t.Helper()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	return message, w.send(http.DefaultClient, http.MethodPost, "/mcp/chatgpt", http.Header{
		"X-Api-Key": {w.account.Key.Reveal()}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"},
	}, message)
}

// listed returns a field of each member of an MCP list.
func (w *world) listed(method, list, field string) (names []string) {
	w.t.Helper()
	_, a := w.ask(method, `{}`)
	result, _ := a.JSON(w.t)["result"].(map[string]any)
	rows, ok := result[list].([]any)
	if !ok {
		w.t.Fatalf("%s: %d %s", method, a.Status, a.Body)
	}
	for _, row := range rows {
		names = append(names, row.(map[string]any)[field].(string))
	}
	return names
}

// messages lists every MCP request that can show labels.
func (w *world) messages() (messages [][2]string) {
	w.t.Helper()
	for _, tool := range w.listed("tools/list", "tools", "name") {
		arguments, ok := toolArguments[tool]
		if !ok {
			w.t.Errorf("tool %s: add arguments that show labels to toolArguments", tool)
		}
		messages = append(messages,
			[2]string{"tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, w.path(arguments))})
	}
	for _, template := range w.listed("resources/templates/list", "resourceTemplates", "uriTemplate") {
		messages = append(messages, [2]string{"resources/read", fmt.Sprintf(`{"uri":%q}`, w.path(template))})
	}
	for _, resource := range w.listed("resources/list", "resources", "uri") {
		messages = append(messages, [2]string{"resources/read", fmt.Sprintf(`{"uri":%q}`, resource)})
	}
	for _, prompt := range w.listed("prompts/list", "prompts", "name") {
		messages = append(messages,
			[2]string{"prompts/get", fmt.Sprintf(`{"name":%q,"arguments":{"brand_name":"quokka"}}`, prompt)})
	}
	for _, template := range w.listed("resources/templates/list", "resourceTemplates", "uriTemplate") {
		argument := strings.Trim(parameter.FindString(template), "{}")
		messages = append(messages, [2]string{
			"completion/complete",
			fmt.Sprintf(`{"ref":{"type":"ref/resource","uri":%q},"argument":{"name":%q,"value":"9"}}`, template, argument),
		})
	}
	return messages
}
