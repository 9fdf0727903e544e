package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testRefusals(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"refusals come back, latest first", refusalsComeBack},
		{"refusals of one minute that are alike are counted", refusalsAreCounted},
		{"the latest refusals of each account are kept", latestRefusalsAreKept},
		{"what cannot be noted is passed over or refused", refusalsToPassOver},
		{"refusals are noted by many at once", refusalsAtOnce},
	})
}

// refused returns a refusal at the start of a minute, counted from the epoch.
func refused(account cola.AccountID, minute int, reason string, count int) store.AccountRefusal {
	at := epoch.Truncate(time.Minute).Add(time.Duration(minute) * time.Minute)
	return store.AccountRefusal{Account: account, Refusal: store.Refusal{Minute: at, Channel: cola.ChannelREST, Credential: keyCredential(1),
		Reason: reason, Count: count, LastAt: at}}
}

func mustNoteRefusals(t tb, st store.Store, refusals ...store.AccountRefusal) {
	t.Helper()
	mustDo(t, st.RecordRefusals(context.Background(), refusals))
}

func mustRefusals(t tb, st store.Store, account cola.AccountID) []store.Refusal {
	t.Helper()
	list, err := st.Refusals(context.Background(), account, 10*store.MaxRefusals)
	return must(t, list, err)
}

func refusalsComeBack(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustNoteRefusals(t, st)
	same(t, "none", 0, len(mustRefusals(t, st, a.ID)))
	first, second, others := refused(a.ID, 1, "burst", 3), refused(a.ID, 2, "o'reason 100%_ ü", 1), refused(b.ID, 3, "quota", 1)
	second.Channel, second.Credential = cola.ChannelDashboard, signInCredential(7)
	told := first
	told.Minute, told.LastAt = first.Minute.In(time.FixedZone("", 3600)), first.LastAt.Add(789*time.Nanosecond) // stored in UTC, in whole microseconds
	mustNoteRefusals(t, st, told, others, second)
	same(t, "of an account", []store.Refusal{second.Refusal, first.Refusal}, mustRefusals(t, st, a.ID))
	same(t, "of another", []store.Refusal{others.Refusal}, mustRefusals(t, st, b.ID))
	for most, want := range map[int][]store.Refusal{1: {second.Refusal}, 0: nil, -1: nil} {
		list, err := st.Refusals(t.Context(), a.ID, most)
		same(t, fmt.Sprintf("%d at most", most), want, must(t, list, err))
	}
	for _, nobody := range []cola.AccountID{0, b.ID + 100} {
		same(t, "of nobody", 0, len(mustRefusals(t, st, nobody)))
	}
}

func refusalsAreCounted(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	one := refused(a.ID, 1, "burst", 2)
	later, earlier := one, one
	later.Count, later.LastAt = 5, one.LastAt.Add(30*time.Second)
	earlier.Count, earlier.LastAt = 7, one.LastAt.Add(10*time.Second)
	mustNoteRefusals(t, st, one, later, earlier) // duplicates in one call
	mustNoteRefusals(t, st, earlier)             // in another call, out of order
	want := []store.AccountRefusal{later}
	want[0].Count = 2 + 5 + 7 + 7
	for n, differ := range []func(*store.AccountRefusal){
		func(r *store.AccountRefusal) { r.Minute = r.Minute.Add(-time.Minute) },
		func(r *store.AccountRefusal) { r.Channel = cola.ChannelMCP },
		func(r *store.AccountRefusal) { r.Credential.Kind = cola.CredentialSignIn },
		func(r *store.AccountRefusal) { r.Credential.ID++ },
		func(r *store.AccountRefusal) { r.Reason = "quota" },
	} {
		other := one
		other.LastAt = one.LastAt.Add(-time.Duration(n+1) * time.Second)
		differ(&other)
		mustNoteRefusals(t, st, other)
		want = append(want, other)
	}
	var told []store.Refusal
	for i := range want {
		told = append(told, want[i].Refusal)
		want[i].Account = b.ID
	}
	same(t, "refusals", told, mustRefusals(t, st, a.ID))
	mustNoteRefusals(t, st, want...) // distinct ones in one call
	same(t, "noted together", told, mustRefusals(t, st, b.ID))
}

func latestRefusalsAreKept(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustNoteRefusals(t, st, refused(b.ID, 0, "burst", 1))
	var all []store.AccountRefusal
	for minute := range store.MaxRefusals + 50 {
		all = append(all, refused(a.ID, minute, "burst", 1), refused(a.ID, minute, "quota", 1))
	}
	// A late refusal older than all retained ones is dropped at once.
	half := len(all) / 2
	mustNoteRefusals(t, st, all[half:]...)
	mustNoteRefusals(t, st, all[:half]...)
	kept := mustRefusals(t, st, a.ID)
	same(t, "kept", store.MaxRefusals, len(kept))
	for i, r := range kept {
		if want := all[len(all)-1-i/2*2].LastAt; !r.LastAt.Equal(want) {
			t.Fatalf("refusal %d is of %v, want %v", i, r.LastAt, want)
		}
	}
	// A late refusal that adds to a retained one stays.
	again := refused(a.ID, store.MaxRefusals, "burst", 1)
	again.LastAt = again.LastAt.Add(anHour * 10)
	mustNoteRefusals(t, st, again)
	for minute := range store.MaxRefusals - 1 {
		mustNoteRefusals(t, st, refused(a.ID, 1_000+minute, "burst", 1))
	}
	kept = mustRefusals(t, st, a.ID)
	if last := slices.MaxFunc(kept, func(x, y store.Refusal) int { return cmp.Compare(x.Count, y.Count) }); len(kept) != store.MaxRefusals || last.Count != 2 {
		t.Errorf("%d are kept, and the one that was counted again is not among them", len(kept))
	}
	same(t, "of another account", []store.Refusal{refused(b.ID, 0, "burst", 1).Refusal}, mustRefusals(t, st, b.ID))
}

func refusalsToPassOver(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	good := refused(a.ID, 1, "burst", 1)
	mustNoteRefusals(t, st, refused(a.ID+100, 1, "burst", 1), refused(0, 1, "burst", 1), refused(a.ID, 2, "burst", 0), refused(a.ID, 3, "burst", -4), good)
	mustNoteRefusals(t, st, refused(a.ID+100, 1, "burst", 1))
	same(t, "noted", []store.Refusal{good.Refusal}, mustRefusals(t, st, a.ID))
	for _, reason := range []string{"a\x00b", "\xff"} {
		if err := st.RecordRefusals(t.Context(), []store.AccountRefusal{refused(a.ID, 2, "quota", 1), refused(a.ID, 2, reason, 1)}); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("NoteRefusals with the reason %q: %v, want ErrMalformed", reason, err)
		}
	}
	same(t, "noted", []store.Refusal{good.Refusal}, mustRefusals(t, st, a.ID))
}

// noteRounds is the number of rounds of each concurrent writer.
const noteRounds = 40

// noteMany records refusals of several accounts in minutes that other writers share, in its own
// order. It returns the number of refusals.
func noteMany(ctx context.Context, st store.Store, accounts []store.Account, i int) (noted int, err error) {
	for n := range noteRounds {
		var batch []store.AccountRefusal
		for _, a := range accounts {
			for minute := range 5 {
				batch = append(batch, refused(a.ID, n*5+minute, "burst", 1))
			}
		}
		if i%2 == 1 {
			slices.Reverse(batch)
		}
		if err := st.RecordRefusals(ctx, batch); err != nil {
			return noted, err
		}
		noted += len(batch)
	}
	return noted, nil
}

// mustAddUp checks the total count of refusals and that no more of them than the limit are
// retained.
func mustAddUp(t *testing.T, st store.Store, accounts []store.Account, want int) {
	t.Helper()
	sum := 0
	for _, a := range accounts {
		list := mustRefusals(t, st, a.ID)
		same(t, "rows", noteRounds*5, len(list))
		for _, r := range list {
			sum += r.Count
		}
	}
	same(t, "refusals in all", want, sum)
}

func refusalsAtOnce(t *testing.T, st store.Store, _ *clock) {
	accounts := []store.Account{mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)}
	const many = 6
	atOnce(many, func(i int) {
		if _, err := noteMany(t.Context(), st, accounts, i); err != nil {
			t.Error(err)
		}
	})
	mustAddUp(t, st, accounts, many*noteRounds*5*len(accounts))
}

// childNote records refusals of every account and prints the total.
func childNote(ctx context.Context, st store.Store, out io.Writer) error {
	accounts, err := st.Accounts(ctx)
	if err != nil {
		return err
	}
	noted, err := noteMany(ctx, st, accounts, 1)
	fmt.Fprintf(out, "noted %d\n", noted)
	return err
}

// noteTogether checks that refusals in the same minutes add up across two processes and goroutines
// of a third.
func noteTogether(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	accounts := []store.Account{mustAccount(t, db, chargedAccount, cola.TierFree), mustAccount(t, db, "b@example.com", cola.TierFree)}
	total := together(t, place, "note", "noted %d", func(i int) (int, error) { return noteMany(t.Context(), db, accounts, i) })
	mustAddUp(t, db, accounts, total)
}

func furnishRefusals(t *testing.T, st store.Store, account cola.AccountID) {
	t.Helper()
	late := refused(account, 1, "ünïcode", 2)
	late.LastAt, late.Credential = late.LastAt.Add(time.Second), signInCredential(1)
	mustNoteRefusals(t, st, late, refused(account, 2, "burst", 1))
}

func movedRefusalsDoTheSame(t *testing.T, from, to store.Store, account cola.AccountID) {
	for range 2 {
		same(t, "refusals", mustRefusals(t, from, account), mustRefusals(t, to, account))
		for _, st := range []store.Store{from, to} {
			mustNoteRefusals(t, st, refused(account, 2, "burst", 1))
		}
	}
}
