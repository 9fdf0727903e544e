package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// RowsBeforeDeliveries returns statements that write, into the schema that knew nothing of deliveries, two accounts, one of them without an
// email address, and searches of the first: one that runs, one that does not although it says when, and one that never did, with a label that they have looked at. The
// instants of 2025-11-20 12:00:00 and 14:46:40 UTC are given as the backend writes them.
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
		UPDATE saved_searches SET mark_revision = 450 WHERE uuid = '1'`, created, due, anIssuer, firstID+1)
}

// CheckRowsBeforeDeliveries holds a store to what becomes of them: each account has a destination for its own address, and only what is
// active runs.
func CheckRowsBeforeDeliveries(t *testing.T, st store.Store) {
	created := time.Date(2025, time.November, 20, 12, 0, 0, 0, time.UTC)
	due := created.Add(10_000 * time.Second)
	for _, k := range []struct {
		account cola.AccountID
		address cola.Opt[string]
		at      time.Time
	}{{1, cola.Some("Ann@example.com"), created}, {2, cola.Opt[string]{}, due}} {
		own := mustOwn(t, st, k.account)
		want := cola.Destination{UUID: own.UUID, Kind: cola.KindEmail, Address: k.address, State: cola.DestinationActive, CreatedAt: cola.TimestampOf(k.at)}
		same(t, "destinations", []store.Destination{{Destination: want, Account: k.account, Own: true}}, mustDestinations(t, st, k.account))
	}
	if a, b := mustOwn(t, st, 1), mustOwn(t, st, 2); a.UUID == b.UUID {
		t.Errorf("destinations %+v and %+v, want a uuid each", a, b)
	}
	paused := cola.Schedule{Cadence: cola.CadenceDaily}
	active := paused
	active.Active, active.NextRunAt = true, cola.Some(cola.TimestampOf(due))
	same(t, "searches", []cola.SavedSearch{
		{UUID: "1", Name: "active", Schedule: &active, CreatedAt: cola.TimestampOf(created)},
		{UUID: "2", Name: "paused", Schedule: &paused, CreatedAt: cola.TimestampOf(created)},
		{UUID: "3", Name: "unscheduled", CreatedAt: cola.TimestampOf(created)},
	}, mustSearches(t, st, 1))
	for uuid, seen := range map[string]time.Time{"1": due, "2": {}} { // by the latest run, which has looked up to the mark
		trace, err := st.Trace(t.Context(), 1, uuid, firstID+1)
		same(t, "seen", seen, must(t, trace, err).Seen)
	}
	d := mustClaimOne(t, st)
	mustRecord(t, st, runOf(t, st, d, 1))
	claimed := mustClaimDeliveries(t, st)
	if _, told := claimed[mustOwn(t, st, 1).UUID+" "+cola.EventRan]; !told || len(claimed) != 1 {
		t.Errorf("due are %v, want the run, to the account's own address", claimed)
	}
	if fresh := mustAccount(t, st, "fresh@example.com", cola.TierFree); !mustOwn(t, st, fresh.ID).Own {
		t.Error("a new account has no destination of its own")
	}
}
