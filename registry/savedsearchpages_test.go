package registry_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// onDashboard returns a caller as it comes from the dashboard.
func onDashboard(c cola.Caller) cola.Caller {
	c.Channel = cola.ChannelDashboard
	return c
}

// TestPreviewWithLabels: the labels are the first of those that are counted, and there is no charge for them.
func TestPreviewWithLabels(t *testing.T) {
	w := mustWorld(t, 2000)
	c := w.mustWriter(t, "page@example.com", cola.TierPro)
	p := cola.PreviewParams{Filters: &cola.SavedSearchFilters{TypeWine: cola.Some(true), TypeMaltBeverage: cola.Some(true)}}
	counted, _, err := w.PreviewSavedSearch(t.Context(), c, p)
	if err != nil || counted.Total < 6 {
		t.Fatalf("%d labels are counted, %v; too few to try this", counted.Total, err)
	}
	for most, want := range map[int]int{-1: 0, 0: 0, 2: 2, 1000: 5} {
		page, state, err := w.PreviewLabels(t.Context(), onDashboard(c), p, most)
		if err != nil || state.Used != (cola.Used{}) || len(page.Labels) != want {
			t.Errorf("of %d asked for there are %d labels, %+v used, %v; want %d", most, len(page.Labels), state.Used, err, want)
		}
		if diff := cmp.Diff(counted, page.SavedSearchPreview); diff != "" {
			t.Errorf("the counts differ (-want +got):\n%s", diff)
		}
		for _, l := range page.Labels {
			if l.ProductType == cola.DistilledSpirits || l.ApprovalDate < counted.Days[cola.PreviewDays-1].Date {
				t.Errorf("%s is not counted", l.TTBID)
			}
		}
	}
	_, _, err = w.PreviewLabels(t.Context(), onDashboard(c), cola.PreviewParams{}, 5)
	if cola.CodeOf(err) != cola.CodeValidation {
		t.Errorf("without filters: %v", err)
	}
}

// TestLabelsForPagesAlone: elsewhere labels cost list records, so the answers that show them for free are refused there.
func TestLabelsForPagesAlone(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "elsewhere@example.com", cola.TierPro)
	id := w.mustSave(t, c, alert("Oaks")).Search.UUID
	w.mustRun(t, 1)
	for _, channel := range []cola.Channel{cola.ChannelREST, cola.ChannelMCP, ""} {
		c.Channel = channel
		_, state, err := w.PreviewLabels(t.Context(), c, cola.PreviewParams{Filters: &cola.SavedSearchFilters{}}, 5)
		if cola.CodeOf(err) != cola.CodeForbidden || !state.Known() {
			t.Errorf("%q: a preview: %v", channel, err)
		}
		if _, _, err := w.RunLabels(t.Context(), c, id, "1", cola.SavedSearchListParams{}); cola.CodeOf(err) != cola.CodeForbidden {
			t.Errorf("%q: a run: %v", channel, err)
		}
	}
}

// TestLabelsOfARun: as far as messages show the labels of a run, and the registry has them, they are told.
func TestLabelsOfARun(t *testing.T) {
	w := mustWorld(t, 300)
	c := onDashboard(w.mustWriter(t, "runs@example.com", cola.TierPro))
	id := w.mustSave(t, c, alert("Oaks")).Search.UUID
	due, err := w.store.ClaimDue(t.Context(), instant.AddDate(0, 0, 7), 1, time.Minute)
	if err != nil || len(due) != 1 {
		t.Fatalf("%v, %v", due, err)
	}
	record := store.RunRecord{Due: due[0], Mark: store.Mark{At: instant.AddDate(0, 0, 7), Revision: due[0].Mark.Revision}, From: cola.DateOf(instant), To: cola.DateOf(instant) + 7}
	known, _, err := w.SearchColas(t.Context(), c, cola.SearchParams{PerPage: cola.Some(100), ApprovalDateFrom: 1})
	if err != nil || len(known.Colas) != 100 {
		t.Fatalf("%d labels, %v", len(known.Colas), err)
	}
	for _, l := range known.Colas {
		record.Matches = append(record.Matches, store.RunMatch{TTBID: l.TTBID})
	}
	const gone = cola.TTBID(1) // comes first, by id
	more, _, err := w.SearchColas(t.Context(), c, cola.SearchParams{PerPage: cola.Some(20), Page: cola.Some(6), ApprovalDateFrom: 1})
	if err != nil || len(more.Colas) != 20 {
		t.Fatalf("%d labels, %v", len(more.Colas), err)
	}
	for _, l := range more.Colas {
		record.Matches = append(record.Matches, store.RunMatch{TTBID: l.TTBID})
	}
	record.Matches = append(record.Matches, store.RunMatch{TTBID: gone, Late: true})
	if _, err := w.store.RecordRuns(t.Context(), []store.RunRecord{record}); err != nil {
		t.Fatal(err)
	}
	told := 0
	for page := 1; page <= 7; page++ {
		list, state, err := w.RunLabels(t.Context(), c, id, "1", cola.SavedSearchListParams{Page: cola.Some(page)})
		if err != nil || state.Used.ListRecords != 120 || list.Meta.Total != 121 {
			t.Fatalf("%+v, %+v used, %v", list.Meta, state.Used, err)
		}
		for i, l := range list.Rows {
			place := (page-1)*20 + i
			if want := place < 100 && l.TTBID != gone; (l.Label != nil) != want || want && l.Label.TTBID != l.TTBID {
				t.Errorf("label %d, %s, is told as %+v", place, l.TTBID, l.Label)
			}
			if l.Label != nil {
				told++
			}
		}
	}
	if told != 99 {
		t.Errorf("%d labels are told", told)
	}
	other := onDashboard(w.mustWriter(t, "other@example.com", cola.TierPro))
	if _, _, err := w.RunLabels(t.Context(), other, id, "1", cola.SavedSearchListParams{}); cola.CodeOf(err) != cola.CodeNotFound {
		t.Errorf("another account: %v", err)
	}
}

func TestSearchRoll(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "roll@example.com", cola.TierPro)
	other := w.mustWriter(t, "other@example.com", cola.TierPro)
	w.mustSave(t, other, alert("Of another account"))
	var names []string
	for i := range 3 {
		made := w.mustSave(t, c, alert(fmt.Sprint("Search ", i))).Search
		names = append(names, made.UUID+" "+made.Name)
		w.advance(time.Second)
	}
	kept := w.mustSave(t, c, cola.SavedSearchParams{Name: "Kept", Filters: &cola.SavedSearchFilters{}}).Search
	names = append(names, kept.UUID+" Kept")
	w.mustChange(t, c, names[0][:36], setActive(false))
	roll, state, err := w.SearchRoll(t.Context(), c)
	if err != nil || !state.Known() || state.Used != (cola.Used{}) || roll.Active != 2 {
		t.Errorf("%d are active, %+v, %v", roll.Active, state, err)
	}
	var got []string
	for _, s := range roll.Names {
		got = append(got, s.UUID+" "+s.Name)
	}
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.full.Store(true)
	if _, _, err := w.SearchRoll(t.Context(), c); cola.CodeOf(err) != cola.CodeUnavailable {
		t.Errorf("without a database: %v", err)
	}
}
