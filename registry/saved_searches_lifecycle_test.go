package registry_test

import (
	"context"
	"errors"
	"fmt"
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

var errFull = fmt.Errorf("write: %w", store.ErrUnavailable)

func (f flaky) UpdateSavedSearch(ctx context.Context, a cola.AccountID, uuid string, maxActive int, change func(cola.SavedSearch) (cola.SavedSearch, error)) (cola.SavedSearch, error) {
	if f.w.full.Load() {
		return cola.SavedSearch{}, errFull
	}
	return f.Store.UpdateSavedSearch(ctx, a, uuid, maxActive, change)
}

func (f flaky) DeleteSavedSearch(ctx context.Context, a cola.AccountID, uuid string) error {
	if f.w.full.Load() {
		return errFull
	}
	return f.Store.DeleteSavedSearch(ctx, a, uuid)
}

func (f flaky) SavedSearch(ctx context.Context, a cola.AccountID, uuid string) (cola.SavedSearch, error) {
	if f.w.full.Load() {
		return cola.SavedSearch{}, errFull
	}
	return f.Store.SavedSearch(ctx, a, uuid)
}

func (f flaky) SavedSearches(ctx context.Context, a cola.AccountID, offset, limit int) ([]cola.SavedSearch, int, error) {
	if f.w.full.Load() {
		return nil, 0, errFull
	}
	return f.Store.SavedSearches(ctx, a, offset, limit)
}

// setActive returns a change that pauses or resumes a search.
func setActive(active bool) cola.SavedSearchChangeParams {
	return cola.SavedSearchChangeParams{Schedule: &cola.ScheduleChangeParams{Active: cola.Some(active)}}
}

func (w *world) mustChange(t *testing.T, c cola.Caller, uuid string, p cola.SavedSearchChangeParams) cola.SavedSearch {
	t.Helper()
	changed, _, err := w.ChangeSavedSearch(t.Context(), c, uuid, p)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// TestChangeSavedSearch checks that a search can be paused, resumed and renamed, and that the
// response matches later reads and lists, including its URLs.
func TestChangeSavedSearch(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "change@example.com", cola.TierPro)
	created := w.mustSave(t, c, alert("oaks")).Search
	w.advance(7 * 24 * time.Hour) // past its first run
	want := created
	want.Schedule = &cola.Schedule{Cadence: cola.CadenceWeekly, Day: 1}
	if diff := cmp.Diff(want, w.mustChange(t, c, created.UUID, setActive(false))); diff != "" {
		t.Errorf("paused search (-want +got):\n%s", diff)
	}
	want.Schedule = &cola.Schedule{
		Active:    true,
		Cadence:   cola.CadenceWeekly,
		Day:       1,
		NextRunAt: cola.Some(cola.TimestampOf(time.Date(2026, 11, 30, cola.RunHour, 0, 0, 0, time.UTC))),
	}
	if diff := cmp.Diff(want, w.mustChange(t, c, strings.ToUpper(created.UUID), setActive(true))); diff != "" {
		t.Errorf("resumed search (-want +got):\n%s", diff)
	}
	want.Name, want.Filters = "elms", cola.SavedSearchFilters{BrandName: "elm"}
	changed := w.mustChange(t, c, created.UUID, cola.SavedSearchChangeParams{Name: "elms", Filters: &want.Filters})
	read, state, err := w.SavedSearch(t.Context(), c, created.UUID, "")
	if err != nil || state.Used != (cola.Used{}) || !state.Known() {
		t.Errorf("SavedSearch = %+v, %v", state, err)
	}
	reread, _, err := w.SavedSearch(t.Context(), c, created.UUID, read.ETag)
	if err != nil || !reread.NotModified {
		t.Errorf("SavedSearch with its ETag = %+v, %v, want not modified", reread, err)
	}
	list, state, err := w.SavedSearches(t.Context(), c, cola.SavedSearchListParams{})
	if err != nil || state.Used != (cola.Used{}) || !state.Known() {
		t.Errorf("SavedSearches = %+v, %v", state, err)
	}
	for what, got := range map[string]any{"changed": changed, "read": read.Value, "listed": list.Rows[0]} {
		if diff := cmp.Diff(any(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func TestSavedSearchPages(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "pages@example.com", cola.TierPro), w.mustWriter(t, "other@example.com", cola.TierPro)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		w.mustSave(t, c, alert(name))
	}
	for _, tt := range []struct {
		caller        cola.Caller
		page, perPage int
		names         string
		meta          cola.PageMeta
	}{
		{c, 1, 2, "ab", cola.PageMeta{Total: 5, Page: 1, PerPage: 2, HasMore: true}},
		{c, 3, 2, "e", cola.PageMeta{Total: 5, Page: 3, PerPage: 2}},
		{c, 1, 5, "abcde", cola.PageMeta{Total: 5, Page: 1, PerPage: 5}},
		{c, 2147483647, 100, "", cola.PageMeta{Total: 5, Page: 2147483647, PerPage: 100}},
		{other, 1, 20, "", cola.PageMeta{Page: 1, PerPage: 20}},
	} {
		list, _, err := w.SavedSearches(t.Context(), tt.caller, cola.SavedSearchListParams{Page: cola.Some(tt.page), PerPage: cola.Some(tt.perPage)})
		names := ""
		for _, s := range list.Rows {
			names += s.Name
		}
		if err != nil || names != tt.names || list.Meta != tt.meta {
			t.Errorf("page %d with %d rows: %q %+v, %v", tt.page, tt.perPage, names, list.Meta, err)
		}
	}
	if _, state, err := w.SavedSearches(t.Context(), c, cola.SavedSearchListParams{Page: cola.Some(0)}); code(err) != cola.CodeValidation || !state.Known() {
		t.Errorf("page 0: error = %v, want validation_error", err)
	}
}

// TestRejectedSavedSearchActions checks that each rejected request counts toward the rate limit, is
// free and has no effect.
func TestRejectedSavedSearchActions(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "life@example.com", cola.TierPro), w.mustWriter(t, "else@example.com", cola.TierPro)
	reader := w.mustReader(t, c)
	created := w.mustSave(t, c, alert("oaks")).Search
	const unknown = "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"
	read := func(caller cola.Caller, id string) error {
		_, _, err := w.SavedSearch(t.Context(), caller, id, "")
		return err
	}
	change := func(caller cola.Caller, id string, p cola.SavedSearchChangeParams) error {
		_, _, err := w.ChangeSavedSearch(t.Context(), caller, id, p)
		return err
	}
	remove := func(caller cola.Caller, id string) error {
		_, err := w.DeleteSavedSearch(t.Context(), caller, id)
		return err
	}
	broad := cola.SavedSearchChangeParams{Filters: &cola.SavedSearchFilters{ApplicationStatus: "approved"}}
	tests := []struct {
		name string
		err  error
		want cola.Code
	}{
		{"changed without the scope", change(reader, created.UUID, setActive(false)), cola.CodeInsufficientScope},
		{"changed without the scope, and invalid", change(reader, "x", cola.SavedSearchChangeParams{}), cola.CodeInsufficientScope},
		{"deleted without the scope", remove(reader, created.UUID), cola.CodeInsufficientScope},
		{"an empty change", change(c, created.UUID, cola.SavedSearchChangeParams{}), cola.CodeValidation},
		{"too broad", change(c, created.UUID, broad), cola.CodeSearchTooBroad},
		{"read by another account", read(other, created.UUID), cola.CodeNotFound},
		{"changed by another account", change(other, created.UUID, setActive(false)), cola.CodeNotFound},
		{"empty change by another account", change(other, created.UUID, cola.SavedSearchChangeParams{}), cola.CodeNotFound},
		{"deleted by another account", remove(other, created.UUID), cola.CodeNotFound},
	}
	for _, id := range []string{unknown, "", "x", "preview", strings.ReplaceAll(created.UUID, "-", ""), "{" + created.UUID + "}", "urn:uuid:" + created.UUID, created.UUID + " ", created.UUID + "\x00", "\xff"} {
		for name, err := range map[string]error{"read": read(c, id), "changed": change(c, id, setActive(false)), "deleted": remove(c, id)} {
			tests = append(tests, struct {
				name string
				err  error
				want cola.Code
			}{fmt.Sprintf("%q %s", id, name), err, cola.CodeNotFound})
		}
	}
	for _, tt := range tests {
		if code(tt.err) != tt.want {
			t.Errorf("%s: error = %v, want %s", tt.name, tt.err, tt.want)
		}
	}
	if got, _, err := w.SavedSearch(t.Context(), reader, created.UUID, ""); err != nil || !cmp.Equal(got.Value, created) {
		t.Errorf("SavedSearch without a scope: %v\n%s", err, cmp.Diff(created, got.Value))
	}
	days, err := w.store.DailyUsage(t.Context(), c.Account, cola.DateOf(testNow), cola.DateOf(testNow))
	if want := 1 + 5 + 30 + 1; err != nil || requestsOf(days) != want || unitsOf(days) != 0 {
		t.Errorf("today's usage = %+v, %v, want %d free requests", days, err, want)
	}
}

func TestDeleteSavedSearch(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "delete@example.com", cola.TierPro)
	created := w.mustSave(t, c, alert("oaks")).Search
	w.mustSave(t, c, alert("elms"))
	if state, err := w.DeleteSavedSearch(t.Context(), c, created.UUID); err != nil || state.Used != (cola.Used{}) || !state.Known() {
		t.Fatalf("DeleteSavedSearch = %+v, %v", state, err)
	}
	if _, err := w.DeleteSavedSearch(t.Context(), c, created.UUID); code(err) != cola.CodeNotFound {
		t.Errorf("second deletion: error = %v, want not_found", err)
	}
	w.mustHaveSaved(t, c, "elms")
}

// TestResumeAtLimit checks that an eleventh search cannot be resumed, even by concurrent
// requests, and that an active one can still be changed at the limit.
func TestResumeAtLimit(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "resume@example.com", cola.TierPro)
	var active cola.SavedSearch
	for range cola.MaxActiveSchedules - 2 {
		active = w.mustSave(t, c, alert("active")).Search
	}
	paused := alert("paused")
	paused.Schedule.Active = cola.Some(false)
	var resumed, rejected atomic.Int64
	var wg sync.WaitGroup
	for range 10 {
		created := w.mustSave(t, c, paused).Search
		wg.Go(func() {
			_, state, err := w.ChangeSavedSearch(t.Context(), c, created.UUID, setActive(true))
			var refusal *cola.Error
			switch {
			case err == nil:
				resumed.Add(1)
			case errors.As(err, &refusal) && refusal.Code == cola.CodeWatchlistLimit && refusal.Details["limit"] == cola.MaxActiveSchedules && state.Known():
				rejected.Add(1)
			default:
				t.Errorf("resume: %+v, %v", state, err)
			}
		})
	}
	wg.Wait()
	if resumed.Load() != 2 || rejected.Load() != 8 {
		t.Errorf("resumed %d, rejected %d, want 2 and 8", resumed.Load(), rejected.Load())
	}
	changed := w.mustChange(t, c, active.UUID, cola.SavedSearchChangeParams{Schedule: &cola.ScheduleChangeParams{Day: cola.Some(6)}})
	if changed.Schedule.Day != 6 || !changed.Schedule.Active {
		t.Errorf("changed at the limit: schedule = %+v, want day 6, active", changed.Schedule)
	}
}

// TestChangeOutage checks that the error says to send the same request again if the outcome is
// unknown.
func TestChangeOutage(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "fails@example.com", cola.TierPro)
	created := w.mustSave(t, c, alert("oaks")).Search
	calls := map[string]func() (cola.QuotaState, error){
		"change": func() (cola.QuotaState, error) {
			_, state, err := w.ChangeSavedSearch(t.Context(), c, created.UUID, setActive(false))
			return state, err
		},
		"delete": func() (cola.QuotaState, error) { return w.DeleteSavedSearch(t.Context(), c, created.UUID) },
		"read": func() (cola.QuotaState, error) {
			_, _, err := w.SavedSearch(t.Context(), c, created.UUID, "")
			return cola.QuotaState{}, err
		},
		"list": func() (cola.QuotaState, error) {
			_, state, err := w.SavedSearches(t.Context(), c, cola.SavedSearchListParams{})
			return state, err
		},
	}
	w.full.Store(true)
	for name, call := range calls {
		state, err := call()
		var refusal *cola.Error
		if !errors.As(err, &refusal) || refusal.Code != cola.CodeUnavailable || refusal.RetryAfter <= 0 || state.Known() != (name != "read") {
			t.Errorf("%s = %+v, %v, want unavailable", name, state, err)
		}
		if repeat := strings.Contains(refusal.Message, "Send the same request again"); repeat != (name == "change" || name == "delete") {
			t.Errorf("%s: message = %s", name, refusal.Message)
		}
	}
	w.full.Store(false)
	w.down.Store(true)
	for name, call := range calls {
		if _, err := call(); code(err) != cola.CodeUnavailable {
			t.Errorf("%s without the ledger: error = %v, want unavailable", name, err)
		}
	}
	w.down.Store(false)
	if err := w.store.RevokeKey(t.Context(), 0, c.Credential.ID); err != nil {
		t.Fatal(err)
	}
	for name, call := range calls {
		if _, err := call(); code(err) != cola.CodeUnauthorized {
			t.Errorf("%s with a revoked key: error = %v, want unauthorized", name, err)
		}
	}
	w.mustHaveSaved(t, c, "oaks")
}

// TestPreviewMatchesSearch checks that each day's count equals the total of a search for that
// day, for any filters.
func TestPreviewMatchesSearch(t *testing.T) {
	w := mustWorld(t, 5000)
	c := w.mustCaller(t, "preview@example.com", cola.TierPro) // reads need no scope
	today, nonzero := cola.DateOf(testNow), 0
	for _, filters := range []cola.SavedSearchFilters{
		{}, {TypeWine: cola.Some(true)}, {Query: "wine"}, {BrandName: "a", ABVMin: cola.Some(12.0)}, {ApplicationStatus: "approved", ContainerCan: cola.Some(true)},
		{Country: "narnia"}, {BrandName: "!"},
	} {
		preview, state, err := w.PreviewSavedSearch(t.Context(), c, cola.PreviewParams{Filters: &filters})
		if err != nil || state.Used != (cola.Used{}) || !state.Known() || len(preview.Days) != cola.PreviewDays || preview.TooBroad == filters.Narrow() {
			t.Fatalf("PreviewSavedSearch(%+v) = %+v, %+v, %v", filters, preview, state, err)
		}
		total := 0
		for i, day := range preview.Days {
			q := filters.AsQuery()
			q.From, q.To = day.Date, day.Date
			if want := w.index.View().Search(cola.ColaSearch{Query: q}).Total; day.Count != want || day.Date != today.AddDays(-i) {
				t.Errorf("%+v, day %d = %+v, want %d labels on %s", filters, i, day, want, today.AddDays(-i))
			}
			total += day.Count
		}
		if total != preview.Total {
			t.Errorf("%+v: total = %d, but the days add up to %d", filters, preview.Total, total)
		}
		if total > 0 {
			nonzero++
		}
	}
	if nonzero < 4 {
		t.Errorf("only %d previews have matches, want at least 4", nonzero)
	}
	if got, state, err := w.PreviewSavedSearch(t.Context(), c, cola.PreviewParams{}); code(err) != cola.CodeValidation || !state.Known() || !cmp.Equal(got, cola.SavedSearchPreview{}) {
		t.Errorf("without filters: PreviewSavedSearch = %+v, %v, want validation_error", got, err)
	}
	w.down.Store(true)
	if got, _, err := w.PreviewSavedSearch(t.Context(), c, cola.PreviewParams{Filters: &cola.SavedSearchFilters{}}); code(err) != cola.CodeUnavailable || got.Days != nil {
		t.Errorf("without the ledger: PreviewSavedSearch = %+v, %v, want unavailable", got, err)
	}
}

// TestSearchBeforeIndex checks that saved search operations return the standard
// error until the index is built.
func TestSearchBeforeIndex(t *testing.T) {
	s := registry.New(registry.Options{Now: time.Now})
	caller, id := cola.Caller{Scopes: cola.Scopes()}, "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"
	errs := map[string]error{}
	_, _, errs["list"] = s.SavedSearches(t.Context(), caller, cola.SavedSearchListParams{})
	_, _, errs["read"] = s.SavedSearch(t.Context(), caller, id, "")
	_, _, errs["change"] = s.ChangeSavedSearch(t.Context(), caller, id, setActive(true))
	_, errs["delete"] = s.DeleteSavedSearch(t.Context(), caller, id)
	_, _, errs["preview"] = s.PreviewSavedSearch(t.Context(), caller, cola.PreviewParams{})
	for name, err := range errs {
		if code(err) != cola.CodeUnavailable {
			t.Errorf("%s: error = %v, want unavailable", name, err)
		}
	}
}
