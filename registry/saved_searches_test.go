package registry_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

func (f flaky) CreateSavedSearch(ctx context.Context, n store.NewSavedSearch) (cola.SavedSearch, bool, error) {
	if f.w.full.Load() {
		return cola.SavedSearch{}, false, fmt.Errorf("create: %w", store.ErrUnavailable)
	}
	return f.Store.CreateSavedSearch(ctx, n)
}

// mustWriter creates an account with a key that has the write scope.
func (w *world) mustWriter(t testing.TB, email string, tier cola.Tier) cola.Caller {
	t.Helper()
	c := w.mustCaller(t, email, tier)
	c.Scopes = cola.Scopes()
	return c
}

// mustReader returns a caller with a new read-only key for a writer's account.
func (w *world) mustReader(t testing.TB, writer cola.Caller) cola.Caller {
	t.Helper()
	reader := store.Key{AccountID: writer.Account, Name: "reader"}
	key, err := w.store.CreateKey(t.Context(), reader, sha256.Sum256([]byte(reader.Name)), 0)
	if err != nil {
		t.Fatal(err)
	}
	writer.Credential.ID = key.ID
	return writer
}

// requestsOf returns the total number of requests made with all keys.
func requestsOf(days []store.DayUsage) (sum int) {
	for _, d := range days {
		sum += d.Requests
	}
	return sum
}

// unitsOf returns the total number of units charged to all keys.
func unitsOf(days []store.DayUsage) (sum int) {
	for _, d := range days {
		sum += d.Units
	}
	return sum
}

// alert returns the parameters of a search that runs weekly.
func alert(name string) cola.SavedSearchParams {
	return cola.SavedSearchParams{
		Name: name, Filters: &cola.SavedSearchFilters{BrandName: "oak"},
		Schedule: &cola.ScheduleParams{Cadence: cola.CadenceWeekly, Day: cola.Some(1)},
	}
}

// withKey returns an alert with an idempotency key.
func withKey(name, key string) cola.SavedSearchParams {
	p := alert(name)
	p.IdempotencyKey = key
	return p
}

func (w *world) mustSave(t *testing.T, c cola.Caller, p cola.SavedSearchParams) registry.CreatedSavedSearch {
	t.Helper()
	created, _, err := w.CreateSavedSearch(t.Context(), c, p)
	if err != nil {
		t.Fatalf("CreateSavedSearch(%s): %v", p.Name, err)
	}
	return created
}

// mustHaveSaved checks the names of an account's saved searches, in order.
func (w *world) mustHaveSaved(t *testing.T, c cola.Caller, want ...string) {
	t.Helper()
	list, _, err := w.store.SavedSearches(t.Context(), c.Account, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

var uuidPattern = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestCreateSavedSearch(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "save@example.com", cola.TierFree)
	created, state, err := w.CreateSavedSearch(t.Context(), c, alert(" New oak "))
	if err != nil || created.Repeated || !state.Known() || state.Used != (cola.Used{}) || state.Charged != 0 {
		t.Fatalf("CreateSavedSearch = %+v, %+v, %v, want a new search, no charge", created, state, err)
	}
	id := created.Search.UUID
	want := cola.SavedSearch{
		UUID: id, Name: "New oak", Filters: cola.SavedSearchFilters{BrandName: "oak"},
		Schedule: &cola.Schedule{
			Active:    true,
			Cadence:   cola.CadenceWeekly,
			Day:       1,
			NextRunAt: cola.Some(cola.TimestampOf(time.Date(2026, 11, 23, cola.RunHour, 0, 0, 0, time.UTC))),
		},
		CreatedAt: cola.TimestampOf(testNow),
		ManageURL: publicURL + "/saved-searches/" + id, DashboardURL: publicURL + "/saved-searches",
	}
	if diff := cmp.Diff(want, created.Search); diff != "" || !uuidPattern.MatchString(id) {
		t.Errorf("search %s (-want +got):\n%s", id, diff)
	}
	want.ManageURL, want.DashboardURL = "", ""
	stored, err := w.store.SavedSearch(t.Context(), c.Account, id)
	if diff := cmp.Diff(want, stored); err != nil || diff != "" {
		t.Errorf("stored search: %v (-want +got):\n%s", err, diff)
	}
	if days, err := w.store.DailyUsage(t.Context(), c.Account, cola.DateOf(testNow), cola.DateOf(testNow)); err != nil || len(days) != 1 || days[0].Requests != 1 || days[0].Units != 0 {
		t.Errorf("today's usage = %+v, %v, want one free request", days, err)
	}
	if second := w.mustSave(t, c, alert("New oak")); second.Repeated || second.Search.UUID == id {
		t.Errorf("without a key: %+v, want another search", second)
	}
}

// TestRejectedSavedSearches checks that rejected requests count toward the rate limit, are free and
// don't save a search.
func TestRejectedSavedSearches(t *testing.T) {
	w := mustWorld(t, 0)
	writer := w.mustWriter(t, "refused@example.com", cola.TierPro)
	reader := w.mustReader(t, writer)
	broad := alert("broad")
	broad.Filters = &cola.SavedSearchFilters{ABVMin: cola.Some(0.0), ApplicationStatus: "approved"}
	for _, tt := range []struct {
		name   string
		caller cola.Caller
		params cola.SavedSearchParams
		want   cola.Code
		detail string
	}{
		{"without the scope", reader, alert("n"), cola.CodeInsufficientScope, "required_scope"},
		{"without the scope, and invalid", reader, cola.SavedSearchParams{}, cola.CodeInsufficientScope, "required_scope"},
		{"invalid", writer, cola.SavedSearchParams{}, cola.CodeValidation, "filters"},
		{"invalid JSON member", writer, cola.SavedSearchParams{
			Decoded: cola.Decoded{Problems: cola.Problems{"filters.brand": {"Unknown."}}},
			Name:    "n",
			Filters: &cola.SavedSearchFilters{},
		}, cola.CodeValidation, "filters.brand"},
		{"invalid key", writer, withKey("n", "a key"), cola.CodeValidation, "Idempotency-Key"},
		{"too broad", writer, broad, cola.CodeSearchTooBroad, ""},
	} {
		created, state, err := w.CreateSavedSearch(t.Context(), tt.caller, tt.params)
		var refusal *cola.Error
		if !errors.As(err, &refusal) || refusal.Code != tt.want || !cmp.Equal(created, registry.CreatedSavedSearch{}) || !state.Known() {
			t.Errorf("%s: CreateSavedSearch = %+v, %+v, %v, want %s", tt.name, created, state, err, tt.want)
			continue
		}
		if _, has := refusal.Details[tt.detail]; tt.detail != "" && !has {
			t.Errorf("%s: details = %v, want %s", tt.name, refusal.Details, tt.detail)
		}
	}
	days, err := w.store.DailyUsage(t.Context(), writer.Account, cola.DateOf(testNow), cola.DateOf(testNow))
	if err != nil || requestsOf(days) != 6 {
		t.Errorf("today's usage = %+v, %v, want 6 requests", days, err)
	}
	w.mustHaveSaved(t, writer)
}

// TestRejectedSearchNotSaved checks that a request that the ledger rejects does not save a search.
func TestRejectedSearchNotSaved(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "burst@example.com", cola.TierFree)
	paused := alert("n")
	paused.Schedule.Active = cola.Some(false)
	for range 10 {
		w.mustSave(t, c, paused)
	}
	if _, _, err := w.CreateSavedSearch(t.Context(), c, paused); code(err) != cola.CodeQuotaExceeded {
		t.Errorf("11th request in a minute: error = %v, want quota_exceeded", err)
	}
	other := w.mustWriter(t, "revoked@example.com", cola.TierFree)
	if err := w.store.RevokeKey(t.Context(), 0, other.Credential.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.CreateSavedSearch(t.Context(), other, paused); code(err) != cola.CodeUnauthorized {
		t.Errorf("revoked key: error = %v, want unauthorized", err)
	}
	w.mustHaveSaved(t, other)
	if list, _, err := w.store.SavedSearches(t.Context(), c.Account, 0, 100); err != nil || len(list) != 10 {
		t.Errorf("%d searches are stored (%v), want 10", len(list), err)
	}
}

func TestIdempotencyKey(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "key@example.com", cola.TierPro), w.mustWriter(t, "other@example.com", cola.TierPro)
	first := w.mustSave(t, c, withKey("n", "k"))
	w.advance(24*time.Hour - time.Microsecond)
	second := w.mustSave(t, c, withKey(" n ", "k")) // requests are compared after normalization
	if !second.Repeated || !cmp.Equal(second.Search, first.Search) {
		t.Errorf("repeated request = %+v, want %+v", second, first.Search)
	}
	created, state, err := w.CreateSavedSearch(t.Context(), c, withKey("another", "k"))
	if code(err) != cola.CodeIdempotencyKeyReused || !cmp.Equal(created, registry.CreatedSavedSearch{}) || !state.Known() {
		t.Errorf("same key, different search: %+v, %v, want idempotency_key_reused", created, err)
	}
	if w.mustSave(t, other, withKey("n", "k")).Repeated {
		t.Error("another account's key is treated as a repeat")
	}
	if w.mustSave(t, c, withKey("n", "K")).Repeated {
		t.Error("key in different case is treated as a repeat")
	}
	mcp := c
	mcp.Channel = cola.ChannelMCP
	if !w.mustSave(t, mcp, withKey("n", "k")).Repeated {
		t.Error("same key on another channel is not treated as a repeat")
	}
	w.advance(time.Microsecond)
	if w.mustSave(t, c, withKey("another", "k")).Repeated {
		t.Error("key is still stored after a day")
	}
	w.mustHaveSaved(t, c, "n", "n", "another")
}

// TestRepeatedToolCall checks that a repeated tool call, which has no idempotency key, is
// recognized for ten minutes by its content and credential.
func TestRepeatedToolCall(t *testing.T) {
	w := mustWorld(t, 0)
	rest := w.mustWriter(t, "call@example.com", cola.TierPro)
	c := rest
	c.Channel = cola.ChannelMCP
	second, err := w.store.CreateKey(t.Context(), store.Key{
		AccountID: c.Account, Name: "second", KeyAccess: store.KeyAccess{Scopes: cola.Scopes()},
	}, sha256.Sum256([]byte("second")), 0)
	if err != nil {
		t.Fatal(err)
	}
	first := w.mustSave(t, c, alert("a"))
	w.advance(10*time.Minute - time.Microsecond)
	if second := w.mustSave(t, c, alert("a")); !second.Repeated || !cmp.Equal(second.Search, first.Search) {
		t.Errorf("repeated call = %+v, want %+v", second, first.Search)
	}
	changed := alert("a")
	changed.Schedule.Day = cola.Some(2)
	if w.mustSave(t, c, changed).Repeated {
		t.Error("different content is treated as a repeat")
	}
	if w.mustSave(t, rest, alert("a")).Repeated {
		t.Error("REST request is treated as a repeat")
	}
	c.Credential.ID = second.ID
	if w.mustSave(t, c, alert("a")).Repeated {
		t.Error("call with another credential is treated as a repeat")
	}
	c.Credential.ID = rest.Credential.ID
	w.advance(time.Microsecond)
	if w.mustSave(t, c, alert("a")).Repeated {
		t.Error("call after ten minutes is treated as a repeat")
	}
	w.mustHaveSaved(t, rest, "a", "a", "a", "a", "a")
}

func (w *world) advance(d time.Duration) { w.clock.Add(d.Microseconds()) }

func TestActiveScheduleLimit(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "limit@example.com", cola.TierPro)
	var created, rejected atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, state, err := w.CreateSavedSearch(t.Context(), c, alert("n"))
			switch {
			case err == nil:
				created.Add(1)
			case code(err) == cola.CodeWatchlistLimit && state.Known():
				rejected.Add(1)
			default:
				t.Errorf("CreateSavedSearch: %+v, %v", state, err)
			}
		})
	}
	wg.Wait()
	if created.Load() != cola.MaxActiveSchedules || rejected.Load() != 20-cola.MaxActiveSchedules {
		t.Errorf("created %d, rejected %d, want %d created", created.Load(), rejected.Load(), cola.MaxActiveSchedules)
	}
	_, _, err := w.CreateSavedSearch(t.Context(), c, withKey("one more", "k"))
	var refusal *cola.Error
	if !errors.As(err, &refusal) || refusal.Details["limit"] != 10 || !strings.Contains(refusal.Message, `"active": false`) {
		t.Errorf("beyond the limit: error = %v, want the limit and a remedy", err)
	}
	paused, unscheduled := withKey("paused", "k"), alert("unscheduled") // the rejected request did not use up the key
	paused.Schedule.Active, unscheduled.Schedule = cola.Some(false), nil
	for _, p := range []cola.SavedSearchParams{paused, unscheduled} {
		if got := w.mustSave(t, c, p).Search.Schedule; got != nil && (got.Active || got.NextRunAt.OK) {
			t.Errorf("%s: schedule = %+v, want inactive", p.Name, got)
		}
	}
	w.mustSave(t, w.mustWriter(t, "another@example.com", cola.TierPro), alert("n"))
}

// TestSaveOutage checks that, if the outcome is unknown, the error says how to repeat the request
// without saving a second search.
func TestSaveOutage(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "fails@example.com", cola.TierPro)
	w.full.Store(true)
	_, state, err := w.CreateSavedSearch(t.Context(), c, withKey("n", "k"))
	var refusal *cola.Error
	if !errors.As(err, &refusal) || refusal.Code != cola.CodeUnavailable || refusal.RetryAfter <= 0 || !strings.Contains(refusal.Message, "Idempotency-Key") || !state.Known() {
		t.Errorf("CreateSavedSearch = %+v, %v, want unavailable with a remedy", state, err)
	}
	w.full.Store(false)
	if w.mustSave(t, c, withKey("n", "k")).Repeated {
		t.Error("failed search was stored")
	}
	w.down.Store(true)
	if _, _, err := w.CreateSavedSearch(t.Context(), c, alert("n")); code(err) != cola.CodeUnavailable {
		t.Errorf("without the ledger: error = %v, want unavailable", err)
	}
	w.mustHaveSaved(t, c, "n")
}

// TestAccountLimit checks that errors show an account's own lower limit, and that its searches
// above the limit have no next run time.
func TestAccountLimit(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "low@example.com", cola.TierPro)
	for _, name := range []string{"a", "b", "c"} {
		w.mustSave(t, c, alert(name))
	}
	for limit, part := range map[int]string{2: " 2 ", 1: " one ", 0: "operator"} {
		if err := w.store.SetActiveLimit(t.Context(), c.Account, limit); err != nil {
			t.Fatal(err)
		}
		_, _, err := w.CreateSavedSearch(t.Context(), c, alert("d"))
		var refusal *cola.Error
		if !errors.As(err, &refusal) || refusal.Code != cola.CodeWatchlistLimit || refusal.Details["limit"] != limit || !strings.Contains(refusal.Message, part) {
			t.Errorf("limit %d: error = %+v", limit, err)
		}
		list, _, err := w.SavedSearches(t.Context(), c, cola.SavedSearchListParams{})
		if err != nil || len(list.Rows) != 3 {
			t.Fatalf("SavedSearches = %+v, %v", list, err)
		}
		for i, s := range list.Rows {
			runs := i < limit
			if paused := s.Schedule.PausedBecause == cola.Some(cola.PausedDowngraded); paused == runs || s.Schedule.NextRunAt.OK != runs || !s.Schedule.Active {
				t.Errorf("limit %d: schedule of search %d = %+v", limit, i, s.Schedule)
			}
			read, _, err := w.SavedSearch(t.Context(), c, s.UUID, "")
			if err != nil || read.Value.Schedule.NextRunAt != s.Schedule.NextRunAt {
				t.Errorf("limit %d: SavedSearch %d = %+v, %v", limit, i, read.Value.Schedule, err)
			}
		}
	}
	if err := w.store.SetActiveLimit(t.Context(), c.Account, cola.MaxActiveSchedules); err != nil {
		t.Fatal(err)
	}
	list, _, _ := w.SavedSearches(t.Context(), c, cola.SavedSearchListParams{})
	for i, s := range list.Rows {
		if !s.Schedule.NextRunAt.OK || s.Schedule.PausedBecause.OK {
			t.Errorf("limit raised: schedule of search %d = %+v, want it to run", i, s.Schedule)
		}
	}
}

// TestSavedSearchLimit checks that the total number of saved searches per account is limited, and
// that the error says what to do.
func TestSavedSearchLimit(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "full@example.com", cola.TierPro)
	var last string
	for n := range cola.MaxSavedSearches {
		last = fmt.Sprintf("0b9f8c0e-6a55-4f0e-9a39-%012d", n)
		_, _, err := w.store.CreateSavedSearch(t.Context(), store.NewSavedSearch{Account: c.Account, Search: cola.SavedSearch{UUID: last, Name: "x"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	params := cola.SavedSearchParams{Name: "One more", Filters: &cola.SavedSearchFilters{BrandName: "oak"}}
	_, state, err := w.CreateSavedSearch(t.Context(), c, params)
	var refusal *cola.Error
	if !errors.As(err, &refusal) || refusal.Code != cola.CodeWatchlistLimit || refusal.Details["limit"] != 1000 || !strings.Contains(refusal.Message, "DELETE /saved-searches/{uuid}") || !state.Known() {
		t.Errorf("beyond the limit: error = %+v, want the limit", err)
	}
	if _, err := w.DeleteSavedSearch(t.Context(), c, last); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.CreateSavedSearch(t.Context(), c, params); err != nil {
		t.Errorf("after a deletion: %v", err)
	}
}
