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
		{"list newest first", listRefusals},
		{"identical refusals within a minute are counted together", countRefusals},
		{"only the latest are retained", refusalLimit},
		{"ignored and malformed refusals", invalidRefusals},
		{"concurrent writers", concurrentRefusals},
	})
}

// newRefusal returns a refusal at the start of the given minute after the epoch.
func newRefusal(account cola.AccountID, minute int, reason string, count int) store.AccountRefusal {
	at := epoch.Truncate(time.Minute).Add(time.Duration(minute) * time.Minute)
	return store.AccountRefusal{
		Account: account,
		Refusal: store.Refusal{
			Minute:     at,
			Channel:    cola.ChannelREST,
			Credential: keyCredential(1),
			Reason:     reason,
			Count:      count,
			LastAt:     at,
		},
	}
}

func mustRecordRefusals(t tb, st store.Store, refusals ...store.AccountRefusal) {
	t.Helper()
	mustDo(t, st.RecordRefusals(context.Background(), refusals))
}

func mustRefusals(t tb, st store.Store, account cola.AccountID) []store.Refusal {
	t.Helper()
	list, err := st.Refusals(context.Background(), account, 10*store.MaxRefusals)
	return must(t, list, err)
}

func listRefusals(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustRecordRefusals(t, st)
	checkEqual(t, "number of refusals at first", 0, len(mustRefusals(t, st, a.ID)))
	first := newRefusal(a.ID, 1, "burst", 3)
	second := newRefusal(a.ID, 2, "o'reason 100%_ ü", 1)
	other := newRefusal(b.ID, 3, "quota", 1)
	second.Channel, second.Credential = cola.ChannelDashboard, signInCredential(7)
	local := first
	// Stored in UTC, in whole microseconds.
	local.Minute, local.LastAt = first.Minute.In(time.FixedZone("", 3600)), first.LastAt.Add(789*time.Nanosecond)
	mustRecordRefusals(t, st, local, other, second)
	checkEqual(t, "Refusals", []store.Refusal{second.Refusal, first.Refusal}, mustRefusals(t, st, a.ID))
	checkEqual(t, "Refusals of another account", []store.Refusal{other.Refusal}, mustRefusals(t, st, b.ID))
	for limit, want := range map[int][]store.Refusal{1: {second.Refusal}, 0: nil, -1: nil} {
		list, err := st.Refusals(t.Context(), a.ID, limit)
		checkEqual(t, fmt.Sprintf("Refusals, limit %d", limit), want, must(t, list, err))
	}
	for _, unknown := range []cola.AccountID{0, b.ID + 100} {
		checkEqual(t, "number of refusals of an unknown account", 0, len(mustRefusals(t, st, unknown)))
	}
}

func countRefusals(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	one := newRefusal(a.ID, 1, "burst", 2)
	later, earlier := one, one
	later.Count, later.LastAt = 5, one.LastAt.Add(30*time.Second)
	earlier.Count, earlier.LastAt = 7, one.LastAt.Add(10*time.Second)
	mustRecordRefusals(t, st, one, later, earlier) // duplicates in one call
	mustRecordRefusals(t, st, earlier)             // in another call, out of order
	all := []store.AccountRefusal{later}
	all[0].Count = 2 + 5 + 7 + 7
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
		mustRecordRefusals(t, st, other)
		all = append(all, other)
	}
	var want []store.Refusal
	for i := range all {
		want = append(want, all[i].Refusal)
		all[i].Account = b.ID
	}
	checkEqual(t, "Refusals", want, mustRefusals(t, st, a.ID))
	mustRecordRefusals(t, st, all...) // distinct ones in one call
	checkEqual(t, "Refusals recorded in one call", want, mustRefusals(t, st, b.ID))
}

func refusalLimit(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustRecordRefusals(t, st, newRefusal(b.ID, 0, "burst", 1))
	var all []store.AccountRefusal
	for minute := range store.MaxRefusals + 50 {
		all = append(all, newRefusal(a.ID, minute, "burst", 1), newRefusal(a.ID, minute, "quota", 1))
	}
	// Late refusals that are older than all retained ones are dropped immediately.
	half := len(all) / 2
	mustRecordRefusals(t, st, all[half:]...)
	mustRecordRefusals(t, st, all[:half]...)
	retained := mustRefusals(t, st, a.ID)
	checkEqual(t, "number of retained refusals", store.MaxRefusals, len(retained))
	for i, r := range retained {
		if want := all[len(all)-1-i/2*2].LastAt; !r.LastAt.Equal(want) {
			t.Fatalf("refusal %d: LastAt = %v, want %v", i, r.LastAt, want)
		}
	}
	// Adding to a retained refusal makes it recent again.
	repeat := newRefusal(a.ID, store.MaxRefusals, "burst", 1)
	repeat.LastAt = repeat.LastAt.Add(anHour * 10)
	mustRecordRefusals(t, st, repeat)
	for minute := range store.MaxRefusals - 1 {
		mustRecordRefusals(t, st, newRefusal(a.ID, 1_000+minute, "burst", 1))
	}
	retained = mustRefusals(t, st, a.ID)
	if last := slices.MaxFunc(retained, func(x, y store.Refusal) int { return cmp.Compare(x.Count, y.Count) }); len(
		retained) != store.MaxRefusals || last.Count != 2 {
		t.Errorf("%d refusals retained; want %d, one of them counted twice", len(retained), store.MaxRefusals)
	}
	checkEqual(t, "Refusals of another account", []store.Refusal{newRefusal(b.ID, 0, "burst", 1).Refusal},
		mustRefusals(t, st, b.ID))
}

func invalidRefusals(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	good := newRefusal(a.ID, 1, "burst", 1)
	mustRecordRefusals(t, st, newRefusal(a.ID+100, 1, "burst", 1), newRefusal(0, 1, "burst", 1),
		newRefusal(a.ID, 2, "burst", 0), newRefusal(a.ID, 3, "burst", -4), good)
	mustRecordRefusals(t, st, newRefusal(a.ID+100, 1, "burst", 1))
	checkEqual(t, "Refusals", []store.Refusal{good.Refusal}, mustRefusals(t, st, a.ID))
	for _, reason := range []string{"a\x00b", "\xff"} {
		list := []store.AccountRefusal{newRefusal(a.ID, 2, "quota", 1), newRefusal(a.ID, 2, reason, 1)}
		if err := st.RecordRefusals(t.Context(), list); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("RecordRefusals(reason %q) error = %v, want ErrMalformed", reason, err)
		}
	}
	checkEqual(t, "Refusals after malformed ones", []store.Refusal{good.Refusal}, mustRefusals(t, st, a.ID))
}

// refusalRounds is the number of rounds that each concurrent writer runs.
const refusalRounds = 40

// recordManyRefusals records refusals for several accounts in the same minutes as other writers, in
// reverse order if i is odd. It returns the number of refusals.
func recordManyRefusals(ctx context.Context, st store.Store, accounts []store.Account, i int) (total int, err error) {
	for n := range refusalRounds {
		var batch []store.AccountRefusal
		for _, a := range accounts {
			for minute := range 5 {
				batch = append(batch, newRefusal(a.ID, n*5+minute, "burst", 1))
			}
		}
		if i%2 == 1 {
			slices.Reverse(batch)
		}
		if err := st.RecordRefusals(ctx, batch); err != nil {
			return total, err
		}
		total += len(batch)
	}
	return total, nil
}

// checkRefusalTotal checks the total count of refusals and that each account has one row per
// minute.
func checkRefusalTotal(t *testing.T, st store.Store, accounts []store.Account, want int) {
	t.Helper()
	sum := 0
	for _, a := range accounts {
		list := mustRefusals(t, st, a.ID)
		checkEqual(t, "number of rows", refusalRounds*5, len(list))
		for _, r := range list {
			sum += r.Count
		}
	}
	checkEqual(t, "number of refusals", want, sum)
}

func concurrentRefusals(t *testing.T, st store.Store, _ *clock) {
	accounts := []store.Account{
		mustAccount(t, st, "a@example.com", cola.TierFree),
		mustAccount(t, st, "b@example.com", cola.TierFree),
	}
	const many = 6
	concurrently(many, func(i int) {
		if _, err := recordManyRefusals(t.Context(), st, accounts, i); err != nil {
			t.Error(err)
		}
	})
	checkRefusalTotal(t, st, accounts, many*refusalRounds*5*len(accounts))
}

// childRefusals records refusals for every account and prints the total.
func childRefusals(ctx context.Context, st store.Store, out io.Writer) error {
	accounts, err := st.Accounts(ctx)
	if err != nil {
		return err
	}
	total, err := recordManyRefusals(ctx, st, accounts, 1)
	fmt.Fprintf(out, "recorded %d\n", total)
	return err
}

// refusalsAcrossProcesses checks that refusals in the same minutes add up across two processes and
// goroutines of a third.
func refusalsAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	accounts := []store.Account{
		mustAccount(t, db, chargedAccount, cola.TierFree),
		mustAccount(t, db, "b@example.com", cola.TierFree),
	}
	total := runTogether(t, dsn, "refusals", "recorded %d",
		func(i int) (int, error) { return recordManyRefusals(t.Context(), db, accounts, i) })
	checkRefusalTotal(t, db, accounts, total)
}

func populateRefusals(t *testing.T, st store.Store, account cola.AccountID) {
	t.Helper()
	late := newRefusal(account, 1, "ünïcode", 2)
	late.LastAt, late.Credential = late.LastAt.Add(time.Second), signInCredential(1)
	mustRecordRefusals(t, st, late, newRefusal(account, 2, "burst", 1))
}

func checkCopiedRefusals(t *testing.T, from, to store.Store, account cola.AccountID) {
	for range 2 {
		checkEqual(t, "Refusals", mustRefusals(t, from, account), mustRefusals(t, to, account))
		for _, st := range []store.Store{from, to} {
			mustRecordRefusals(t, st, newRefusal(account, 2, "burst", 1))
		}
	}
}
