package registry_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// onDashboard returns the caller with the dashboard channel.
func onDashboard(c cola.Caller) cola.Caller {
	c.Channel = cola.ChannelDashboard
	return c
}

// TestPreviewWithLabels checks that a preview returns the first counted labels free of charge.
func TestPreviewWithLabels(t *testing.T) {
	w := mustWorld(t, 2000)
	c := w.mustWriter(t, "page@example.com", cola.TierPro)
	p := cola.PreviewParams{Filters: &cola.SavedSearchFilters{TypeWine: cola.Some(true), TypeMaltBeverage: cola.Some(true)}}
	counted, _, err := w.PreviewSavedSearch(t.Context(), c, p)
	if err != nil || counted.Total < 6 {
		t.Fatalf("preview counts %d labels, %v, too few for this test", counted.Total, err)
	}
	for limit, want := range map[int]int{-1: 0, 0: 0, 2: 2, 1000: 5} {
		page, state, err := w.PreviewLabels(t.Context(), onDashboard(c), p, limit)
		if err != nil || state.Used != (cola.Used{}) || len(page.Labels) != want {
			t.Errorf("limit %d: %d labels, used %+v, %v, want %d", limit, len(page.Labels), state.Used, err, want)
		}
		if diff := cmp.Diff(counted, page.SavedSearchPreview); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		for _, l := range page.Labels {
			if l.ProductType == vocabulary.DistilledSpirits || l.ApprovalDate < counted.Days[cola.PreviewDays-1].Date {
				t.Errorf("%s does not match the preview", l.TTBID)
			}
		}
	}
	_, _, err = w.PreviewLabels(t.Context(), onDashboard(c), cola.PreviewParams{}, 5)
	if cola.CodeOf(err) != cola.CodeValidation {
		t.Errorf("without filters: error = %v, want validation_error", err)
	}
}

// TestPreviewLabelsChannel checks that previews and runs name labels only in the dashboard.
func TestPreviewLabelsChannel(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "elsewhere@example.com", cola.TierPro)
	id := w.mustSave(t, c, alert("Oaks")).Search.UUID
	w.mustRun(t, 1)
	for _, channel := range []cola.Channel{cola.ChannelREST, cola.ChannelMCP, ""} {
		c.Channel = channel
		_, state, err := w.PreviewLabels(t.Context(), c, cola.PreviewParams{Filters: &cola.SavedSearchFilters{}}, 5)
		if cola.CodeOf(err) != cola.CodeForbidden || !state.Known() {
			t.Errorf("%q: PreviewLabels: error = %v, want forbidden", channel, err)
		}
		if _, _, err := w.RunLabels(t.Context(), c, id, "1", cola.SavedSearchListParams{}); cola.CodeOf(err) != cola.CodeForbidden {
			t.Errorf("%q: RunLabels: error = %v, want forbidden", channel, err)
		}
	}
}

// mustRecordWithDeleted records a run one week after testNow. Its matches are labels in the
// registry and one deleted label, which comes first by ID.
func (w *world) mustRecordWithDeleted(t *testing.T, c cola.Caller, labels int) {
	t.Helper()
	at := testNow.AddDate(0, 0, 7)
	due, err := w.store.ClaimDue(t.Context(), at, 1, time.Minute)
	if err != nil || len(due) != 1 {
		t.Fatalf("due searches = %v, %v", due, err)
	}
	record := store.RunRecord{Due: due[0], Mark: store.Mark{At: at, Revision: due[0].Mark.Revision}, From: cola.DateOf(testNow), To: cola.DateOf(at)}
	record.Matches = []store.RunMatch{{TTBID: 1, Late: true}}
	for _, l := range w.newest(t, c, cola.SearchParams{PerPage: cola.Some(labels), ApprovalDateFrom: 1}) {
		record.Matches = append(record.Matches, store.RunMatch{TTBID: l.TTBID})
	}
	if _, err := w.store.RecordRuns(t.Context(), []store.RunRecord{record}); err != nil || len(record.Matches) != labels+1 {
		t.Fatalf("RecordRuns with %d matches: %v", len(record.Matches), err)
	}
}

// TestRunLabels checks that a run's labels cost list records each time they are returned.
func TestRunLabels(t *testing.T) {
	w := mustWorld(t, 300)
	c := onDashboard(w.mustWriter(t, "runs@example.com", cola.TierPro))
	id := w.mustSave(t, c, alert("Oaks")).Search.UUID
	w.mustRecordWithDeleted(t, c, 44)
	spent := 44 // charged by the search
	for page, rows := range []int{20, 20, 5, 0} {
		list, state, err := w.RunLabels(t.Context(), c, id, "1", cola.SavedSearchListParams{Page: cola.Some(page + 1)})
		spent += rows
		if err != nil || state.Used.ListRecords != spent || list.Meta.Total != 45 || len(list.Rows) != rows {
			t.Fatalf("RunLabels = %+v, used %+v, %v, want %d rows and %d list records", list.Meta, state.Used, err, rows, spent)
		}
		for i, l := range list.Rows {
			if gone := page == 0 && i == 0; (l.Label == nil) != gone || !gone && l.Label.TTBID != l.TTBID {
				t.Errorf("page %d: label of %s = %+v", page+1, l.TTBID, l.Label)
			}
		}
	}
	other := onDashboard(w.mustWriter(t, "other@example.com", cola.TierPro))
	if _, state, err := w.RunLabels(t.Context(), other, id, "1", cola.SavedSearchListParams{}); cola.CodeOf(err) != cola.CodeNotFound || state.Used != (cola.Used{}) {
		t.Errorf("another account: error = %v, used %+v, want a free 404", err, state.Used)
	}
}

// TestRunRecord checks that reading a run, including its match count, is free.
func TestRunRecord(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "run@example.com", cola.TierPro), w.mustWriter(t, "other@example.com", cola.TierPro)
	id := w.mustSave(t, c, alert("Oaks")).Search.UUID
	w.mustRun(t, 3)
	run, state, err := w.SavedSearchRun(t.Context(), c, id, "1")
	if err != nil || run.MatchCount != 3 || !state.Known() || state.Used != (cola.Used{}) {
		t.Errorf("SavedSearchRun = %+v, %+v, %v, want 3 matches, no charge", run, state, err)
	}
	for _, k := range []struct {
		caller  cola.Caller
		id, run string
	}{{other, id, "1"}, {c, id, "2"}, {c, id, "01"}, {c, "nonsense", "1"}} {
		if _, _, err := w.SavedSearchRun(t.Context(), k.caller, k.id, k.run); cola.CodeOf(err) != cola.CodeNotFound {
			t.Errorf("run %s of %s: error = %v, want not_found", k.run, k.id, err)
		}
	}
}

// TestPreviewLabelLimit checks that an account's previews name a limited number of distinct labels
// per UTC day, however the labels are split among previews, and still return counts beyond the
// limit.
func TestPreviewLabelLimit(t *testing.T) {
	w := mustWorld(t, 0)
	c := onDashboard(w.mustWriter(t, "previews@example.com", cola.TierFree))
	const brands, each = 40, 3
	var labels []cola.Cola
	for n := range brands * each {
		labels = append(labels, bottle(cola.TTBID(26001001000001+n), fmt.Sprintf("BRAND %02d", n/each), cola.DateOf(testNow)))
	}
	w.mustImport(t, store.Commit, labels...)
	preview := func(brand int) registry.PreviewPage {
		t.Helper()
		p := cola.PreviewParams{Filters: &cola.SavedSearchFilters{BrandName: fmt.Sprintf("brand %02d", brand)}}
		page, state, err := w.PreviewLabels(t.Context(), c, p, 5)
		if err != nil || state.Used != (cola.Used{}) || page.Total != each {
			t.Fatalf("brand %d: %d labels, used %+v, %v", brand, page.Total, state.Used, err)
		}
		return page
	}
	for range 2 { // labels that were already named do not count again
		named := 0
		for n := range brands {
			page := preview(n)
			want, withheld := min(each, cola.MaxDailyPreviewLabels-named), ""
			if want < each {
				withheld = registry.WithheldDailyLimit
			}
			named += len(page.Labels)
			if len(page.Labels) != want || page.Withheld != withheld {
				t.Errorf("brand %d: %d labels, withheld = %q, want %d, %q", n, len(page.Labels), page.Withheld, want, withheld)
			}
		}
	}
	w.full.Store(true)
	if page := preview(0); len(page.Labels) > 0 || page.Withheld != registry.WithheldUnavailable {
		t.Errorf("database unavailable: %d labels, withheld = %q", len(page.Labels), page.Withheld)
	}
	w.full.Store(false)
	w.advance(24 * time.Hour)
	if page := preview(brands - 1); len(page.Labels) != each || page.Withheld != "" {
		t.Errorf("after a day: %d labels, withheld = %q", len(page.Labels), page.Withheld)
	}
}

func TestSavedSearchNames(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "roll@example.com", cola.TierPro)
	other := w.mustWriter(t, "other@example.com", cola.TierPro)
	w.mustSave(t, other, alert("Another account's"))
	var names []string
	for i := range 3 {
		created := w.mustSave(t, c, alert(fmt.Sprint("Search ", i))).Search
		names = append(names, created.UUID+" "+created.Name)
		w.advance(time.Second)
	}
	stored := w.mustSave(t, c, cola.SavedSearchParams{Name: "Kept", Filters: &cola.SavedSearchFilters{}}).Search
	names = append(names, stored.UUID+" Kept")
	w.mustChange(t, c, names[0][:36], setActive(false))
	list, state, err := w.SavedSearchNames(t.Context(), c)
	if err != nil || !state.Known() || state.Used != (cola.Used{}) || list.Active != 2 {
		t.Errorf("active = %d, state = %+v, %v", list.Active, state, err)
	}
	var got []string
	for _, s := range list.Names {
		got = append(got, s.UUID+" "+s.Name)
	}
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	w.full.Store(true)
	if _, _, err := w.SavedSearchNames(t.Context(), c); cola.CodeOf(err) != cola.CodeUnavailable {
		t.Errorf("database unavailable: error = %v, want unavailable", err)
	}
}
