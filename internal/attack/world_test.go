package attack

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/mailtest"
	"github.com/colaregistry/colaregistry/internal/program"
)

// world is a server with an account that has every kind of resource: a saved search with a run and
// matches, destinations, deliveries, a feed, keys, and a signed-in browser.
type world struct {
	*site
	account *loadtest.Account
	browser *http.Client
	admin   string            // URL of the admin listener
	ids     map[string]string // values of path parameters, such as "{ttb_id}" or "destinations/{uuid}"
	labels  map[string]bool   // every TTB ID in the registry
}

const worldEmail = "world@example.com"

// inWorld runs a test in a world on SQLite and one on PostgreSQL.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for name, start := range map[string]func(*testing.T, program.Options) *site{"sqlite": startOnSQLite, "postgres": startOnPostgres} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t, start)) })
	}
}

func newWorld(t *testing.T, start func(*testing.T, program.Options) *site) *world {
	t.Helper()
	mail := mailtest.Start(t)
	flags := []string{"--webhook-allow-private", "--smtp", mail.URL(), "--mail-from", "alerts@registry.example"}
	w := newBareWorld(t, start, flags...)
	w.browser = w.signIn(worldEmail)
	search := w.create("/saved-searches", map[string]any{
		"name": "Quokka", "filters": map[string]any{"brand_name": "quokka"},
		"schedule": map[string]any{"cadence": "daily"},
	})
	w.ids["saved-searches/{uuid}"] = search["uuid"].(string)
	receiver := newEndpoint(t, http.StatusOK)
	receiver.echoes = true
	hook := w.create("/destinations",
		map[string]any{"kind": "webhook", "address": receiver.URL + "/hook"})["uuid"].(string)
	w.ids["destinations/{uuid}"] = hook
	awaitTrue(w.t, "the endpoint's confirmation", func() bool {
		d := w.data(http.MethodGet, "/destinations/"+hook, nil, http.StatusOK).(map[string]any)
		return d["state"] == cola.DestinationActive
	})
	w.importNewLabels(30)
	w.tick(append([]string{"--public-url", w.URL}, flags...))
	w.storeResourceIDs(mail)
	return w
}

// newBareWorld returns a world with an account that has only a key.
func newBareWorld(t *testing.T, start func(*testing.T, program.Options) *site, flags ...string) *world {
	t.Helper()
	admin := program.Address(t)
	s := start(t, program.Options{Flags: append([]string{"--admin-listen", admin}, flags...)})
	w := &world{
		site:    s,
		account: s.account(worldEmail, cola.TierPro),
		admin:   "http://" + admin,
		ids:     map[string]string{},
		labels:  map[string]bool{},
	}
	for c := range demo.Labels(demo.Options{Colas: labels, Seed: 1, AsOf: cola.DateOf(time.Now())}) {
		w.labels[c.TTBID.String()] = true
	}
	w.storeRecordIDs()
	return w
}

// storeRecordIDs stores the IDs of existing public records in w.ids.
func (w *world) storeRecordIDs() {
	w.t.Helper()
	found := w.data(http.MethodGet, "/colas?approval_date_from=2005-01-01&per_page=50", nil, http.StatusOK).([]any)
	at := slices.IndexFunc(found, func(row any) bool { return row.(map[string]any)["has_barcode"] == true })
	label := found[at].(map[string]any)
	w.ids["{ttb_id}"], w.ids["{permit_number}"] = label["ttb_id"].(string), label["permit_number"].(string)
	detail := w.data(http.MethodGet, "/colas/"+w.ids["{ttb_id}"], nil, http.StatusOK).(map[string]any)
	w.ids["{barcode_value}"] = detail["barcode_value"].(string)
	image, _ := detail["images"].([]any)[0].(map[string]any)["image_url"].(string)
	w.ids["{image}"], w.ids["site/{name}"] = filepath.Base(image), "brand"
	avas := w.data(http.MethodGet, "/avas?state=CA", nil, http.StatusOK).([]any)
	w.ids["{ava_id}"] = avas[0].(map[string]any)["ava_id"].(string)
}

// create creates a resource over REST and returns it.
func (w *world) create(path string, body map[string]any) map[string]any {
	w.t.Helper()
	return w.data(http.MethodPost, path, body, http.StatusCreated).(map[string]any)
}

// data calls the REST API, requires the given status, and returns the response data.
func (w *world) data(method, path string, body any, status int) any {
	w.t.Helper()
	a := w.rest(w.account.Key.Reveal(), method, path, body)
	if a.Status != status {
		w.t.Fatalf("%s %s: status %d, want %d: %s", method, path, a.Status, status, a.Body)
	}
	return a.JSON(w.t)["data"]
}

// importNewLabels imports labels that were approved today and match the saved search.
func (w *world) importNewLabels(n int) {
	w.t.Helper()
	var lines bytes.Buffer
	for i := range n {
		id := fmt.Sprintf("9936500100%04d", i+1)
		w.labels[id] = true
		fmt.Fprintf(&lines, `{"ttb_id":%q,"brand_name":"QUOKKA %d","product_type":"wine","permit_number":"BWN-OR-16677","approval_date":%q}`+"\n",
			id, i+1, cola.DateOf(time.Now()))
	}
	w.importLabels(lines.Bytes())
	awaitTrue(w.t, "the new labels in the index", func() bool {
		return len(w.data(http.MethodGet, "/colas?brand_name=quokka&per_page=1", nil, http.StatusOK).([]any)) == 1
	})
}

// tick runs the saved search as of tomorrow and sends its delivery.
func (w *world) tick(flags []string) {
	w.t.Helper()
	at := time.Now().UTC().AddDate(0, 0, 1).Truncate(24 * time.Hour).Add(7 * time.Hour)
	w.Run(append([]string{"alerts", "tick", "--at", at.Format(time.RFC3339)}, flags...)...)
}

var tokenInMail = regexp.MustCompile(`/(confirm|unsubscribe)/([\w-]+)`)

// storeResourceIDs stores the IDs of the account's resources in w.ids.
func (w *world) storeResourceIDs(mail *mailtest.Server) {
	w.t.Helper()
	search := "/saved-searches/" + w.ids["saved-searches/{uuid}"]
	runs := w.data(http.MethodGet, search+"/runs", nil, http.StatusOK).([]any)
	if len(runs) == 0 {
		w.t.Fatal("no run of the saved search")
	}
	w.ids["{run}"] = fmt.Sprint(runs[0].(map[string]any)["id"])
	feed := w.data(http.MethodPost, search+"/feed", nil, http.StatusCreated).(map[string]any)
	w.ids["feeds/{token}"] = filepath.Base(feed["url"].(string))
	awaitTrue(w.t, "a delivery", func() bool {
		deliveries := w.data(http.MethodGet, "/deliveries", nil, http.StatusOK).([]any)
		if len(deliveries) > 0 {
			w.ids["deliveries/{id}"] = fmt.Sprint(deliveries[0].(map[string]any)["id"])
		}
		return len(deliveries) > 0
	})
	awaitTrue(w.t, "an email", func() bool { return len(mail.Messages()) > 0 })
	for _, m := range mail.Messages() {
		for _, token := range tokenInMail.FindAllStringSubmatch(fmt.Sprint(m.Header)+m.Text, -1) {
			w.ids[token[1]+"/{token}"] = token[2]
		}
	}
	w.ids["sign-in/{token}"] = "never-made"
	w.ids["keys/{id}"] = fmt.Sprint(w.account.KeyID)
}

var parameter = regexp.MustCompile(`\{[a-z_]+\}|\*$`)

// path fills in the parameters of a route pattern with IDs from the world, or with a nonexistent
// ID.
func (w *world) path(pattern string) string {
	area, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(pattern, "/api/v1"), "/"), "/")
	return parameter.ReplaceAllStringFunc(pattern, func(name string) string {
		if name == "*" {
			return w.ids["{permit_number}"]
		}
		for _, key := range []string{area + "/" + name, name} {
			if value, ok := w.ids[key]; ok {
				return value
			}
		}
		return map[string]string{
			"{uuid}": "00000000-0000-4000-8000-000000000000", "{id}": "999999999", "{run}": "999999999",
			"{operation}": "searchColas",
		}[name]
	})
}

// metrics returns the metrics from the admin listener.
func (w *world) metrics() string {
	w.t.Helper()
	return string(get(w.t, w.admin+"/metrics").Body)
}

var routeMetric = regexp.MustCompile(`colaregistry_http_response_bytes_total\{route="([^"]+)"\}`)

// routes returns the patterns of the server's routes, from its metrics.
func (w *world) routes() (patterns []string) {
	w.t.Helper()
	for _, m := range routeMetric.FindAllStringSubmatch(w.metrics(), -1) {
		if route := m[1]; route != "other" {
			patterns = append(patterns, route)
		}
	}
	if len(patterns) < 50 {
		w.t.Fatalf("only %d routes found", len(patterns))
	}
	return patterns
}
