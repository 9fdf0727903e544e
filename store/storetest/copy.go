package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

func testCopy(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"full store", func(t *testing.T, st store.Store, c *clock) {
			populate(t, st, c)
			checkCopy(t, st, open(t, c.now))
		}},
		{"revision history is not copied", func(t *testing.T, st store.Store, c *clock) {
			mustAddColas(t, st, label(0))
			c.advance(time.Second)
			to := open(t, c.now)
			if err := to.Fill(t.Context(), store.Items(t.Context(), st)); err != nil {
				t.Fatal(err)
			}
			first, second := mustRevision(t, st), mustRevision(t, to)
			checkEqual(t, "first revision of the copy", cola.Revision(c.now().UnixMicro()), second)
			for _, one := range []struct {
				st    store.Store
				rev   cola.Revision
				known bool
			}{{st, first, true}, {st, second, false}, {to, first, false}, {to, second, true}} {
				checkKnown(t, one.st, one.rev, one.known)
			}
		}},
		{"copy to a store whose clock is behind", func(t *testing.T, st store.Store, c *clock) {
			copyToEarlierClock(t, st, c, func() store.Store { return open(t, c.now) })
		}},
		{"empty store", func(t *testing.T, st store.Store, c *clock) {
			to := open(t, c.now)
			if err := to.Fill(t.Context(), store.Items(t.Context(), st)); err != nil {
				t.Fatal(err)
			}
			checkEqual(t, "Sizes", mustSizes(t, st), mustSizes(t, to))
		}},
		{"Fill requires an empty store", func(t *testing.T, st store.Store, c *clock) {
			fillNonEmpty(t, st, c, func() store.Store { return open(t, c.now) })
		}},
		{"interrupted Fill", func(t *testing.T, st store.Store, c *clock) {
			populate(t, st, c)
			for _, after := range []int{0, 3, 900} {
				checkInterruptedFill(t, st, open(t, c.now), after)
			}
		}},
		{"callback error", func(t *testing.T, st store.Store, c *clock) {
			populate(t, st, c)
			calls := 0
			err := st.Dump(t.Context(), func(*store.Item) error { calls++; return errCallback })
			if !errors.Is(err, errCallback) || calls != 1 {
				t.Errorf("Dump error = %v after %d calls, want the callback's error after 1", err, calls)
			}
			mustAddColas(t, st, label(9_000)) // the store still accepts writes
		}},
	})
}

func fillNonEmpty(t *testing.T, st store.Store, c *clock, another func() store.Store) {
	populate(t, st, c)
	before := dump(t, st)
	account, app, imported := another(), another(), another()
	fetched, planned, queueing, claimed := another(), another(), another(), another()
	mustAccount(t, account, "a@example.com", cola.TierFree)
	mustApp(t, app, "app")
	mustDo(t, imported.RecordImport(t.Context(), newImport("colas", 1)))
	mustSaveImageFile(t, fetched, newImageFile("1", 1))
	mustPlan(t, planned, fetchDay, fetchDay, never)
	mustQueue(t, queueing, queued(1, fetchDay))
	mustClaimReference(t, claimed, "permits")
	for desc, to := range map[string]store.Store{
		"records": st, "an account": account, "an app": app, "an import": imported,
		"an image file": fetched, "a fetch window": planned, "a queued label": queueing, "a reference fetch": claimed,
	} {
		if err := to.Fill(t.Context(), store.Items(t.Context(), st)); !errors.Is(err, store.ErrExists) {
			t.Errorf("Fill(store with %s) error = %v, want ErrExists", desc, err)
		}
	}
	checkEqual(t, "store contents", before, dump(t, st))
}

// populate writes records of every kind to a store.
func populate(t *testing.T, st store.Store, c *clock) {
	t.Helper()
	a, b := mustAccount(t, st, "A@example.com", cola.TierPro), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustKey(t, st, b.ID, 9)
	mustCustomer(t, st, a.ID, "cus_a")
	mustCustomer(t, st, b.ID, "cus_b")
	mustSubscribe(t, st, a.ID, starter("sub_1"), "evt_1")
	k := mustKey(t, st, a.ID, 1)
	expiring, err := st.CreateKey(t.Context(),
		store.Key{AccountID: a.ID, Name: "ünïcode", ExpiresAt: epoch.Add(time.Hour), KeyAccess: store.KeyAccess{
			Networks: mustNetworks(t, "203.0.113.7,2001:db8::/64"),
		}}, keyHash(4), 0)
	must(t, expiring, err)
	populateLinks(t, st, c, a.ID)
	populateSignIns(t, st, c, a.ID)
	populateRefusals(t, st, b.ID)
	mustCreate(t, st, withKey(newSearch(b.ID, 2), "key", 1))
	mustCreate(t, st, store.NewSavedSearch{Account: a.ID, Search: fullSearch()})
	mustCreate(t, st, newSearch(b.ID, 1))
	settle(t, st, a.ID, charge(a.ID, 2, rest(k.ID, cola.MeterListRecords, 20), rest(k.ID, cola.MeterNone, 0)))
	c.advance(time.Second)
	settle(t, st, a.ID, charge(a.ID, 1, rest(expiring.ID, cola.MeterDetailViews, 1)))
	if err := st.RevokeKey(t.Context(), 0, expiring.ID); err != nil {
		t.Fatal(err)
	}
	var labels []cola.Cola
	for i := range 1_200 { // more than a backend reads at a time
		labels = append(labels, label(i+1))
	}
	mustAddColas(t, st, append(labels, fullLabel())...)
	mustPermittees(t, st, []store.Outcome{store.Added},
		permitteePatch(cola.Permittee{PermitNumber: "CA-W-1", CompanyName: "ESTATE", Listed: true}))
	outcomes, err := st.UpsertAVAs(t.Context(),
		[]cola.Patch[cola.AVADetail]{allOf(ava("b", "B")), allOf(ava("a", "A"))}, store.Commit)
	must(t, outcomes, err)
	outcomes, err = st.UpsertCategoryAliases(t.Context(),
		[]vocabulary.CategoryAlias{{Alias: "Wine > Old", Path: "Wine > New"}}, store.Commit)
	must(t, outcomes, err)
	outcomes, err = st.UpsertProcessingTimes(t.Context(),
		[]cola.ProcessingTime{{
			Commodity: "wine", SnapshotDate: mustDate(t, "2026-01-02"), TurnaroundDaysMedian: cola.Some(4),
		}}, store.Commit)
	must(t, outcomes, err)
	mustAddColas(t, st, completedLabel(0)) // its estimate depends on the processing time
	key := cola.ReportKey{Commodity: "wine", ReportType: "monthly", ReportDate: mustDate(t, "2026-01-01")}
	row := cola.ProductionReport{
		Commodity:         key.Commodity,
		ReportType:        key.ReportType,
		ReportDate:        key.ReportDate,
		Year:              2026,
		StatisticalDetail: "z",
	}
	second := row
	second.StatisticalDetail = "a"
	outcomes, err = st.ReplaceProductionReport(t.Context(), key, []cola.ProductionReport{row, second}, store.Commit)
	must(t, outcomes, err)
	mustDo(t, st.RecordImport(t.Context(), newImport("colas", 1)))
	failed := newImport("colas", 2)
	failed.Failed = true
	mustDo(t, st.RecordImport(t.Context(), failed))
	mustSaveImageFile(t, st, newImageFile("11054001000049-1", 1))
	populateFetches(t, st)
	populateReferenceFetches(t, st)
	populateEnrichments(t, st)
	populateDestinations(t, st, b.ID)
	populateRuns(t, st)
	populateAttempts(t, st, b.ID)
	populateSuspended(t, st)
}

func checkCopy(t *testing.T, from, to store.Store) {
	if err := to.Fill(t.Context(), store.Items(t.Context(), from)); err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "store contents", dump(t, from), dump(t, to))
	sizes := mustSizes(t, to)
	checkEqual(t, "Sizes", mustSizes(t, from), sizes)
	for _, kind := range store.ItemKinds() {
		if sizes[kind] == 0 {
			t.Errorf("no %s copied; the test needs some of each kind", kind)
		}
	}
	if from.ID() == to.ID() {
		t.Errorf("ID of the copy = %q, want a new one", to.ID())
	}
	wantRecords, _ := indexRecords(t, from, 0)
	gotRecords, rev := indexRecords(t, to, 0)
	checkEqual(t, "index records", wantRecords, gotRecords)
	if rev == 0 || mustRevision(t, to) != rev {
		t.Errorf("Revision = %d, ColasSince revision = %d; want equal and above 0", mustRevision(t, to), rev)
	}
	checkEqual(t, "permittees", permittees(t, from), permittees(t, to))
	want, got := mustReferences(t, from), mustReferences(t, to)
	want.Revision, got.Revision = 0, 0
	checkEqual(t, "reference data", want, got)
	checkEqual(t, "LastImports", mustLastImports(t, from), mustLastImports(t, to))

	k, err := to.KeyByHash(t.Context(), keyHash(1))
	must(t, k, err)
	checkEqual(t, "AccountUsage", mustUsage(t, from, k.AccountID), mustUsage(t, to, k.AccountID))
	mustUpsert(t, to, []store.Outcome{store.Unchanged, store.Added}, patchOf(fullLabel()), patchOf(label(5_000)))
	if fresh := mustAccount(t, to, "fresh@example.com", cola.TierFree); fresh.ID <= k.AccountID ||
		mustKey(t, to, fresh.ID, 7).ID <= k.ID {
		t.Errorf("new account ID = %d, want one after the copied IDs", fresh.ID)
	}
	checkCopiedLinks(t, from, to, k.AccountID)
	checkCopiedSignIns(t, from, to, k.AccountID)
	checkCopiedSearches(t, from, to, k.AccountID)
	other, err := to.AccountByEmail(t.Context(), "b@example.com")
	checkCopiedDeliveries(t, from, to, must(t, other, err).ID)
	checkCopiedRefusals(t, from, to, other.ID)
	checkCopiedRuns(t, from, to)
	checkCopiedFetches(t, from, to)
	checkCopiedEnrichments(t, to)
	checkCopiedSuspensions(t, from, to)
	settle(t, to, k.AccountID, charge(k.AccountID, 1, rest(k.ID, cola.MeterListRecords, 5)))
	checkEqual(t, "list records used", 25, mustUsage(t, to, k.AccountID).Used.ListRecords)
}

// checkInterruptedFill checks that if reading fails after the given number of items, Fill leaves
// the store empty or fails with store.ErrHalfFilled.
func checkInterruptedFill(t *testing.T, from, to store.Store, after int) {
	broken := func(yield func(*store.Item, error) bool) {
		n := 0
		for item, err := range store.Items(t.Context(), from) {
			if n == after {
				yield(nil, errBroken)
				return
			}
			if n++; !yield(item, err) {
				return
			}
		}
	}
	err := to.Fill(t.Context(), broken)
	if !errors.Is(err, errBroken) {
		t.Errorf("Fill interrupted after %d items: error = %v, want the iterator's error", after, err)
	}
	if errors.Is(err, store.ErrHalfFilled) {
		return
	}
	for kind, n := range mustSizes(t, to) {
		if n != 0 {
			t.Errorf("Fill interrupted after %d items left %d %s, want 0", after, n, kind)
		}
	}
}

var errBroken = errors.New("iterator failed")

// dump returns all items of a store and checks that the kinds are in order.
func dump(t *testing.T, st store.Store) []string {
	t.Helper()
	var all []string
	kinds := store.ItemKinds()
	err := st.Dump(t.Context(), func(i *store.Item) error {
		for len(kinds) > 0 && kinds[0] != i.Kind {
			kinds = kinds[1:]
		}
		if len(kinds) == 0 {
			return fmt.Errorf("%s item out of order", i.Kind)
		}
		all = append(all, describe(i))
		return nil
	})
	return must(t, all, err)
}

func describe(i *store.Item) string {
	if i.References != nil {
		sets := *i.References
		sets.Revision = 0
		return fmt.Sprintf("%+v", sets)
	}
	if i.Kind == store.ItemSearch { // describe values behind pointers, not addresses
		rest := *i
		text := ""
		if schedule := rest.Search.Schedule; schedule != nil {
			text += fmt.Sprintf("%+v ", *schedule)
		}
		if feed := rest.Search.Feed; feed != nil {
			text += fmt.Sprintf("%x ", *feed)
		}
		rest.Search.Schedule, rest.Search.Feed = nil, nil
		return text + fmt.Sprintf("%+v", rest)
	}
	if i.Cola != nil {
		return fmt.Sprintf("%+v", *i.Cola)
	}
	return fmt.Sprintf("%+v", *i)
}

func mustSizes(t *testing.T, st store.Store) map[store.ItemKind]int {
	t.Helper()
	sizes, err := st.Sizes(t.Context())
	return must(t, sizes, err)
}
