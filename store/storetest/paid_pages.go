package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testPaidPages(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"paid pages", paidPages},
		{"void a paid page", voidPaidPage},
		{"void a reloaded page", voidReloadedPage},
		{"void a page and its reload", voidPageAndReload},
		{"concurrent void and reload", concurrentVoidAndReload},
		{"page without its charge", pageWithoutCharge},
	})
}

// payer is a session that pays for pages.
type payer struct {
	t       *testing.T
	st      store.Store
	account cola.AccountID
	signIn  int64
}

func mustPayer(t *testing.T, st store.Store, email string) payer {
	t.Helper()
	a := mustAccount(t, st, email, cola.TierPro)
	return payer{t, st, a.ID, mustSignIn(t, st, a.ID).ID}
}

func (p payer) key(page string) store.PageKey { return store.PageKey{SignIn: p.signIn, Page: page} }

// entry charges units for a page.
func (p payer) entry(page string, units int, reloaded bool) store.Entry {
	u := restBy(signInCredential(p.signIn), cola.MeterListRecords, units)
	u.Channel = cola.ChannelDashboard
	e := charge(p.account, 0, u) // exempt from the rate limit
	e.Pages = []store.PagePayment{{PageKey: p.key(page), Units: units, Reloaded: reloaded}}
	return e
}

// load settles a page as the ledger does: it charges for the rows that are not paid for yet. It
// returns the batch ID, the batch's entries, and the number of rows already paid for.
func (p payer) load(page string, units int) (id store.BatchID, entries []store.Entry, paid int) {
	p.t.Helper()
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{p.account}, Pages: []store.PageKey{p.key(page)}}
	err := p.st.Settle(context.Background(), batch, func(_ time.Time, states []store.AccountState) []store.Entry {
		paid = states[0].Paid[p.key(page)]
		entries = []store.Entry{p.entry(page, units-min(units, paid), paid > 0)}
		return entries
	})
	if err != nil {
		p.t.Error(err)
	}
	return batch.ID, entries, paid
}

func (p payer) checkPaid(page string, want int) {
	p.t.Helper()
	batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{p.account}, Pages: []store.PageKey{p.key(page)}}
	err := p.st.Settle(p.t.Context(), batch, func(_ time.Time, states []store.AccountState) []store.Entry {
		if got := states[0].Paid[p.key(page)]; got != want {
			p.t.Errorf("paid for %s = %d, want %d", page, got, want)
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p payer) checkUsed(want int) {
	p.t.Helper()
	if got := mustUsage(p.t, p.st, p.account).Used.ListRecords; got != want {
		p.t.Errorf("list records used = %d, want %d", got, want)
	}
}

// paidPages checks that payments for the same session and page add up, and are found until
// PageRetention has passed.
func paidPages(t *testing.T, st store.Store, c *clock) {
	p, stranger := mustPayer(t, st, "a@example.com"), mustPayer(t, st, "b@example.com")
	other := payer{t, st, p.account, mustSignIn(t, st, p.account).ID}
	p.load("one", 7)
	p.checkPaid("one", 7)
	p.checkPaid("two", 0)
	other.checkPaid("one", 0)
	stranger.checkPaid("one", 0)
	payer{t, st, stranger.account, p.signIn}.checkPaid("one", 0) // another account's session
	c.advance(store.PageRetention - time.Second)
	if _, _, paid := p.load("one", 20); paid != 7 {
		t.Errorf("paid = %d, want 7", paid)
	}
	p.checkPaid("one", 20)
	p.checkUsed(20)
	c.advance(time.Second) // the first payment expires
	p.checkPaid("one", 13)
	c.advance(store.PageRetention)
	p.checkPaid("one", 0)
	if _, _, paid := p.load("one", 20); paid != 0 {
		t.Errorf("paid = %d, want 0", paid)
	}
	p.checkUsed(40)
}

// voidPaidPage checks that a voided batch leaves no payment behind.
func voidPaidPage(t *testing.T, st store.Store, _ *clock) {
	p := mustPayer(t, st, "a@example.com")
	p.load("one", 7)
	id, entries, _ := p.load("one", 20)
	for range 2 {
		if err := st.Void(t.Context(), id, entries); err != nil {
			t.Fatal(err)
		}
		p.checkPaid("one", 7)
		p.checkUsed(7)
	}
}

// voidReloadedPage checks that rows shown in a reload remain charged when the batch that charged
// for them is voided, because otherwise they would be free.
func voidReloadedPage(t *testing.T, st store.Store, _ *clock) {
	p := mustPayer(t, st, "a@example.com")
	id, entries, _ := p.load("one", 20)
	other, otherEntries, _ := p.load("two", 5)
	if _, _, paid := p.load("one", 20); paid != 20 {
		t.Errorf("paid = %d, want 20", paid)
	}
	if err := st.Void(t.Context(), id, entries); err != nil {
		t.Fatal(err)
	}
	if err := st.Void(t.Context(), other, otherEntries); err != nil {
		t.Fatal(err)
	}
	p.checkPaid("one", 20)
	p.checkPaid("two", 0)
	p.checkUsed(20)
	if entries[0].Units[0].Units != 20 {
		t.Error("Void changed the entries")
	}
}

// voidPageAndReload checks that a page remains charged if its batch and the batch of its reload are
// both voided, in either order, and that the session can still reload it without a charge.
func voidPageAndReload(t *testing.T, st store.Store, _ *clock) {
	p := mustPayer(t, st, "a@example.com")
	type batch struct {
		id      store.BatchID
		entries []store.Entry
	}
	for i, page := range []string{"one", "two"} {
		var batches []batch
		for _, units := range []int{20, 25} { // the reload has five more rows
			id, entries, _ := p.load(page, units)
			batches = append(batches, batch{id, entries})
		}
		if i > 0 {
			slices.Reverse(batches)
		}
		for _, b := range batches {
			mustDo(t, st.Void(t.Context(), b.id, b.entries))
		}
		p.checkPaid(page, 20)
		p.checkUsed(20 * (i + 1))
	}
}

// concurrentVoidAndReload checks that every shown row is charged once, whether the void or the
// reload comes first.
func concurrentVoidAndReload(t *testing.T, st store.Store, _ *clock) {
	p := mustPayer(t, st, "a@example.com")
	for range 20 { // each page is distinct, because usage grows
		before := mustUsage(t, st, p.account).Used.ListRecords
		page := fmt.Sprint(before)
		id, entries, _ := p.load(page, 20)
		done := make(chan error)
		go func() { done <- st.Void(context.WithoutCancel(t.Context()), id, entries) }()
		p.load(page, 20)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		p.checkPaid(page, 20)
		p.checkUsed(before + 20)
	}
}

// pageWithoutCharge checks that a payment must be part of the entry's charge.
func pageWithoutCharge(t *testing.T, st store.Store, _ *clock) {
	p := mustPayer(t, st, "a@example.com")
	for name, change := range map[string]func(e *store.Entry){
		"more than charged":  func(e *store.Entry) { e.Pages[0].Units++ },
		"another credential": func(e *store.Entry) { e.Units[0].Credential = keyCredential(p.signIn) },
		"another meter":      func(e *store.Entry) { e.Units[0].Meter = cola.MeterDetailViews },
		"negative":           func(e *store.Entry) { e.Pages[0].Units = -1 },
		"no page":            func(e *store.Entry) { e.Pages[0].Page = "" },
	} {
		e := p.entry("one", 20, false)
		change(&e)
		batch := store.Batch{ID: NewBatchID(), Accounts: []cola.AccountID{p.account}}
		err := st.Settle(t.Context(), batch, func(time.Time, []store.AccountState) []store.Entry { return []store.Entry{e} })
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	p.checkPaid("one", 0)
	p.checkUsed(0)
}

// ExpiredPaidPages checks that payments for pages are deleted with their batches, after two hours:
// by deleteOld, if the backend deletes them in the background, or else by the next payment. count
// returns the number of stored payments.
func ExpiredPaidPages(t *testing.T, st store.Store, advance func(time.Duration), deleteOld func() error, count func() int) {
	p := mustPayer(t, st, "a@example.com")
	for n := range 30 {
		advance(10 * time.Minute)
		p.load(fmt.Sprint(n), 20)
	}
	mustDo(t, deleteOld())
	checkEqual(t, "number of payments", 12, count())
}
