package search

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// TestIndex compares the index with the reference implementation across builds, changes, renames,
// compactions and snapshots.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDraws(rapid.Uint64().Draw(rt, "seed"), 40, 40)
		h := newHarness(t, rt, d)
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			h.step()
			for range 6 {
				h.checkSearch()
				h.checkDays()
				h.checkMatches()
				h.checkPermittees()
			}
			h.checkBarcode()
		}
		h.index.Close()
	})
}

// TestLargeIndex repeats TestIndex with enough labels for every kind of posting list and more than
// one block.
func TestLargeIndex(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	d := newDraws(7, 80_000, 3000)
	h := newHarness(t, t, d)
	defer h.index.Close()
	h.commit(150_000, 8)
	h.checkMany(20)
	h.commit(3000, 3)
	h.checkMany(20)
	h.compact()
	h.restore()
	h.checkMany(20)
}

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// harness applies the same changes to an index and its reference implementation.
type harness struct {
	t        failer
	index    *Index
	registry *registry
	*draws
	dir         string
	marks       Marks
	interrupted *resumption
}

// newHarness returns a harness with an empty index. It reports failed checks to f.
func newHarness(t *testing.T, f failer, d *draws) *harness {
	return &harness{
		t: f, index: New(Options{ManualCompaction: true}), registry: newRegistry(), draws: d, dir: t.TempDir(),
	}
}

func (h *harness) step() {
	switch h.IntN(8) {
	case 0:
		h.compact()
	case 1:
		h.restore()
	case 2:
		h.commit(0, 1)
	case 3:
		h.abort()
	default:
		h.commit(h.IntN(30), h.IntN(4))
	}
}

func (h *harness) commit(labels, permittees int) {
	h.registry.words, h.registry.firstDates = nil, nil
	u := h.index.Begin()
	for range labels {
		l := h.label()
		u.Label(&l)
		h.registry.labels[l.Summary.TTBID] = &l
	}
	for range permittees {
		p := h.permittee()
		u.Permittee(&p)
		h.registry.permittees[p.PermitNumber] = p
	}
	if h.chance(20) {
		h.registry.aliases = []vocabulary.CategoryAlias{
			{Alias: "Wine > Rouge", Path: "Wine > Red Wine"},
			{Alias: "Old", Path: "Beer > Ale"},
			{Alias: "Wine > Red", Path: "Wine > Red Wine"},
		}[:h.IntN(4)]
		u.Aliases(h.registry.aliases)
	}
	if h.chance(20) {
		h.registry.areas = someAreas[:h.IntN(len(someAreas)+1)]
		u.Appellations(cola.NewAppellations(h.registry.areas))
	}
	h.marks.Labels++
	if err := u.Commit(h.marks); err != nil {
		h.t.Fatalf("Commit: %v", err)
	}
	if got := h.index.View().Marks(); got != h.marks {
		h.t.Fatalf("Marks = %+v, want %+v", got, h.marks)
	}
}

func (h *harness) checkMany(searches int) {
	for range searches {
		h.checkSearch()
		h.checkDays()
		h.checkMatches()
	}
	for range searches / 10 {
		h.checkPermittees()
		h.checkCoverage()
	}
}

func (h *harness) abort() {
	u := h.index.Begin()
	l := h.label()
	u.Label(&l)
	u.Abort()
}

func (h *harness) compact() {
	if err := h.index.Compact(context.Background()); err != nil {
		h.t.Fatalf("Compact: %v", err)
	}
	if s := h.index.View().Stats(); s.Segments > 1 || s.Tombstones > 0 {
		h.t.Fatalf("Stats after Compact = %+v, want at most one segment and no tombstones", s)
	}
}

// restore replaces the index with one restored from a snapshot.
func (h *harness) restore() {
	path := filepath.Join(h.dir, "index")
	if err := h.index.Save(path, "store"); err != nil {
		h.t.Fatalf("Save: %v", err)
	}
	h.index.Close()
	h.index = New(Options{ManualCompaction: true})
	marks, err := h.index.Restore(path, "store")
	if err != nil || marks != h.marks {
		h.t.Fatalf("Restore = %+v, %v; want %+v, nil", marks, err, h.marks)
	}
}

// checkSearch compares the total and the rows of all pages of one random search, by page number and
// by cursor.
func (h *harness) checkSearch() {
	h.t.Helper()
	s, want := h.search()
	expected := h.expected(s, want)
	if len(expected) > 500 {
		s.PerPage = 100
	}
	v := h.index.View()
	for _, byPosition := range []bool{false, true} {
		got := h.walk(v, s, byPosition, len(expected))
		if diff := cmp.Diff(expected[:min(len(expected), len(got))], got); diff != "" ||
			len(got) < min(len(expected), 1000) {
			h.t.Fatalf("Search(%+v), by position = %v: %d of %d rows (-want +got):\n%s",
				s, byPosition, len(got), len(expected), diff)
		}
		h.checkResume(s, want, got)
		if want, rows := h.registry.rows(got), v.Rows(got); !slices.Equal(want, rows) {
			h.t.Fatalf("Rows (-want +got):\n%s", cmp.Diff(want, rows))
		}
	}
}

// expected returns the labels that a search finds, in the order of the search.
func (h *harness) expected(s cola.ColaSearch, want []text.Phrase) []cola.ColaSummary {
	expected := []cola.ColaSummary{}
	for _, l := range h.registry.sorted(h.registry.search(&s.Query, want), s.Sort) {
		expected = append(expected, l.Summary)
	}
	return expected
}

// resumption is a search to resume after a label, which may have changed or disappeared by then.
type resumption struct {
	search cola.ColaSearch
	want   []text.Phrase
	last   cola.ColaSummary
}

// checkResume resumes an earlier search where it stopped, even if the index has changed since, and
// may keep s to resume later.
func (h *harness) checkResume(s cola.ColaSearch, want []text.Phrase, rows []cola.ColaSummary) {
	h.t.Helper()
	if earlier := h.interrupted; earlier != nil {
		s := earlier.search
		all := h.expected(s, earlier.want)
		rest := slices.DeleteFunc(slices.Clone(all),
			func(l cola.ColaSummary) bool { return h.registry.compare(&l, &earlier.last, s.Sort) <= 0 })
		s.CursorMode, s.After = true, PositionOf(&earlier.last, s.Sort)
		got := h.index.View().Search(s)
		if diff := cmp.Diff(rest[:min(s.PerPage, len(rest))], got.Rows); diff != "" || got.Total != len(all) || got.HasMore != (len(rest) > s.PerPage) {
			h.t.Fatalf("Search(%+v): total %d, want %d (-want +got):\n%s", s, got.Total, len(all), diff)
		}
		h.interrupted = nil
	}
	if len(rows) > 0 && h.chance(30) {
		h.interrupted = &resumption{s, want, rows[h.IntN(len(rows))]}
	}
}

// checkDays compares the daily counts of one random search.
func (h *harness) checkDays() {
	h.t.Helper()
	s, phrases := h.search()
	s.To = cola.NewDate(2024, 1, 1) + cola.Date(h.IntN(620))
	s.From = s.To.AddDays(-h.IntN(60))
	want := make([]int, s.To-s.From+1)
	for _, l := range h.registry.search(&s.Query, phrases) {
		want[s.To-effective(&l.Summary)]++
	}
	if diff := cmp.Diff(want, h.index.View().CountByDay(s.Query)); diff != "" {
		h.t.Fatalf("CountByDay(%+v), latest first (-want +got):\n%s", s.Query, diff)
	}
}

// TestRowsMissingLabel checks that Rows returns the given summary for a label that no longer
// exists.
func TestRowsMissingLabel(t *testing.T) {
	label := cola.ColaSummary{TTBID: 11054001000049, BrandName: "GONE", PermitNumber: "CA-W-1"}
	want := []cola.ColaRow{{ColaSummary: label}}
	if diff := cmp.Diff(want, New(Options{ManualCompaction: true}).View().Rows([]cola.ColaSummary{label})); diff != "" {
		t.Errorf("Rows (-want +got):\n%s", diff)
	}
}

// TestCountByDayEmptyWindow checks that a window that ends before it starts has no days.
func TestCountByDayEmptyWindow(t *testing.T) {
	day := cola.NewDate(2024, 1, 1)
	for days := range 3 {
		q := cola.Query{From: day.AddDays(days), To: day}
		got := New(Options{ManualCompaction: true}).View().CountByDay(q)
		if want := max(0, 1-days); len(got) != want {
			t.Errorf("CountByDay(window starts %d days after its end) = %v, want %d days", days, got, want)
		}
	}
}

// walk returns the rows of all pages, or of the first pages of a very long result.
func (h *harness) walk(v *View, s cola.ColaSearch, byPosition bool, total int) []cola.ColaSummary {
	h.t.Helper()
	rows := []cola.ColaSummary{}
	for {
		page := v.Search(s)
		if page.Total != total {
			h.t.Fatalf("Search(%+v): Total = %d, want %d", s, page.Total, total)
		}
		rows = append(rows, page.Rows...)
		if page.HasMore != (len(rows) < total) || len(page.Rows) != min(s.PerPage, total-len(rows)+len(page.Rows)) {
			h.t.Fatalf("Search(%+v): %d rows, HasMore = %v, after %d of %d",
				s, len(page.Rows), page.HasMore, len(rows), total)
		}
		if !page.HasMore || len(rows) >= 1000 {
			return rows
		}
		s.Page++
		s.CursorMode = byPosition
		if byPosition {
			s.After = page.Next
		}
	}
}

func (h *harness) checkPermittees() {
	h.t.Helper()
	s := h.permitteeSearch()
	want := h.registry.permitteeList(&s)
	first := min((s.Page-1)*s.PerPage, len(want))
	last := min(first+s.PerPage, len(want))
	got := h.index.View().Permittees(s)
	expected := PermitteePage{
		Rows:    append([]cola.PermitteeSummary{}, want[first:last]...),
		Total:   len(want),
		HasMore: last < len(want),
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		h.t.Fatalf("Permittees(%+v) (-want +got):\n%s", s, diff)
	}
	for _, p := range got.Rows {
		h.checkPermittee(p, s.Today)
	}
}

func (h *harness) checkPermittee(p cola.PermitteeSummary, today cola.Date) {
	h.t.Helper()
	want := cola.PermitteeDetail{PermitteeSummary: p, RecentColas: []cola.ColaSummary{}}
	for _, l := range h.registry.search(&cola.Query{PermitNumber: p.PermitNumber}, nil) {
		if len(want.RecentColas) < 3 {
			want.RecentColas = append(want.RecentColas, l.Summary)
		}
	}
	got, ok := h.index.View().Permittee(p.PermitNumber, today, 3)
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		h.t.Fatalf("Permittee(%s): ok = %v, want true (-want +got):\n%s", p.PermitNumber, ok, diff)
	}
}

func (h *harness) checkBarcode() {
	h.t.Helper()
	value := h.barcode()
	var want []cola.ColaSummary
	for _, l := range h.registry.search(&cola.Query{}, nil) {
		if slices.ContainsFunc(l.Barcodes,
			func(b cola.IndexBarcode) bool { return vocabulary.SameBarcode(b.Value, value) }) {
			want = append(want, l.Summary)
		}
	}
	got, ok := h.index.View().Barcode(value, 4)
	if ok != (len(want) > 0) || got.TotalColas != len(want) {
		h.t.Fatalf("Barcode(%q): ok = %v, TotalColas = %d; want %d", value, ok, got.TotalColas, len(want))
	}
	if diff := cmp.Diff(want[:min(4, len(want))], got.Colas); diff != "" {
		h.t.Fatalf("Barcode(%q) (-want +got):\n%s", value, diff)
	}
}
