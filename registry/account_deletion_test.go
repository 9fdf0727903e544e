package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// TestDeleteAccount checks that a deletion requires the account's address, rejects every
// credential, and can be undone for seven days, during which the holder can still export the data.
func TestDeleteAccount(t *testing.T) {
	w := mustWorld(t, 0)
	holder, _, on := managed(t, w, "Holder@example.com")
	key := keyCaller(holder.Account, on.key)
	for _, typed := range []string{"", "holder@example.co", "holder@example.comx", registry.DeletionPhrase, "\xff"} {
		_, err := w.DeleteAccount(t.Context(), holder, typed)
		var problem *cola.Error
		if !errors.As(err, &problem) || problem.Code != cola.CodeValidation || problem.Details["confirmation"] == nil {
			t.Errorf("DeleteAccount(%q) = %v, want a problem with the confirmation", typed, err)
		}
	}
	if _, err := w.DeleteAccount(t.Context(), key, "holder@example.com"); code(err) != cola.CodeForbidden {
		t.Errorf("DeleteAccount with a key: %v, want forbidden", err)
	}
	if _, err := w.KeepAccount(t.Context(), key); code(err) != cola.CodeForbidden {
		t.Errorf("KeepAccount with a key: %v, want forbidden", err)
	}
	w.checkIntact(t, holder, "before")
	if _, err := w.DeleteAccount(t.Context(), holder, " holder@EXAMPLE.com "); err != nil {
		t.Fatal(err)
	}
	for call, result := range managing(t.Context(), w.Service, holder, on) {
		if call != "export" && !cola.IsDeletionRequested(result.err) || call == "export" && result.err != nil {
			t.Errorf("%s = %v, want a deletion-requested error, or success for export", call, result.err)
		}
	}
	if _, err := w.Admit(t.Context(), key); !cola.IsDeletionRequested(err) {
		t.Errorf("request with a key = %v, want account_suspended", err)
	}
	_, _, suspended := w.SuspendedAccount(t.Context(), key)
	for name, err := range map[string]error{
		"ExportAccount":    errorOf(w.ExportAccount(t.Context(), key, io.Discard)),
		"KeepAccount":      errorOf(w.KeepAccount(t.Context(), key)),
		"SuspendedAccount": suspended,
	} {
		if code(err) != cola.CodeForbidden {
			t.Errorf("%s with a key: %v, want forbidden", name, err)
		}
	}
	a, _, err := w.SuspendedAccount(t.Context(), holder)
	if err != nil || !a.DeletesAt.Equal(testNow.Add(store.DeletionDelay)) {
		t.Errorf("SuspendedAccount = %+v, %v, want a deletion in seven days", a, err)
	}
	w.advance(store.DeletionDelay - time.Second)
	for range 2 {
		if _, err := w.KeepAccount(t.Context(), holder); err != nil {
			t.Fatal(err)
		}
	}
	w.checkIntact(t, holder, "after keeping the account")
}

func errorOf(_ cola.QuotaState, err error) error { return err }

// TestDeletionPhrase checks that an account without an address can also be deleted.
func TestDeletionPhrase(t *testing.T) {
	w := mustWorld(t, 0)
	named, err := w.store.AccountOf(t.Context(), store.Identity{Issuer: "https://issuer.example", Subject: "1"}, "")
	if err != nil {
		t.Fatal(err)
	}
	holder := w.mustSignIn(t, named.ID, "Firefox")
	if _, err := w.DeleteAccount(t.Context(), holder, ""); code(err) != cola.CodeValidation {
		t.Errorf("DeleteAccount(\"\") = %v, want validation_error", err)
	}
	if _, err := w.DeleteAccount(t.Context(), holder, registry.DeletionPhrase); err != nil {
		t.Error(err)
	}
}

// TestDeleteSubscribedAccount checks that an account can be deleted only once its subscription is
// no longer set to renew.
func TestDeleteSubscribedAccount(t *testing.T) {
	w := mustWorld(t, 0)
	ann := w.mustHolder(t, "ann@example.com", cola.TierPro)
	sub, err := w.store.AddCustomer(t.Context(), ann.Account, "cus_ann")
	if err != nil {
		t.Fatal(err)
	}
	save := func(endsAt time.Time) {
		sub.SubscriptionState = store.SubscriptionState{ID: "sub_ann", Status: "active", Tier: cola.TierPro, Granted: cola.TierPro, EndsAt: endsAt}
		if err := w.store.SaveSubscription(t.Context(), sub, ""); err != nil {
			t.Fatal(err)
		}
		if sub, err = w.store.SubscriptionOf(t.Context(), ann.Account); err != nil {
			t.Fatal(err)
		}
	}
	save(time.Time{})
	if _, err := w.DeleteAccount(t.Context(), ann, "ann@example.com"); code(err) != cola.CodeValidation {
		t.Errorf("DeleteAccount with a subscription that renews = %v, want validation_error", err)
	}
	if _, err := w.Admit(t.Context(), ann); err != nil {
		t.Errorf("request after the rejected deletion = %v, want nil", err)
	}
	save(time.Now().Add(time.Hour))
	if _, err := w.DeleteAccount(t.Context(), ann, "ann@example.com"); err != nil {
		t.Errorf("DeleteAccount with a canceled subscription = %v, want nil", err)
	}
}

// TestAccountDeleter checks that due accounts are deleted, each after its external subscription has
// been canceled, and that a failure delays only one account.
func TestAccountDeleter(t *testing.T) {
	w := mustWorld(t, 0)
	ann, bob := w.mustHolder(t, "ann@example.com", cola.TierPro), w.mustHolder(t, "bob@example.com", cola.TierFree)
	failing, canceled := true, map[cola.AccountID]int{}
	d := registry.AccountDeleter{
		Store: w.store, Logger: slog.New(slog.DiscardHandler), Before: func(_ context.Context, a store.Account) error {
			if store.IsIdentityName(a.Email) {
				t.Errorf("account %d no longer has an address", a.ID)
			}
			if canceled[a.ID]++; failing && a.ID == ann.Account {
				return errors.New("payment provider unavailable")
			}
			return nil
		},
	}
	for email, c := range map[string]cola.Caller{"ann@example.com": ann, "bob@example.com": bob} {
		if _, err := w.DeleteAccount(t.Context(), c, email); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.DeleteDue(t.Context()); err != nil || len(canceled) > 0 {
		t.Errorf("before the deletion is due: %v, canceled %v, want none", err, canceled)
	}
	w.advance(store.DeletionDelay)
	if _, err := w.KeepAccount(t.Context(), ann); code(err) != cola.CodeNotFound {
		t.Errorf("KeepAccount once the deletion is due = %v, want not_found", err)
	}
	if err := d.DeleteDue(t.Context()); err == nil {
		t.Error("no error although canceling a subscription failed")
	}
	if _, err := w.store.Account(t.Context(), bob.Account); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("bob's account: %v, want ErrNotFound", err)
	}
	if _, err := w.store.Account(t.Context(), ann.Account); err != nil {
		t.Errorf("ann's account: %v, want it not deleted yet", err)
	}
	failing = false
	for range 2 {
		if err := d.DeleteDue(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := w.store.Account(t.Context(), ann.Account); !errors.Is(err, store.ErrNotFound) || canceled[ann.Account] != 2 || canceled[bob.Account] != 1 {
		t.Errorf("ann's account: %v, canceled %v; want it deleted after the second attempt", err, canceled)
	}
	for name, err := range map[string]error{"a request": errorOf(w.Admit(t.Context(), ann)), "KeepAccount": errorOf(w.KeepAccount(t.Context(), ann))} {
		if code(err) != cola.CodeUnauthorized {
			t.Errorf("%s with a session of a deleted account = %v, want unauthorized", name, err)
		}
	}
}

// TestBlockedDeletions blocks more accounts than are read at once: the account after them is still
// deleted, and the log names each blocked account once.
func TestBlockedDeletions(t *testing.T) {
	w := mustWorld(t, 0)
	const blocked = 101
	var last store.Account
	for i := range blocked + 1 {
		a, err := w.store.CreateAccount(t.Context(), fmt.Sprintf("a%d@example.com", i), cola.TierFree)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.RequestDeletion(t.Context(), a.ID, time.Duration(i)); err != nil {
			t.Fatal(err)
		}
		last = a
	}
	w.advance(time.Hour)
	var log bytes.Buffer
	failing := true
	d := registry.AccountDeleter{
		Store: w.store, Logger: slog.New(slog.NewTextHandler(&log, nil)), Before: func(_ context.Context, a store.Account) error {
			if failing && a.ID != last.ID {
				return errors.New("payment provider unavailable")
			}
			return nil
		},
	}
	for range 2 {
		if err := d.DeleteDue(t.Context()); err == nil {
			t.Error("no error although accounts are blocked")
		}
	}
	if _, err := w.store.Account(t.Context(), last.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the account after the blocked ones: %v, want ErrNotFound", err)
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != blocked {
		t.Errorf("%d errors logged, want %d", n, blocked)
	}
	failing = false
	if err := d.DeleteDue(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "is working again"); n != blocked {
		t.Errorf("%d recoveries logged, want %d", n, blocked)
	}
}
