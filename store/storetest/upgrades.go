package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// CheckRunRows checks what happens to claims when other processes change the rows of saved
// searches, and how a store handles rows written by other versions. The store must have no
// accounts. execute runs a statement on its database.
func CheckRunRows(t *testing.T, st store.Store, execute func(sql string)) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	c := runRows{t, st, execute, a.ID}
	c.changesInvalidateClaims()
	c.renameKeepsClaim()
	c.deleteCascades()
	c.unreadableSearches()
	c.missingMarks()
	c.manualDateChanges()
}

type runRows struct {
	*testing.T
	st      store.Store
	execute func(sql string)
	account cola.AccountID
}

// changesInvalidateClaims checks that a change to the filters or schedule ends the claim and makes
// the search claimable again.
func (c runRows) changesInvalidateClaims() {
	for n, set := range []string{
		`filters = '{"brand_name":"elm"}'`, `cadence = 'daily', day = NULL`, `day = 3`, `active = FALSE`,
		`name = 'x', filters = filters, cadence = cadence, day = day, active = active, last_run_at = NULL`,
	} {
		search := mustCreate(c, c.st, dueSearch(c.account, n, epoch))
		d := mustClaimOne(c, c.st)
		c.execute(fmt.Sprintf(`UPDATE saved_searches SET %s WHERE uuid = '%s'`, set, search.UUID))
		checkRunRejected(c, c.st, set, runOf(c, c.st, d, 1))
		c.execute(fmt.Sprintf(`UPDATE saved_searches SET active = TRUE WHERE uuid = '%s'`, search.UUID))
		second := mustClaimOne(c, c.st)
		checkEqual(c, set+": mark", d.Mark, second.Mark)
		mustRecord(c, c.st, runOf(c, c.st, second, 1))
	}
}

// renameKeepsClaim checks that renaming a search does not end its claim.
func (c runRows) renameKeepsClaim() {
	search := mustCreate(c, c.st, dueSearch(c.account, 100, epoch))
	d := mustClaimOne(c, c.st)
	c.execute(fmt.Sprintf(`UPDATE saved_searches SET name = 'renamed' WHERE uuid = '%s'`, search.UUID))
	checkEqual(c, "claims after a rename", []string{}, names(mustClaim(c, c.st, noLimit, anHour)))
	mustRecord(c, c.st, runOf(c, c.st, d, 1))
}

// deleteCascades checks that deleting a search deletes its runs, matches and deliveries, and ends
// its claim.
func (c runRows) deleteCascades() {
	c.execute(`DELETE FROM saved_searches`)
	sizes := mustSizes(c.T, c.st)
	for _, kind := range []store.ItemKind{store.ItemSearch, store.ItemRun, store.ItemMatch, store.ItemDelivery} {
		checkEqual(c, "number of remaining "+string(kind)+" rows", 0, sizes[kind])
	}
	checkDeliveryCounts(c, c.st, 1, 0, 0) // the account's own destination remains
	search := mustCreate(c, c.st, dueSearch(c.account, 200, epoch))
	run := runOf(c, c.st, mustClaimOne(c, c.st), 1)
	c.execute(`DELETE FROM saved_searches`)
	checkRunRejected(c, c.st, "deleted search", run)
	// The new search has the UUID in the old claim, which must still be rejected.
	recreated := mustCreate(c, c.st, dueSearch(c.account, 200, epoch))
	checkEqual(c, "UUID", search.UUID, recreated.UUID)
	checkRunRejected(c, c.st, "search deleted and created again", run)
	if o := mustRecord(c, c.st, runOf(c, c.st, mustClaimOne(c, c.st), 1)); o.New != 1 {
		c.Errorf("RecordRuns = %+v, want 1 new match for the new search", o)
	}
}

// unreadableSearches checks that a search that this version cannot read is claimed with a fault,
// and that other searches are unaffected.
func (c runRows) unreadableSearches() {
	c.execute(`DELETE FROM saved_searches`)
	faults := map[string]string{
		`filters = '{"brand_name":"elm","scent":"rose"}'`: "scent",
		`filters = '{"brand_name":'`:                      "filters",
		`filters = '{"brand_name":["a","b"]}'`:            "brand_name",
		`cadence = 'hourly'`:                              "hourly",
	}
	for n, set := range []string{
		`filters = '{"brand_name":"elm","scent":"rose"}'`, `filters = '{"brand_name":'`,
		`filters = '{"brand_name":["a","b"]}'`, `cadence = 'hourly'`, `name = 'good'`,
	} {
		search := mustCreate(c, c.st, dueSearch(c.account, 300+n, epoch.Add(time.Duration(n)*time.Second)))
		c.execute(fmt.Sprintf(`UPDATE saved_searches SET %s WHERE uuid = '%s'`, set, search.UUID))
		claimed := mustClaimOne(c, c.st)
		checkEqual(c, set+": UUID", search.UUID, claimed.Search.UUID)
		want, faulty := faults[set]
		if !faulty {
			if claimed.Fault != nil {
				c.Errorf("%s: Fault = %v, want nil", set, claimed.Fault)
			}
			continue
		}
		msg := fmt.Sprint(claimed.Fault)
		if claimed.Fault == nil || !strings.Contains(msg, want) || !strings.Contains(msg, search.UUID) {
			c.Errorf("%s: Fault = %v, want one that contains %q and %q", set, claimed.Fault, want, search.UUID)
		}
	}
}

// missingMarks checks that a search created by a process running the previous version gets a mark
// at its creation.
func (c runRows) missingMarks() {
	c.execute(`DELETE FROM saved_searches`)
	mustAddColas(c, c.st, dated(1, dayOne))
	search := mustCreate(c, c.st, dueSearch(c.account, 400, epoch))
	c.execute(`INSERT INTO saved_searches (uuid, account_id, name, filters, cadence, day, active, next_run_at, created_at)
		SELECT 'old', account_id, 'old', filters, cadence, day, active, next_run_at, created_at FROM saved_searches`)
	want := store.Mark{At: search.CreatedAt.Time(), Revision: mustRevision(c, c.st)}
	for _, d := range mustClaim(c, c.st, 2, anHour) {
		checkEqual(c, d.Search.Name+": mark", want, d.Mark)
	}
}

// manualDateChanges checks that arrivals reflect dates changed directly in the database.
func (c runRows) manualDateChanges() {
	set := func(date string) {
		c.execute(fmt.Sprintf(`UPDATE colas SET approval_date = %s WHERE ttb_id = %d`, date, firstID+1))
	}
	at := map[cola.TTBID]cola.Revision{firstID + 1: mustRevision(c, c.st)}
	set(`'2026-11-20'`)
	got, _ := arrivals(c, c.st, cola.NewDate(2026, time.November, 20))
	checkEqual(c, "arrivals with the new date", at, got)
	set(`NULL`)
	checkArrived(c, c.st, "without a date", map[cola.TTBID]cola.Revision{})
	set(`'2026-11-01'`)
	checkArrived(c, c.st, "with a date again", at)
	c.execute(fmt.Sprintf(`DELETE FROM colas WHERE ttb_id = %d`, firstID+1))
	checkArrived(c, c.st, "after deleting the row", map[cola.TTBID]cola.Revision{})
}

// RowsBeforeRuns returns statements that write two searches and a label to the schema without runs.
// created and ran are SQL expressions for 2025-11-20 12:00:00 and 14:46:40 UTC.
func RowsBeforeRuns(created, ran string) string {
	return fmt.Sprintf(`INSERT INTO accounts (id, email, email_folded, tier, created_at) VALUES (1, 'a@example.com', 'a@example.com', 'free', %[1]s);
		INSERT INTO saved_searches (uuid, account_id, name, filters, cadence, active, next_run_at, last_run_at, created_at) VALUES
			('ran', 1, 'ran', '{}', 'daily', TRUE, %[2]s, %[2]s, %[1]s), ('new', 1, 'new', '{}', 'daily', TRUE, %[2]s, NULL, %[1]s);
		INSERT INTO colas (ttb_id, revision, brand_name, product_type, permit_number, approval_date)
			VALUES (%[3]d, 500, 'BRAND 1', 'wine', 'NJ-I-721', '2026-11-16');
		UPDATE meta SET revision = 500`, created, ran, firstID+1)
}

// CheckRowsBeforeRuns checks the migration of the rows that RowsBeforeRuns writes.
func CheckRowsBeforeRuns(t *testing.T, st store.Store) {
	created := time.Date(2025, time.November, 20, 12, 0, 0, 0, time.UTC)
	want := map[string]store.Mark{
		"new": {At: created, Revision: 500},
		"ran": {At: created.Add(10_000 * time.Second), Revision: 500},
	}
	got := map[string]store.Mark{}
	for _, d := range mustClaim(t, st, noLimit, anHour) {
		got[d.Search.Name] = d.Mark
	}
	checkEqual(t, "marks", want, got)
	checkArrived(t, st, "of the previous version", map[cola.TTBID]cola.Revision{})
	renamed := dated(1, dayOne)
	renamed.ProductName = "NEW"
	mustWriteColas(t, st, store.Commit, renamed, dated(2, dayOne))
	checkArrived(t, st, "after the migration", map[cola.TTBID]cola.Revision{firstID + 2: mustRevision(t, st)})
}

// CheckSearchRows checks how a store handles saved searches whose rows were changed externally.
// The store must have no accounts. execute runs a statement on its database.
func CheckSearchRows(t *testing.T, st store.Store, execute func(sql string)) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	want := mustCreate(t, st, newSearch(a.ID, 1))
	set := func(filters string) {
		execute(fmt.Sprintf(`UPDATE saved_searches SET filters = '%s' WHERE uuid = '%s'`, filters, want.UUID))
	}
	set(`{"scent": {"of": ["rose"]}, "brand_name": "elm", "mood": null}`) // written by a newer version, with more filters
	want.Filters.BrandName = "elm"
	found, err := st.SavedSearch(t.Context(), a.ID, want.UUID)
	checkEqual(t, "SavedSearch with unknown filters", want, must(t, found, err))
	checkEqual(t, "SavedSearches with unknown filters", []cola.SavedSearch{want}, mustSearches(t, st, a.ID))

	want.Name = "renamed"
	changed, err := st.UpdateSavedSearch(t.Context(), a.ID, want.UUID, maxActive, rename(want.Name))
	checkEqual(t, "UpdateSavedSearch with unknown filters", want, must(t, changed, err))
	filters := `{"scent": {"of": ["rose"]}, "brand_name": "elm", "mood": null}`
	execute(fmt.Sprintf(`UPDATE saved_searches SET name = 'unknown filters remain' WHERE filters = '%s'`, filters))
	found, err = st.SavedSearch(t.Context(), a.ID, want.UUID)
	checkEqual(t, "SavedSearch after the rename", "unknown filters remain", must(t, found, err).Name)

	set(`{"brand_name":`)
	_, err = st.SavedSearch(t.Context(), a.ID, want.UUID)
	if err == nil || errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), want.UUID) {
		t.Errorf("SavedSearch with broken filters: error = %v, want one that names the search", err)
	}
	if _, _, err := st.SavedSearches(t.Context(), a.ID, 0, 10); err == nil {
		t.Error("SavedSearches with broken filters: error = nil, want non-nil")
	}
	_, err = st.UpdateSavedSearch(t.Context(), a.ID, want.UUID, maxActive, rename("other"))
	if err == nil || errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), want.UUID) {
		t.Errorf("UpdateSavedSearch with broken filters: error = %v, want one that names the search", err)
	}

	execute(`DELETE FROM saved_searches`)
	mustCreate(t, st, withKey(newSearch(a.ID, 2), "key", 1))
	execute(`DELETE FROM saved_searches`)
	// Deleting the search also freed its idempotency key.
	search := mustCreate(t, st, withKey(newSearch(a.ID, 3), "key", 2))
	checkEqual(t, "repeated creation", search, mustRepeat(t, st, withKey(newSearch(a.ID, 4), "key", 2)))
}

// RowsBeforeDeliveries returns statements that write these rows to the schema without deliveries:
//
//   - two accounts, the second without an email address
//   - three searches of the first account: active, paused with a next run, and unscheduled
//   - a label that only the active search has seen
//
// created and due are SQL expressions for 2025-11-20 12:00:00 and 14:46:40 UTC.
func RowsBeforeDeliveries(created, due string) string {
	return fmt.Sprintf(`INSERT INTO accounts (id, email, email_folded, tier, created_at) VALUES
			(1, 'Ann@example.com', 'ann@example.com', 'pro', %[1]s), (2, '%[3]s#1', '%[3]s#1', 'free', %[2]s);
		INSERT INTO saved_searches (uuid, account_id, name, filters, cadence, active, next_run_at, mark_at, mark_revision, created_at) VALUES
			('1', 1, 'active', '{}', 'daily', TRUE, %[2]s, %[1]s, 0, %[1]s), ('2', 1, 'paused', '{}', 'daily', FALSE, %[2]s, %[1]s, 0, %[1]s),
			('3', 1, 'unscheduled', '{}', NULL, FALSE, NULL, %[1]s, 0, %[1]s);
		INSERT INTO colas (ttb_id, revision, brand_name, product_type, permit_number, approval_date) VALUES (%[4]d, 400, 'BRAND 1', 'wine', 'NJ-I-721', '2025-11-18');
		INSERT INTO cola_arrivals (ttb_id, revision, approval_date) VALUES (%[4]d, 400, '2025-11-18');
		INSERT INTO saved_search_runs (search_id, ran_at, date_from, date_to, match_count, late_count) SELECT id, %[1]s, '2025-11-01', '2025-11-19', 0, 0 FROM saved_searches;
		INSERT INTO saved_search_runs (search_id, ran_at, date_from, date_to, match_count, late_count) SELECT id, %[2]s, '2025-11-19', '2025-11-20', 0, 0
			FROM saved_searches WHERE uuid = '1';
		UPDATE saved_searches SET mark_revision = 450 WHERE uuid = '1'`, created, due, testIssuer, firstID+1)
}

// CheckRowsBeforeDeliveries checks the migration of the rows that RowsBeforeDeliveries writes: each
// account has a destination for its own address, and only the active search runs.
func CheckRowsBeforeDeliveries(t *testing.T, st store.Store) {
	created := time.Date(2025, time.November, 20, 12, 0, 0, 0, time.UTC)
	due := created.Add(10_000 * time.Second)
	for _, k := range []struct {
		account cola.AccountID
		address cola.Opt[string]
		at      time.Time
	}{{1, cola.Some("Ann@example.com"), created}, {2, cola.Opt[string]{}, due}} {
		own := mustOwn(t, st, k.account)
		want := cola.Destination{
			UUID:      own.UUID,
			Kind:      cola.KindEmail,
			Address:   k.address,
			State:     cola.DestinationActive,
			CreatedAt: cola.TimestampOf(k.at),
		}
		checkEqual(t, "destinations", []store.Destination{{Destination: want, Account: k.account, Own: true}},
			mustDestinations(t, st, k.account))
	}
	if a, b := mustOwn(t, st, 1), mustOwn(t, st, 2); a.UUID == b.UUID {
		t.Errorf("destinations %+v and %+v, want distinct UUIDs", a, b)
	}
	paused := cola.Schedule{Cadence: cola.CadenceDaily}
	active := paused
	active.Active, active.NextRunAt = true, cola.Some(cola.TimestampOf(due))
	checkEqual(t, "searches", []cola.SavedSearch{
		{UUID: "1", Name: "active", Schedule: &active, CreatedAt: cola.TimestampOf(created)},
		{UUID: "2", Name: "paused", Schedule: &paused, CreatedAt: cola.TimestampOf(created)},
		{UUID: "3", Name: "unscheduled", CreatedAt: cola.TimestampOf(created)},
	}, mustSearches(t, st, 1))
	// Only the latest run of the active search covered the label.
	for uuid, seen := range map[string]time.Time{"1": due, "2": {}} {
		trace, err := st.Trace(t.Context(), 1, uuid, firstID+1)
		checkEqual(t, "Trace.Seen", seen, must(t, trace, err).Seen)
	}
	d := mustClaimOne(t, st)
	mustRecord(t, st, runOf(t, st, d, 1))
	claimed := mustClaimDeliveries(t, st)
	if _, found := claimed[mustOwn(t, st, 1).UUID+" "+cola.EventRan]; !found || len(claimed) != 1 {
		t.Errorf("claimed deliveries = %v, want only the run's delivery to the account's own address", claimed)
	}
	if fresh := mustAccount(t, st, "fresh@example.com", cola.TierFree); !mustOwn(t, st, fresh.ID).Own {
		t.Error("destinations of the new account do not include its own address")
	}
}
