package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testEstimates(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"estimated date", estimatedDate},
		{"known date replaces the estimate", knownDateReplacesEstimate},
		{"known processing times", knownProcessingTimes},
		{"arrival with an estimate", arrivalWithEstimate},
		{"arrival of a label without a plausible ID", arrivalWithoutEstimate},
	})
}

// receivedID is the ID of a label received on receivedOn.
const receivedID cola.TTBID = 26311001000123

var receivedOn = cola.NewDate(2026, time.November, 7)

// completedLabel returns a label with a receipt date, but without an approval date. A zero
// completion date means unknown.
func completedLabel(completed cola.Date) cola.Cola {
	c := label(0)
	c.TTBID, c.LatestUpdateDate = receivedID, completed
	return c
}

// checkEstimate checks a label's stored estimate and its dates in records and in the index.
func checkEstimate(t *testing.T, st store.Store, desc string, approved, estimate, shown cola.Date) {
	t.Helper()
	c := mustCola(t, st, receivedID)
	checkEqual(t, desc+": approval date", approved, c.ApprovalDate)
	checkEqual(t, desc+": stored estimate", estimate, c.DateEstimate)
	all, _ := indexRecords(t, st, 0)
	for _, s := range []cola.ColaSummary{c.ColaSummary, all[receivedID].Summary} {
		checkEqual(t, desc+": estimate", shown, s.ApprovalDateEstimate)
		checkEqual(t, desc+": date is estimated", shown != 0, s.DateIsEstimated)
	}
}

func estimatedDate(t *testing.T, st store.Store, _ *clock) {
	mustAddColas(t, st, completedLabel(0))
	checkEstimate(t, st, "not completed", 0, receivedOn.AddDays(20), receivedOn.AddDays(20))
	for _, completed := range []cola.Date{receivedOn.AddDays(6), receivedOn.AddDays(5)} {
		before := mustRevision(t, st)
		mustWriteColas(t, st, store.Commit, completedLabel(completed))
		checkEstimate(t, st, "completed", 0, completed, completed)
		if mustRevision(t, st) == before {
			t.Error("revision after a new estimate is unchanged, want a later one")
		}
	}
	for _, days := range []int{5, 9, 400} {
		completed := receivedOn.AddDays(days)
		mustWriteColas(t, st, store.Commit, completedLabel(completed))
		checkEstimate(t, st, "completed again", 0, receivedOn.AddDays(5), receivedOn.AddDays(5))
		checkEqual(t, "outcome of the same label", []store.Outcome{store.Unchanged},
			mustWriteColas(t, st, store.Commit, completedLabel(completed)))
	}
}

func knownDateReplacesEstimate(t *testing.T, st store.Store, _ *clock) {
	c := completedLabel(receivedOn.AddDays(5))
	mustAddColas(t, st, c)
	c.ApprovalDate = receivedOn.AddDays(3)
	mustWriteColas(t, st, store.Commit, c)
	checkEstimate(t, st, "known date", c.ApprovalDate, receivedOn.AddDays(5), 0)
	c.ApprovalDate = 0
	mustWriteColas(t, st, store.Commit, c)
	checkEstimate(t, st, "cleared date", 0, receivedOn.AddDays(5), receivedOn.AddDays(5))
}

func knownProcessingTimes(t *testing.T, st store.Store, _ *clock) {
	_, err := st.UpsertProcessingTimes(t.Context(), []cola.ProcessingTime{
		{Commodity: "Wine", SnapshotDate: receivedOn.AddDays(-7), TurnaroundDaysMedian: cola.Some(4)},
		{Commodity: "Wine", SnapshotDate: receivedOn.AddDays(1), TurnaroundDaysMedian: cola.Some(9)},
		{Commodity: "Malt Beverage", SnapshotDate: receivedOn, TurnaroundDaysMedian: cola.Some(11)},
	}, store.Commit)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []store.Mode{store.DryRun, store.Commit} {
		checkEqual(t, "outcome", []store.Outcome{store.Added}, mustWriteColas(t, st, mode, completedLabel(0)))
	}
	checkEstimate(t, st, "with processing times", 0, receivedOn.AddDays(4), receivedOn.AddDays(4))
	_, err = st.UpsertProcessingTimes(t.Context(), []cola.ProcessingTime{
		{Commodity: "Wine", SnapshotDate: receivedOn, TurnaroundDaysMedian: cola.Some(6)},
	}, store.Commit)
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "outcome after other processing times", []store.Outcome{store.Unchanged},
		mustWriteColas(t, st, store.Commit, completedLabel(0)))
}

func arrivalWithEstimate(t *testing.T, st store.Store, clock *clock) {
	c := completedLabel(receivedOn.AddDays(5))
	mustAddColas(t, st, c)
	at := map[cola.TTBID]cola.Revision{receivedID: mustRevision(t, st)}
	check := func(desc string, date cola.Date) {
		t.Helper()
		checkArrived(t, st, desc, at)
		since, _ := arrivals(t, st, date)
		checkEqual(t, desc+": arrivals since the date", at, since)
		later, _ := arrivals(t, st, date.AddDays(1))
		checkEqual(t, desc+": arrivals since the day after", map[cola.TTBID]cola.Revision{}, later)
	}
	check("with an estimate", receivedOn.AddDays(5))
	clock.advance(time.Second)
	c.ApprovalDate = receivedOn.AddDays(-300)
	mustWriteColas(t, st, store.History, c)
	check("with a known date from history", c.ApprovalDate)
	c.ApprovalDate = 0
	mustWriteColas(t, st, store.Commit, c)
	check("without the known date", receivedOn.AddDays(5))
	clock.advance(time.Second)
	c.ApprovalDate = receivedOn.AddDays(-300)
	mustWriteColas(t, st, store.Commit, c)
	at[receivedID] = mustRevision(t, st)
	check("with an earlier known date", c.ApprovalDate)
	clock.advance(time.Second)
	c.ApprovalDate = receivedOn.AddDays(9)
	mustWriteColas(t, st, store.Commit, c)
	check("with a later known date", c.ApprovalDate)
	c.ApprovalDate = 0
	mustWriteColas(t, st, store.Commit, c)
	check("without the known date", receivedOn.AddDays(5))

	history := completedLabel(receivedOn.AddDays(5))
	history.TTBID++
	mustWriteColas(t, st, store.History, history)
	history.ApprovalDate = receivedOn.AddDays(6)
	mustWriteColas(t, st, store.Commit, history)
	checkArrived(t, st, "after a known date for a history label", at)
}

func arrivalWithoutEstimate(t *testing.T, st store.Store, _ *clock) {
	mustAddColas(t, st, label(1))
	checkArrived(t, st, "without an effective date", map[cola.TTBID]cola.Revision{})
	mustWriteColas(t, st, store.Commit, dated(1, dayOne))
	checkArrived(t, st, "with the first effective date", map[cola.TTBID]cola.Revision{firstID + 1: mustRevision(t, st)})
}

// estimateCases returns labels with IDs and completion dates that cover the rules for date
// estimates.
func estimateCases() (cases []cola.Cola) {
	today := cola.DateOf(time.Now())
	for _, year := range []int{0, 5, 15, 16, 24, 25, 79, 80, 99, today.Time().Year() % 100} {
		for _, day := range []int{0, 1, 59, 60, 365, 366, 367, 999, today.Time().YearDay() - 1} {
			id := cola.TTBID(year*1000+day) * 1_000_000_000
			received := id.Received(today)
			for n, completed := range []cola.Date{
				0, received.AddDays(-400), received.AddDays(-1), received, received.AddDays(1), received.AddDays(19),
				received.AddDays(120), received.AddDays(121), received.AddDays(5000),
			} {
				c := label(0)
				c.TTBID, c.LatestUpdateDate = id+1+cola.TTBID(n), max(0, completed)
				cases = append(cases, c)
			}
		}
	}
	seen := map[cola.TTBID]bool{}
	distinct := cases[:0]
	for _, c := range cases {
		if !seen[c.TTBID] {
			seen[c.TTBID] = true
			distinct = append(distinct, c)
		}
	}
	return distinct
}

// insertEstimateCases returns a statement that inserts the cases the way a version without
// estimates did.
func insertEstimateCases() string {
	var rows []string
	for _, c := range estimateCases() {
		completed := "NULL"
		if c.LatestUpdateDate != 0 {
			completed = "'" + c.LatestUpdateDate.String() + "'"
		}
		rows = append(rows, fmt.Sprintf(`(%d, 500, 'BRAND', 'wine', 'NJ-I-721', %s)`, c.TTBID, completed))
	}
	return `INSERT INTO colas (ttb_id, revision, brand_name, product_type, permit_number, latest_update_date) VALUES ` +
		strings.Join(rows, ", ")
}

// RowsBeforeEstimates returns statements that insert labels without approval dates into the schema
// that preceded estimates. One of them had arrived before it lost its date.
func RowsBeforeEstimates() string {
	return fmt.Sprintf(`%s;
		INSERT INTO colas (ttb_id, revision, brand_name, product_type, permit_number, latest_update_date)
			VALUES (%d, 500, 'BRAND', 'wine', 'NJ-I-721', '%s');
		INSERT INTO cola_arrivals (ttb_id, revision, approval_date) VALUES (%[2]d, 450, NULL);
		UPDATE meta SET revision = 500`, insertEstimateCases(), receivedID, receivedOn.AddDays(5))
}

// CheckRowsBeforeEstimates checks that estimates match cola.EstimateApproval, both for the migrated
// rows of RowsBeforeEstimates and for rows that the previous version inserts later. execute runs a
// statement on the database.
func CheckRowsBeforeEstimates(t *testing.T, st store.Store, execute func(sql string)) {
	arrived, _ := arrivals(t, st, receivedOn.AddDays(5))
	checkEqual(t, "arrivals", map[cola.TTBID]cola.Revision{receivedID: 450}, arrived)
	checkEstimates(t, st, "migrated")
	execute(`DELETE FROM colas`)
	execute(insertEstimateCases())
	checkEstimates(t, st, "inserted by the previous version")
	checkEqual(t, "outcome of storing such a label again", []store.Outcome{store.Unchanged},
		mustWriteColas(t, st, store.Commit, withBrand(estimateCases()[30])))
}

func withBrand(c cola.Cola) cola.Cola {
	c.BrandName = "BRAND"
	return c
}

func checkEstimates(t *testing.T, st store.Store, desc string) {
	t.Helper()
	stored, estimated := map[cola.TTBID]cola.Date{}, 0
	_, err := st.ColasSince(t.Context(), 0, func(r *cola.IndexRecord) error {
		stored[r.Summary.TTBID] = r.Summary.ApprovalDateEstimate
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range estimateCases() {
		want := cola.EstimateApproval(c.TTBID, c.LatestUpdateDate, cola.DateOf(time.Now()),
			func(cola.Date) int { return cola.DefaultProcessingDays })
		if got := stored[c.TTBID]; got != want {
			t.Errorf("%s: estimate of %s, completed %q = %q, want %q", desc, c.TTBID, c.LatestUpdateDate, got, want)
		}
		if want != 0 {
			estimated++
		}
	}
	if n := len(estimateCases()); estimated < n/3 || estimated > n*9/10 {
		t.Errorf("%s: %d of %d cases have an estimate, want many with one and many without", desc, estimated, n)
	}
}
