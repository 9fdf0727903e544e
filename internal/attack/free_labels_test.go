package attack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/internal/loadtest"
	"github.com/colaregistry/colaregistry/internal/program"
	"github.com/colaregistry/colaregistry/store"
)

// withoutAlerts turns off scheduled runs and deliveries; tests trigger them with the "alerts tick"
// command.
var withoutAlerts = program.Options{Flags: []string{"--alerts", "off", "--webhook-allow-private"}}

// TestManualRunLabels manually runs three unscheduled searches, one per product type,
// that together find every new label. Messages, replays and feeds must not name any label.
func TestManualRunLabels(t *testing.T) {
	onBoth(t, withoutAlerts, func(t *testing.T, s *site) {
		a, hook := s.account("runs@example.com", cola.TierPro), s.receiver("runs@example.com")
		types := map[string]vocabulary.ProductType{
			"type_wine":             vocabulary.Wine,
			"type_malt_beverage":    vocabulary.MaltBeverage,
			"type_distilled_spirit": vocabulary.DistilledSpirits,
		}
		var searches []string
		for filter := range types {
			searches = append(searches, s.save(a, filter, map[string]any{filter: true, "brand_name": "quarry"}, nil))
		}
		s.addLabels("QUARRY", 20, slices.Sorted(maps.Values(types))...)
		for _, search := range searches {
			if run := s.rest(a.Key.Reveal(), http.MethodPost, "/saved-searches/"+search+"/run", nil); run.Status != http.StatusAccepted {
				t.Fatalf("run: status %d, want 202: %s", run.Status, run.Body)
			}
		}
		s.tick(time.Now())
		for _, d := range s.list(a, "/deliveries") {
			if d["kind"] == "email" {
				continue // not sent by this server
			}
			s.mustPost(a, fmt.Sprintf("/deliveries/%.0f/replay", d["id"]), http.StatusAccepted)
		}
		s.tick(time.Now())
		found := 0
		for _, m := range hook.messages() {
			found += m.Data.Run.MatchCount
			if len(m.Data.Labels) > 0 || ttbID.MatchString(m.body) {
				t.Errorf("message about a manual run names labels: %s", m.body)
			}
		}
		if want := 2 * 60; found != want { // each message was sent twice
			t.Errorf("messages report %d labels, want %d", found, want)
		}
		for _, search := range searches {
			if feed := s.feed(a, search); ttbID.MatchString(feed) || !strings.Contains(feed, "20 new labels") {
				t.Errorf("manual run's feed names labels or has no count: %s", feed)
			}
		}
		if used := s.used(a); used != (cola.Used{}) {
			t.Errorf("used %+v, want no quota used", used)
		}
	})
}

// TestScheduledMessageLabels runs searches that find more labels than a message or feed may name.
// Messages about additional searches on the same day must give only the count.
func TestScheduledMessageLabels(t *testing.T) {
	onBoth(t, withoutAlerts, func(t *testing.T, s *site) {
		a, hook := s.account("alerts@example.com", cola.TierPro), s.receiver("alerts@example.com")
		daily := map[string]any{"cadence": "daily", "active": true}
		var searches []string
		for n := range 2 * cola.MaxActiveSchedules {
			searches = append(searches, s.save(a, fmt.Sprint("Alert ", n), map[string]any{"brand_name": "quarry"}, nil))
		}
		s.addLabels("QUARRY", 40, vocabulary.Wine)
		activate := func(schedule any, searches ...string) {
			for _, search := range searches {
				if got := s.rest(a.Key.Reveal(), http.MethodPatch, "/saved-searches/"+search, map[string]any{"schedule": schedule}); got.Status != http.StatusOK {
					t.Fatalf("schedule %v: status %d, want 200: %s", schedule, got.Status, got.Body)
				}
			}
		}
		tomorrow := time.Now().Add(24 * time.Hour)
		first, others := searches[:cola.MaxActiveSchedules], searches[cola.MaxActiveSchedules:]
		activate(daily, first...)
		s.tick(tomorrow)
		feed := s.feed(a, first[0])
		if n := len(distinct(feed)); n != cola.MaxMessageLabels {
			t.Errorf("feed names %d labels, want %d", n, cola.MaxMessageLabels)
		}
		before := hook.messages()
		for _, m := range before {
			if len(m.Data.Labels) != cola.MaxMessageLabels || m.Data.More != 15 ||
				!maps.Equal(distinct(m.body), distinct(feed)) {
				t.Errorf("message names %d labels and counts %d more, want the %d labels in the feed and 15 more",
					len(m.Data.Labels), m.Data.More, cola.MaxMessageLabels)
			}
		}
		s.mustPost(a, fmt.Sprintf("/deliveries/%.0f/replay", s.list(a, "/deliveries")[0]["id"]), http.StatusAccepted)
		s.tick(tomorrow)
		replayed := hook.messages()[len(before):]
		if len(before) != len(first) || len(replayed) != 1 || !maps.Equal(distinct(replayed[0].body), distinct(feed)) {
			t.Errorf("%d messages, %d replayed, want %d and the same labels", len(before), len(replayed), len(first))
		}

		activate(nil, first...)
		activate(daily, others...)
		s.tick(tomorrow) // still the same day for these searches
		more := hook.messages()[len(before)+len(replayed):]
		if len(more) != len(others) {
			t.Errorf("%d messages about the other searches, want %d", len(more), len(others))
		}
		for _, m := range more {
			if len(m.Data.Labels) > 0 || m.Data.Run.MatchCount != 40 {
				t.Errorf("beyond the daily limit, a message names %d of %d labels, want 0 of 40",
					len(m.Data.Labels), m.Data.Run.MatchCount)
			}
		}
	})
}

// TestMatchCharges checks that each way to read a run's labels charges for the labels it shows.
func TestMatchCharges(t *testing.T) {
	onBoth(t, withoutAlerts, func(t *testing.T, s *site) {
		a := s.account("matches@example.com", cola.TierStarter)
		search := s.save(a, "Quarry", map[string]any{"brand_name": "quarry"}, nil)
		s.addLabels("QUARRY", 30, vocabulary.Wine)
		s.mustPost(a, "/saved-searches/"+search+"/run", http.StatusAccepted)
		s.tick(time.Now())
		path := "/saved-searches/" + search
		run := fmt.Sprintf("%s/runs/%.0f", path, s.list(a, path+"/runs")[0]["id"])
		browser := s.signIn("matches@example.com")
		spent := 0
		for _, step := range []struct {
			what string
			read func() response
			cost int
		}{
			{"runs", func() response { return s.rest(a.Key.Reveal(), http.MethodGet, path+"/runs", nil) }, 0},
			{
				"matches",
				func() response { return s.rest(a.Key.Reveal(), http.MethodGet, path+"/matches?per_page=7", nil) }, 7,
			},
			{
				"matches of a run",
				func() response { return s.rest(a.Key.Reveal(), http.MethodGet, run+"/matches?page=3&per_page=13", nil) },
				4,
			},
			{
				"no more matches",
				func() response { return s.rest(a.Key.Reveal(), http.MethodGet, path+"/matches?page=9", nil) }, 0,
			},
			{"saved search page", func() response { return s.send(browser, http.MethodGet, path, nil, nil) }, 0},
			{"run page", func() response { return s.send(browser, http.MethodGet, run, nil, nil) }, 0},
			{
				"deliveries page",
				func() response { return s.send(browser, http.MethodGet, "/deliveries", nil, nil) }, 0,
			},
			{
				"run labels page",
				func() response { return s.send(browser, http.MethodGet, run+"/labels?page=2", nil, nil) }, 10,
			},
		} {
			got := step.read()
			spent += step.cost
			if n := len(distinct(string(got.Body))); got.Status != http.StatusOK || n != step.cost {
				t.Errorf("%s: status %d with %d labels, want 200 with %d", step.what, got.Status, n, step.cost)
			}
			if used := s.used(a); used != (cola.Used{ListRecords: spent}) {
				t.Errorf("%s: used %+v, want %d list records", step.what, used, spent)
			}
		}
		s.checkTruncatedMatches(search)
	})
}

// checkTruncatedMatches checks that an account with three list records left gets only three
// matches, and none from another account's search.
func (s *site) checkTruncatedMatches(othersSearch string) {
	s.t.Helper()
	spent := cola.Used{ListRecords: cola.TierFree.Limits().ListRecords - 3}
	poor, err := loadtest.NewAccount(s.t.Context(), s.Store, "poor@example.com", cola.TierFree, spent)
	if err != nil {
		s.t.Fatal(err)
	}
	search := s.save(poor, "Quarry", map[string]any{"brand_name": "quarry"}, nil)
	s.addLabels("QUARRY", 5, vocabulary.MaltBeverage)
	s.mustPost(poor, "/saved-searches/"+search+"/run", http.StatusAccepted)
	s.tick(time.Now())
	path := "/saved-searches/" + search + "/matches"
	cut := s.rest(poor.Key.Reveal(), http.MethodGet, path, nil)
	meta := cut.JSON(s.t)["meta"].(map[string]any)
	if n := len(distinct(string(cut.Body))); n != 3 || meta["has_more"] != true || meta["truncated_by_quota"] != true ||
		cut.Header.Get("X-List-Records-Remaining") != "0" {
		s.t.Errorf("with 3 list records left: %d matches, meta %v, headers %v; want 3 matches, truncated by the quota",
			n, meta, cut.Header)
	}
	if rejected := s.rest(poor.Key.Reveal(), http.MethodGet, path, nil); rejected.Status != http.StatusTooManyRequests ||
		ttbID.Match(rejected.Body) {
		s.t.Errorf("without quota: status %d, want 429 without labels: %s", rejected.Status, rejected.Body)
	}
	if other := s.rest(poor.Key.Reveal(), http.MethodGet, "/saved-searches/"+othersSearch+"/matches", nil); other.Status != http.StatusNotFound {
		s.t.Errorf("another account's matches: status %d, want 404", other.Status)
	}
}

// TestDailyManualRuns concurrently requests more runs than the daily limit allows. Deleting the
// searches must not restore the allowance.
func TestDailyManualRuns(t *testing.T) {
	onBoth(t, withoutAlerts, func(t *testing.T, s *site) {
		const attempts = 30
		a := s.account("manual@example.com", cola.TierPro)
		var searches []string
		for n := range attempts {
			searches = append(searches,
				s.save(a, fmt.Sprint("Search ", n), map[string]any{"brand_name": "quarry"}, nil))
		}
		responses := make([]response, attempts)
		var all sync.WaitGroup
		for n := range attempts {
			all.Go(func() {
				responses[n] = s.rest(a.Key.Reveal(), http.MethodPost, "/saved-searches/"+searches[n]+"/run", nil)
			})
		}
		all.Wait()
		accepted := 0
		for n, got := range responses {
			switch {
			case got.Status == http.StatusAccepted:
				accepted++
				s.rest(a.Key.Reveal(), http.MethodDelete, "/saved-searches/"+searches[n], nil)
			default:
				s.checkNoManualRuns(got)
			}
		}
		if accepted != cola.MaxDailyManualRuns {
			t.Errorf("%d concurrent runs accepted, want %d", accepted, cola.MaxDailyManualRuns)
		}
		last := s.save(a, "After others were deleted", map[string]any{"brand_name": "quarry"}, nil)
		s.checkNoManualRuns(s.rest(a.Key.Reveal(), http.MethodPost, "/saved-searches/"+last+"/run", nil))
		page := s.send(s.signIn("manual@example.com"), http.MethodPost,
			"/saved-searches/"+last+"/run", http.Header{"Origin": {s.URL}}, nil)
		if page.Status != http.StatusTooManyRequests {
			t.Errorf("dashboard: status %d, want 429", page.Status)
		}
	})
}

// checkNoManualRuns checks that a manual run beyond the daily limit is rejected.
func (s *site) checkNoManualRuns(got response) {
	s.t.Helper()
	var body struct {
		Error struct {
			Details struct{ Reason string }
		}
	}
	err := json.Unmarshal(got.Body, &body)
	wait, waitErr := strconv.Atoi(got.Header.Get("Retry-After"))
	err = errors.Join(err, waitErr)
	if got.Status != http.StatusTooManyRequests || body.Error.Details.Reason != "manual_runs" || err != nil ||
		wait < 1 || wait > 24*60*60 {
		s.t.Errorf("run beyond the limit: status %d, headers %v; want 429 for manual_runs: %s", got.Status, got.Header, got.Body)
	}
}

// distinct returns the TTB IDs in text.
func distinct(text string) map[string]bool {
	ids := map[string]bool{}
	for _, id := range ttbID.FindAllString(text, -1) {
		ids[id] = true
	}
	return ids
}

// save creates a saved search and returns its UUID.
func (s *site) save(a *loadtest.Account, name string, filters map[string]any, schedule any) string {
	s.t.Helper()
	created := s.rest(a.Key.Reveal(), http.MethodPost, "/saved-searches",
		map[string]any{"name": name, "filters": filters, "schedule": schedule})
	if created.Status != http.StatusCreated {
		s.t.Fatalf("save %s: status %d, want 201: %s", name, created.Status, created.Body)
	}
	return created.JSON(s.t)["data"].(map[string]any)["uuid"].(string)
}

func (s *site) mustPost(a *loadtest.Account, path string, want int) {
	s.t.Helper()
	if got := s.rest(a.Key.Reveal(), http.MethodPost, path, nil); got.Status != want {
		s.t.Fatalf("POST %s: status %d, want %d: %s", path, got.Status, want, got.Body)
	}
}

// list returns the first page of a list.
func (s *site) list(a *loadtest.Account, path string) (rows []map[string]any) {
	s.t.Helper()
	for _, row := range s.rest(a.Key.Reveal(), http.MethodGet, path, nil).JSON(s.t)["data"].([]any) {
		rows = append(rows, row.(map[string]any))
	}
	return rows
}

// feed creates a feed for a saved search and returns its content.
func (s *site) feed(a *loadtest.Account, search string) string {
	s.t.Helper()
	created := s.rest(a.Key.Reveal(), http.MethodPost, "/saved-searches/"+search+"/feed", nil)
	url, _ := created.JSON(s.t)["data"].(map[string]any)["url"].(string)
	_, token, _ := strings.Cut(url, "/feeds/")
	return string(s.send(http.DefaultClient, http.MethodGet, "/feeds/"+token, nil, nil).Body)
}

// addLabels adds labels for a brand, approved today. perType is the number per product type.
func (s *site) addLabels(brand string, perType int, types ...vocabulary.ProductType) {
	s.t.Helper()
	for _, kind := range types {
		s.addLabelsAt(1_000*slices.Index(vocabulary.ProductTypes(), string(kind)), brand, perType, kind)
	}
}

// addLabelsAt adds labels for a brand and product type, approved today. Their IDs end in
// consecutive numbers starting with first.
func (s *site) addLabelsAt(first int, brand string, labels int, kind vocabulary.ProductType) {
	s.t.Helper()
	patches := make([]cola.Patch[cola.Cola], labels)
	for n := range patches {
		label := &patches[n].Record
		label.TTBID = cola.TTBID(99_001_001_000_000 + first + n)
		label.BrandName, label.ProductType, label.PermitNumber = fmt.Sprint(brand, " ", n), kind, "CA-I-1"
		label.ApprovalDate = cola.DateOf(time.Now().UTC())
		patches[n].Fields = cola.Fields(1)<<len(cola.FieldsOf[cola.Cola]()) - 1
	}
	if _, err := s.Store.UpsertColas(s.t.Context(), patches, store.Commit); err != nil {
		s.t.Fatal(err)
	}
}

// tick runs the searches due at the given time and sends their deliveries.
func (s *site) tick(at time.Time) {
	s.t.Helper()
	s.Run("alerts", "tick", "--webhook-allow-private", "--at", at.UTC().Format(time.RFC3339Nano))
}

// receiver records the webhook messages that an account receives.
type receiver struct {
	mu       sync.Mutex
	received []message
}

// message is the body of a webhook message.
type message struct {
	Data struct {
		Run struct {
			MatchCount int `json:"match_count"`
		} `json:"run"`
		Labels []json.RawMessage `json:"labels"`
		More   int               `json:"more"`
	} `json:"data"`
	body string
}

// receiver adds an active webhook to an account and returns its receiver.
func (s *site) receiver(email string) *receiver {
	s.t.Helper()
	r := &receiver{}
	server := httptest.NewServer(r)
	s.t.Cleanup(server.Close)
	account, err := s.Store.AccountByEmail(s.t.Context(), email)
	if err == nil {
		_, err = s.Store.CreateDestination(s.t.Context(), store.NewDestination{
			Account: account.ID, Kind: cola.KindWebhook, Address: server.URL,
			State: cola.DestinationActive, MaxDestinations: cola.MaxDestinations,
			Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (r *receiver) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	m := message{body: string(body)}
	if err != nil || json.Unmarshal(body, &m) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received = append(r.received, m)
}

func (r *receiver) messages() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.received)
}
