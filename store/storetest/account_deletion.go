package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testAccountDeletion(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"request and cancel", requestAndCancelDeletion},
		{"cancel keeps a suspension", cancelKeepsSuspension},
		{"too late to cancel", cancelTooLate},
		{"address of a deleted account", reuseAddress},
		{"no rows for a deleted account", writesAfterDeletion},
		{"subscription of a deleted account", subscriptionDuringDeletion},
		{"copy during a deletion", func(t *testing.T, st store.Store, c *clock) {
			copyDeletions(t, st, c, open(t, c.now))
		}},
	})
}

// deletesAt returns the account after a deletion request at the epoch with the given delay.
func deletesAt(a store.Account, after time.Duration) store.Account {
	a.SuspendedAt, a.DeletesAt = epoch, epoch.Add(after)
	return a
}

func requestAndCancelDeletion(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierPro), mustAccount(t, st, "b@example.com", cola.TierFree)
	key := mustKey(t, st, a.ID, 1)
	mustCreate(t, st, newSearch(a.ID, 1))
	for range 2 { // the second request changes nothing
		mustDo(t, st.RequestDeletion(t.Context(), a.ID, store.DeletionDelay))
		checkAccounts(t, st, deletesAt(a, store.DeletionDelay), b)
		c.advance(time.Hour)
	}
	checkEqual(t, "pauses", map[string]string{"search 1": cola.PausedSuspended}, pauses(t, st, a.ID))
	state := mustUsage(t, st, a.ID)
	if state.Suspended == "" || !state.DeletesAt.Equal(epoch.Add(store.DeletionDelay)) {
		t.Errorf("AccountUsage = %+v, want a suspension and DeletesAt", state)
	}
	c.set(epoch.Add(store.DeletionDelay - time.Microsecond))
	due, err := st.DueDeletions(t.Context(), 10)
	checkEqual(t, "DueDeletions", 0, len(must(t, due, err)))
	if _, err := st.DeleteAccountData(t.Context(), a.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("DeleteAccountData before the deletion is due: error = %v, want ErrNotFound", err)
	}
	for range 2 {
		mustDo(t, st.CancelDeletion(t.Context(), a.ID))
		checkAccounts(t, st, a, b)
	}
	checkEqual(t, "pauses after cancel", map[string]string{"search 1": ""}, pauses(t, st, a.ID))
	checkEqual(t, "valid key", key, mustKeys(t, st, a.ID)[0])
	for method, err := range map[string]error{
		"RequestDeletion": st.RequestDeletion(t.Context(), b.ID+100, 0), "CancelDeletion": st.CancelDeletion(t.Context(), b.ID+100),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s(unknown account) error = %v, want ErrNotFound", method, err)
		}
	}
}

func mustKeys(t tb, st store.Store, account cola.AccountID) []store.Key {
	t.Helper()
	keys, err := st.Keys(context.Background(), account)
	return must(t, keys, err)
}

// cancelKeepsSuspension checks that an account's suspension and its requested deletion end
// independently of each other.
func cancelKeepsSuspension(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	requested := deletesAt(a, anHour)
	suspended := a
	suspended.SuspendedAt, suspended.SuspendedReason = epoch, "Unpaid."
	both := requested
	both.SuspendedReason = "Unpaid."
	suspend := func() error { return st.Suspend(t.Context(), a.ID, "Unpaid.") }
	restore := func() error { return st.Restore(t.Context(), a.ID) }
	request := func() error { return st.RequestDeletion(t.Context(), a.ID, anHour) }
	cancel := func() error { return st.CancelDeletion(t.Context(), a.ID) }
	for _, step := range []struct {
		do   func() error
		want store.Account
	}{
		{suspend, suspended},
		{cancel, suspended},
		{request, both},
		{cancel, suspended},
		{request, both},
		{restore, requested},
		{suspend, both},
		{restore, requested},
		{cancel, a},
	} {
		mustDo(t, step.do())
		checkAccounts(t, st, step.want)
	}
}

func cancelTooLate(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustDo(t, st.RequestDeletion(t.Context(), a.ID, anHour))
	c.advance(anHour)
	for _, step := range []string{"due", "started", "complete"} {
		if err := st.CancelDeletion(t.Context(), a.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("CancelDeletion when %s: error = %v, want ErrNotFound", step, err)
		}
		if step == "complete" {
			break
		}
		done, err := st.DeleteAccountData(t.Context(), a.ID)
		checkEqual(t, step+": done", step == "started", must(t, done, err))
	}
	if _, err := st.DeleteAccountData(t.Context(), a.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("DeleteAccountData for a deleted account: error = %v, want ErrNotFound", err)
	}
}

// mustDeleteAccount deletes an account at once.
func mustDeleteAccount(t tb, st store.Store, id cola.AccountID) {
	t.Helper()
	mustDo(t, st.RequestDeletion(context.Background(), id, 0))
	mustFinishDeletions(t, st)
}

// mustFinishDeletions deletes the accounts whose deletion is due.
func mustFinishDeletions(t tb, st store.Store) {
	t.Helper()
	mustDo(t, finishDeletions(context.Background(), st, func() {}))
}

// finishDeletions deletes the accounts whose deletion is due. It calls step after each batch.
// Another process may do the same.
func finishDeletions(ctx context.Context, st store.Store, step func()) error {
	for {
		due, err := st.DueDeletions(ctx, 10)
		if err != nil || len(due) == 0 {
			return err
		}
		for _, a := range due {
			if _, err := st.DeleteAccountData(ctx, a.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			step()
		}
	}
}

// reuseAddress checks that the holder of a deleted account can sign up again immediately, with a
// new account.
func reuseAddress(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "Ann+x@example.com", cola.TierPro)
	mustDo(t, st.AddIdentity(t.Context(), a.ID, identity("1")))
	mustEmailedLink(t, st, "ann+x@example.com", 1, false)
	named := mustAccountOf(t, st, testIssuer, "2", "") // has no address
	for _, id := range []cola.AccountID{a.ID, named.ID} {
		mustDo(t, st.RequestDeletion(t.Context(), id, anHour))
	}
	checkEqual(t, "account during the delay", a.ID, mustAccountOf(t, st, testIssuer, "1", "ann+x@example.com").ID)
	c.advance(anHour)
	if _, err := st.DeleteAccountData(t.Context(), a.ID); err != nil { // only the first step
		t.Fatal(err)
	}
	if _, err := st.SignInLink(t.Context(), linkHash(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("emailed link of a deleted account: error = %v, want ErrNotFound", err)
	}
	created := mustAccountOf(t, st, testIssuer, "1", "ANN+X@example.com")
	if created.ID == a.ID || created.Tier != cola.TierFree || !created.SuspendedAt.IsZero() {
		t.Errorf("account after signing in again = %+v, want a new one", created)
	}
	mustFinishDeletions(t, st)
	checkEqual(t, "account of the identity", created.ID, mustAccountOf(t, st, testIssuer, "1", "").ID)
	if fresh := mustAccountOf(t, st, testIssuer, "2", ""); fresh.ID == named.ID || fresh.Email != named.Email {
		t.Errorf("account without an address = %+v, want a new one with the name of %+v", fresh, named)
	}
	list, err := st.Accounts(t.Context())
	for _, deleted := range must(t, list, err)[:2] {
		want := store.Account{
			ID: deleted.ID, Email: store.DeletedEmail(deleted.ID), Tier: deleted.Tier, CreatedAt: epoch, SuspendedAt: epoch,
			DeletedAt: epoch.Add(anHour), ActiveLimit: a.ActiveLimit,
		}
		checkEqual(t, "deleted account", want, deleted)
		if _, err := st.AccountByEmail(t.Context(), deleted.Email); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("AccountByEmail(%q) error = %v, want ErrNotFound", deleted.Email, err)
		}
	}
}

// writesAfterDeletion checks that nothing is written for an account after its deletion has started,
// for example by a process that recorded requests in memory.
func writesAfterDeletion(t *testing.T, st store.Store, _ *clock) {
	a, app := mustAccount(t, st, "a@example.com", cola.TierFree), mustApp(t, st, "app")
	mustDeleteAccount(t, st, a.ID)
	mustRecordRequests(t, st, newRequest(a.ID, 1))
	mustDo(t, st.RecordRequests(t.Context(), nil, []store.RequestGap{newGap(a.ID, 0, 1, 1)}))
	mustRecordRefusals(t, st, newRefusal(a.ID, 1, "burst", 1))
	errs := map[string]error{
		"AddIdentity":      st.AddIdentity(t.Context(), a.ID, identity("1")),
		"CreateSignInLink": st.CreateSignInLink(t.Context(), a.ID, linkHash(1), anHour),
		"SetTier":          st.SetTier(t.Context(), a.ID, cola.TierPro),
		"Suspend":          st.Suspend(t.Context(), a.ID, "x"),
		"Restore":          st.Restore(t.Context(), a.ID),
		"RequestDeletion":  st.RequestDeletion(t.Context(), a.ID, anHour),
	}
	_, errs["Account"] = st.Account(t.Context(), a.ID)
	_, errs["AddCustomer"] = st.AddCustomer(t.Context(), a.ID, "cus_a")
	_, errs["CreateKey"] = st.CreateKey(t.Context(), store.Key{AccountID: a.ID, Name: "x"}, keyHash(1), 0)
	_, errs["CreateSignIn"] = st.CreateSignIn(t.Context(), store.SignIn{Account: a.ID, ExpiresAt: epoch.Add(anHour)})
	_, errs["Connect"] = st.Connect(t.Context(), a.ID, app.ID, nil)
	_, _, errs["CreateSavedSearch"] = st.CreateSavedSearch(t.Context(), newSearch(a.ID, 1))
	_, errs["CreateDestination"] = st.CreateDestination(t.Context(), newHook(a.ID, hook))
	for method, err := range errs {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s for a deleted account: error = %v, want ErrNotFound", method, err)
		}
	}
	requests := mustRequests(t, st, a.ID, store.RequestFilter{}, 10)
	if n := len(requests) + len(mustRefusals(t, st, a.ID)); n > 0 {
		t.Errorf("%d requests and refusals were recorded, want 0", n)
	}
}

// subscriptionDuringDeletion checks that a subscription can be found until the deletion of its
// account starts, so that billing can be stopped, but not afterward, although its row remains.
func subscriptionDuringDeletion(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	before := mustCustomer(t, st, a.ID, "cus_a")
	mustCustomer(t, st, b.ID, "cus_b")
	mustDo(t, st.RequestDeletion(t.Context(), a.ID, anHour))
	c.advance(anHour)
	found, err := st.SubscriptionOf(t.Context(), a.ID)
	checkEqual(t, "subscription of an account due for deletion", before, must(t, found, err))
	if done, err := st.DeleteAccountData(t.Context(), a.ID); err != nil || done { // only the first step
		t.Fatalf("DeleteAccountData = %t, %v; want false, nil after the first step", done, err)
	}
	errs := map[string]error{}
	_, errs["SubscriptionOf"] = st.SubscriptionOf(t.Context(), a.ID)
	_, errs["SubscriptionByCustomer"] = st.SubscriptionByCustomer(t.Context(), "cus_a")
	for method, err := range errs {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s error = %v, want ErrNotFound", method, err)
		}
	}
	list, err := st.Subscriptions(t.Context(), 0, 5)
	if list = must(t, list, err); len(list) != 1 || list[0].Account != b.ID {
		t.Errorf("Subscriptions = %+v, want that of account %d", list, b.ID)
	}
	if err := st.SaveSubscription(t.Context(), before, "evt_1"); !errors.Is(err, store.ErrStale) {
		t.Errorf("SaveSubscription error = %v, want ErrStale", err)
	}
}

// copyDeletions checks that a copied store continues deletions.
func copyDeletions(t *testing.T, st store.Store, c *clock, to store.Store) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustDeleteAccount(t, st, a.ID)
	mustDo(t, st.RequestDeletion(t.Context(), b.ID, anHour))
	mustDo(t, to.Fill(t.Context(), store.Items(t.Context(), st)))
	list, err := st.Accounts(t.Context())
	checkAccounts(t, to, must(t, list, err)...)
	checkEqual(t, "destinations of the deleted account", 0, len(mustDestinations(t, to, a.ID)))
	c.advance(anHour)
	mustFinishDeletions(t, to)
}

// AccountReference is a column that refers to an account, directly or through another table.
type AccountReference struct{ Table, Column, Parent, ParentColumn string }

// ledgerTables are the tables that keep the rows of deleted accounts.
var ledgerTables = []string{"usage_days", "usage_months"}

// AccountRemoval checks that deleting an account deletes its rows from every table that refers to
// accounts, except the ledger, and no rows of other accounts. references lists the columns that the
// schema declares, so that the test notices a new table; count counts rows. advance advances the
// store's clock, which starts at Epoch.
func AccountRemoval(
	t *testing.T, st store.Store, advance func(time.Duration), references []AccountReference,
	count func(table, where string) int,
) {
	c := &clock{at: Epoch}
	account, other := populateAccount(t, st, c, "gone@example.com", 1), populateAccount(t, st, c, "other@example.com", 2)
	sendAccountEmails(t, st)
	// rows counts an account's rows in each table that refers to it.
	rows := func(id cola.AccountID) map[string]int {
		conditions := map[string]string{"accounts": fmt.Sprintf("id = %d", id)}
		for found := true; found; {
			found = false
			for _, r := range references {
				if parent, ok := conditions[r.Parent]; ok && conditions[r.Table] == "" {
					conditions[r.Table] = fmt.Sprintf("%s IN (SELECT %s FROM %s WHERE %s)", r.Column, r.ParentColumn, r.Parent, parent)
					found = true
				}
			}
		}
		counts := map[string]int{}
		for table, where := range conditions {
			counts[table] = count(table, where)
		}
		return counts
	}
	before, others := rows(account), rows(other)
	for table, n := range before {
		if n == 0 {
			t.Errorf("the test account has no rows in %s; add some in populateAccount, and add the table to accountTables in store/sqlstore", table)
		}
	}
	usage, err := st.DailyUsage(t.Context(), account, cola.DateOf(Epoch), cola.DateOf(Epoch))
	if days := must(t, usage, err); len(days) == 0 {
		t.Error("the test account has no usage")
	}
	mustDo(t, st.RequestDeletion(t.Context(), account, store.DeletionDelay))
	advance(store.DeletionDelay)
	mustFinishDeletions(t, st)
	sendAccountEmails(t, st) // includes the one that reports the deletion
	for table, n := range rows(account) {
		want := 0
		if table == "accounts" || slices.Contains(ledgerTables, table) {
			want = before[table]
		}
		if n != want {
			t.Errorf("%s has %d rows of the deleted account, want %d", table, n, want)
		}
	}
	checkEqual(t, "rows of the other account", others, rows(other))
	after, err := st.DailyUsage(t.Context(), account, cola.DateOf(Epoch), cola.DateOf(Epoch))
	checkEqual(t, "usage of the deleted account", usage, must(t, after, err))
	for _, line := range dump(t, st) {
		if strings.Contains(line, "gone@") {
			t.Errorf("the address is still stored: %s", line)
		}
	}
}

// Epoch is the start of test clocks.
var Epoch = epoch

// populateAccount creates an account with rows in every table. n distinguishes accounts.
func populateAccount(t *testing.T, st store.Store, c *clock, email string, n int) cola.AccountID {
	t.Helper()
	p := mustPayer(t, st, email)
	id := p.account
	key := mustKey(t, st, id, byte(n))
	mustDo(t, st.AddIdentity(t.Context(), id, identity(fmt.Sprint(n))))
	mustConnect(t, st, id, mustApp(t, st, "app").ID) // queues email
	mustDo(t, st.CreateSignInLink(t.Context(), id, linkHash(n), 30*24*time.Hour))
	mustEmailedLink(t, st, email, 10+n, false)
	p.load("page", 3)
	settle(t, st, id, charge(id, 1, rest(key.ID, cola.MeterDetailViews, 1)))
	requests := make([]store.RecordedRequest, 1_200) // more than one batch
	for i := range requests {
		requests[i] = newRequest(id, i)
		requests[i].ExpiresAt = c.now().Add(30 * 24 * time.Hour)
	}
	mustRecordRequests(t, st, requests...)
	gap := newGap(id, 0, 1, 1)
	gap.ExpiresAt = c.now().Add(30 * 24 * time.Hour)
	mustDo(t, st.RecordRequests(t.Context(), nil, []store.RequestGap{gap}))
	populateRefusals(t, st, id)
	named, err := st.NamePreviewLabels(t.Context(), id, cola.DateOf(c.now()), []cola.TTBID{1}, 5)
	must(t, named, err)
	hooked := mustDestination(t, st, newHook(id, hook))
	mustDo(t, confirmOnce(t.Context(), st, unconfirmedMailbox(id, fmt.Sprintf("c%d@example.com", n), confirmLimits)))
	mustCustomer(t, st, id, fmt.Sprint("cus_", n))
	due := dueSearch(id, n, epoch)
	mustCreate(t, st, withKey(due, "key", 1))
	mustRecord(t, st, runOf(t, st, mustClaimOne(t, st), 1, 2))
	attempt(t, st, mustClaimDeliveries(t, st), hooked, cola.EventRan, receiverError, cola.DeliveryPending)
	return id
}
