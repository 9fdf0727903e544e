package alerts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// world simulates a registry under random events, including during ticks. Labels arrive, on time or
// late, and change. Searches are created, changed, paused and deleted. Processes tick concurrently,
// fail and die. Time passes.
type world struct {
	*rapid.T
	store    *fakeStore
	searches int
	inside   int // number of ticks in progress, including nested ones
	quiet    bool
	changed  map[string]bool // searches whose filters were changed
}

// killed is the panic value of a tick whose process is killed.
type killed struct{}

const hold = 2 * time.Minute

func TestEveryLabelExactlyOnce(t *testing.T) {
	for range 10 { // some failures need a rare sequence of events
		rapid.Check(t, checkExactlyOnce)
	}
}

func checkExactlyOnce(t *rapid.T) {
	w := &world{T: t, store: newFakeStore(at(3, 1, 0)), changed: map[string]bool{}}
	w.store.before = func(string) error { return w.during("before") }
	w.store.after = func(string) error { return w.during("after") }
	w.save()
	for range rapid.IntRange(1, 60).Draw(t, "events") {
		w.event()
	}
	w.settle()
	w.checkRuns()
	w.checkNoneMissed()
}

func (w *world) chance(percent int, label string) bool {
	return rapid.IntRange(0, 99).Draw(w.T, label) < percent
}

// event applies a random event.
func (w *world) event() {
	switch rapid.IntRange(0, 9).Draw(w.T, "event") {
	case 0, 1, 2:
		w.write()
	case 3:
		w.save()
	case 4:
		w.change()
	case 5:
		w.advance(time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(w.T, "passes")))
	case 6:
		// Advance the clock to within 90 seconds (the maximum clock difference) of a due time,
		// occasionally after a long outage.
		days := rapid.SampledFrom([]int{0, 1, 1, 1, 7, 100}).Draw(w.T, "days")
		due := cola.Schedule{Cadence: cola.CadenceDaily}.Next(w.store.clock).AddDate(0, 0, days)
		w.advance(due.Sub(w.store.clock) + time.Duration(rapid.IntRange(-90, 90).Draw(w.T, "about"))*time.Second)
	default:
		w.tick()
	}
}

// during applies events between two steps of a tick. It may fail the step or kill the process.
func (w *world) during(when string) error {
	if w.quiet || !w.chance(30, when) {
		return nil
	}
	for range rapid.IntRange(0, 2).Draw(w.T, "amid") {
		if w.inside < 3 {
			w.event()
		}
	}
	switch rapid.IntRange(0, 9).Draw(w.T, "fate") {
	case 0:
		return fmt.Errorf("%w: no connection", store.ErrUnavailable)
	case 1:
		panic(killed{})
	case 2:
		w.advance(hold)
	}
	return nil
}

func (w *world) advance(d time.Duration) { w.store.clock = w.store.clock.Add(d) }

// tick runs a tick of a process whose clock differs from the database's.
func (w *world) tick() {
	w.inside++
	defer func() {
		w.inside--
		if p := recover(); p != nil && p != any(killed{}) {
			panic(p)
		}
	}()
	skew := time.Duration(0)
	if !w.quiet {
		skew = time.Duration(rapid.IntRange(-90, 90).Draw(w.T, "ahead")) * time.Second
	}
	runner := New(Options{Store: w.store, Hold: hold, Batch: rapid.IntRange(1, 3).Draw(w.T, "batch")})
	_, err := runner.Tick(w.Context(), w.store.clock.Add(skew))
	if w.quiet && err != nil {
		w.Fatal(err)
	}
}

var brands = []string{"OAK", "OAK HILL", "ELM"}

// write writes a new or existing label, with a known approval date, an estimated one, or none.
func (w *world) write() {
	id := cola.TTBID(26001001000000 + rapid.Int64Range(1, 12).Draw(w.T, "label"))
	label := cola.IndexRecord{Summary: cola.ColaSummary{
		TTBID: id, PermitNumber: "CA-W-1", ProductType: vocabulary.Wine,
		BrandName: rapid.SampledFrom(brands).Draw(w.T, "brand"),
	}}
	if l := w.store.labels[id]; l != nil {
		s, _ := l.latest(w.store.revision)
		label.Summary.ApprovalDate = s.label.Summary.ApprovalDate
		label.Summary.SetEstimate(s.label.Summary.ApprovalDateEstimate)
	}
	day := func() cola.Date {
		return cola.DateOf(w.store.clock).AddDays(rapid.IntRange(-100, 3).Draw(w.T, "approved"))
	}
	if label.Summary.EffectiveDate() == 0 && w.chance(40, "estimated") {
		label.Summary.SetEstimate(day())
	}
	if label.Summary.ApprovalDate == 0 && w.chance(60, "dated") || w.chance(5, "redated") {
		label.Summary.ApprovalDate = day()
		label.Summary.SetEstimate(0)
	}
	w.store.write(label, w.chance(15, "history"))
}

func (w *world) save() {
	w.searches++
	schedule := rapid.SampledFrom([]cola.Schedule{
		{Cadence: cola.CadenceDaily}, {Cadence: cola.CadenceDaily},
		{Cadence: cola.CadenceWeekly, Day: 1}, {Cadence: cola.CadenceMonthly, Day: 5},
	}).Draw(w.T, "schedule")
	w.store.save(fmt.Sprint("search ", w.searches), w.filters(), schedule)
}

func (w *world) filters() cola.SavedSearchFilters {
	return cola.SavedSearchFilters{BrandName: rapid.SampledFrom([]string{"oak", "hill", "elm", "l"}).Draw(w.T, "part")}
}

// change changes, pauses, resumes or deletes a search, or requests a run.
func (w *world) change() {
	uuid := fmt.Sprint("search ", rapid.IntRange(1, w.searches).Draw(w.T, "search"))
	if w.store.searches[uuid] == nil {
		return
	}
	switch rapid.IntRange(0, 5).Draw(w.T, "change") {
	case 0:
		w.store.remove(uuid)
	case 5:
		w.store.request(uuid)
	case 1:
		w.changed[uuid] = true
		w.store.update(uuid, func(s *cola.SavedSearch) { s.Filters = w.filters() })
	default:
		w.store.update(uuid, func(s *cola.SavedSearch) { s.Schedule.Active = !s.Schedule.Active })
	}
}

// settle runs every remaining search once more, without faults.
func (w *world) settle() {
	w.quiet = true
	for uuid := range w.store.searches {
		w.store.update(uuid, func(s *cola.SavedSearch) { s.Schedule.Active = true })
	}
	w.advance(40 * 24 * time.Hour)
	w.tick()
	for uuid, s := range w.store.searches {
		if s.mark.Revision != w.store.revision || !s.claimedUntil.IsZero() {
			w.Fatalf("%s: mark = %d, want %d; claimed until %v", uuid, s.mark.Revision, w.store.revision, s.claimedUntil)
		}
	}
}

// checkRuns recomputes the matches of every run from the labels at the revision that the run read,
// and compares them.
func (w *world) checkRuns() {
	seen := map[string]bool{}
	for _, r := range w.store.recorded {
		from, to := cola.DateOf(r.before.At), cola.DateOf(r.Mark.At)
		if r.From != from || r.To != to || r.Mark.At.Before(r.before.At) || r.Mark.Revision < r.before.Revision ||
			r.Due.Mark != r.before {
			w.Fatalf("%s: inconsistent run from %v to %v, mark %+v after %+v", r.Due.Search.UUID, r.From, r.To, r.Mark, r.before)
		}
		var want []string
		for id, l := range w.store.labels {
			s, ok := l.latest(r.Mark.Revision)
			d := s.label.Summary.EffectiveDate()
			late := d < from && d >= from-90 && s.arrived > r.before.Revision
			key := fmt.Sprint(r.Due.Search.UUID, id)
			if !ok || s.arrived == 0 || !meets(&s, r.Due.Search.Filters) || !late && (d < from || d > to) || seen[key] {
				continue
			}
			seen[key] = true
			want = append(want, fmt.Sprint(id, late))
		}
		var got []string
		for _, m := range r.new {
			got = append(got, fmt.Sprint(m.TTBID, m.Late))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			w.Fatalf("%s, %+v, mark %+v after %+v: found %v, want %v",
				r.Due.Search.UUID, r.Due.Search.Filters, r.Mark, r.before, got, want)
		}
	}
}

// checkNoneMissed checks the promise to users, with a margin (docs/ALERTS.md says 90 days): a
// search has found every label that arrived after the search was created and within 60 days of
// approval, but no bulk-loaded history.
func (w *world) checkNoneMissed() {
	for uuid, s := range w.store.searches {
		for id, l := range w.store.labels {
			if l.history && s.seen[id] {
				w.Fatalf("%s: found historical label %v", uuid, id)
			}
			if w.changed[uuid] || l.arrived <= s.since || !l.alwaysMatched(s.search.Filters) {
				continue
			}
			if approved := l.approved(); approved >= cola.DateOf(l.arrivedAt)-60 && !s.seen[id] {
				w.Fatalf("%s: %+v missed %v, approved %v, arrived at %d",
					uuid, s.search.Filters, id, approved, l.arrived)
			}
		}
	}
}

// alwaysMatched reports whether the label has matched the filters ever since its arrival.
func (l *fakeLabel) alwaysMatched(f cola.SavedSearchFilters) bool {
	return !slices.ContainsFunc(l.states, func(s fakeState) bool { return s.arrived != 0 && !meets(&s, f) })
}

// approved returns the label's effective date, or zero if it has changed since the label's arrival.
func (l *fakeLabel) approved() cola.Date {
	day := l.states[len(l.states)-1].label.Summary.EffectiveDate()
	for _, s := range l.states {
		if s.arrived != 0 && s.label.Summary.EffectiveDate() != day {
			return 0
		}
	}
	return day
}

func meets(s *fakeState, f cola.SavedSearchFilters) bool {
	return strings.Contains(strings.ToLower(s.label.Summary.BrandName), f.BrandName)
}
