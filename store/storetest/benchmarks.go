package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// BenchmarkHotPaths measures store calls that requests and page views make. It starts with an empty
// store.
func BenchmarkHotPaths(b *testing.B, st store.Store) {
	account, err := st.CreateAccount(b.Context(), "ann@example.com", cola.TierPro)
	if err != nil {
		b.Fatal(err)
	}
	hash := store.KeyHash{1}
	if _, err := st.CreateKey(b.Context(),
		store.Key{AccountID: account.ID, Name: "key", Prefix: "lar_", LastFour: "wxyz"}, hash, 0); err != nil {
		b.Fatal(err)
	}
	until := time.Now().Add(24 * time.Hour)
	if err := st.SaveSession(b.Context(), "session", make([]byte, 200), until); err != nil {
		b.Fatal(err)
	}
	for _, k := range []struct {
		name string
		run  func() error
	}{
		{"KeyByHash", func() error { _, err := st.KeyByHash(b.Context(), hash); return err }},
		{"Session", func() error { _, err := st.Session(b.Context(), "session"); return err }},
		{"SaveSession", func() error { return st.SaveSession(b.Context(), "session", make([]byte, 200), until) }},
		{"SavedSearches", func() error { _, _, err := st.SavedSearches(b.Context(), account.ID, 0, 20); return err }},
	} {
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				if err := k.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSettle measures sequential batches that charge 1, 24 or 100 accounts each. open returns
// an empty store. cpuTime returns the CPU time of this process; on a busy machine, only CPU times
// are comparable.
func BenchmarkSettle(b *testing.B, open func(b *testing.B) store.Store, cpuTime func() time.Duration) {
	for _, perBatch := range []int{1, 24, 100} {
		b.Run(fmt.Sprint("accounts=", perBatch), func(b *testing.B) {
			st := open(b)
			accounts := SampleAccounts(b, st, 1200)
			before := cpuTime()
			for n := 0; b.Loop(); n++ {
				from := n * perBatch % len(accounts)
				if err := ChargeAll(b.Context(), st, accounts[from:from+perBatch]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*perBatch)/b.Elapsed().Seconds(), "charges/s")
			b.ReportMetric((cpuTime()-before).Seconds()*1e6/float64(b.N*perBatch), "cpu-µs/charge")
		})
	}
}

// SampleAccounts creates n accounts in an empty store, each with one key. A key has the same ID as
// its account.
func SampleAccounts(tb testing.TB, st store.Store, n int) (ids []cola.AccountID) {
	tb.Helper()
	for i := range n {
		a, err := st.CreateAccount(tb.Context(), fmt.Sprintf("%d@example.com", i), cola.TierPro)
		if err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, a.ID)
	}
	SampleKeys(tb, st, ids)
	return ids
}

// SampleKeys creates a key for each account.
func SampleKeys(tb testing.TB, st store.Store, accounts []cola.AccountID) {
	tb.Helper()
	for i, id := range accounts {
		if _, err := st.CreateKey(tb.Context(), store.Key{AccountID: id},
			store.KeyHash{byte(i), byte(i >> 8), byte(i >> 16)}, 0); err != nil {
			tb.Fatal(err)
		}
	}
}

// ChargeAll charges each account for a page of 20 list records, with a key from SampleKeys.
func ChargeAll(ctx context.Context, st store.Store, accounts []cola.AccountID) error {
	batch := store.Batch{ID: NewBatchID(), Accounts: accounts}
	for _, id := range accounts {
		batch.Credentials = append(batch.Credentials, cola.Credential{Kind: cola.CredentialKey, ID: int64(id)})
	}
	return st.Settle(ctx, batch, func(_ time.Time, states []store.AccountState) (entries []store.Entry) {
		for i, state := range states {
			if !state.Valid[batch.Credentials[i]] {
				continue
			}
			requests := 0
			if len(state.Grants) < cola.TierPro.Limits().PerMinute { // a window never holds more
				requests = 1
			}
			entries = append(entries, store.Entry{Account: state.Account, Requests: requests, Units: []store.Units{{
				Channel:    cola.ChannelREST,
				Credential: batch.Credentials[i],
				Meter:      cola.MeterListRecords,
				Units:      20,
				Requests:   1,
			}}})
		}
		return entries
	})
}

// SampleSearches returns n saved searches and their accounts, for Fill. Each account has ten. All
// searches run daily at the same hour and notify the account's address.
func SampleSearches(n int) iter.Seq2[*store.Item, error] {
	return func(yield func(*store.Item, error) bool) {
		for i := 0; i < n; i += 10 {
			a := store.Account{
				ID:          cola.AccountID(i/10 + 1),
				Email:       fmt.Sprintf("%d@example.com", i),
				Tier:        cola.TierPro,
				CreatedAt:   epoch,
				ActiveLimit: 10,
			}
			if !yield(&store.Item{Kind: store.ItemAccount, Account: a}, nil) {
				return
			}
		}
		for i := range n {
			s := dueSearch(cola.AccountID(i/10+1), i, epoch)
			s.Search.CreatedAt = cola.TimestampOf(epoch)
			s.Search.Schedule.Cadence = cola.CadenceDaily
			s.Search.Schedule.Day = 0
			stored := store.StoredSearch{
				ID:          int64(i + 1),
				Account:     s.Account,
				Mark:        store.Mark{At: epoch, Revision: 1},
				SavedSearch: s.Search,
			}
			if !yield(&store.Item{Kind: store.ItemSearch, Search: stored}, nil) {
				return
			}
		}
		for i := range (n + 9) / 10 {
			name := fmt.Sprintf("own %d", i)
			own := cola.Destination{
				UUID:      name,
				Kind:      cola.KindEmail,
				State:     cola.DestinationActive,
				CreatedAt: cola.TimestampOf(epoch),
			}
			stored := store.StoredDestination{
				ID:          int64(i + 1),
				Destination: store.Destination{Destination: own, Account: cola.AccountID(i + 1), Own: true},
			}
			if !yield(&store.Item{Kind: store.ItemDestination, Destination: stored}, nil) {
				return
			}
		}
	}
}

// RunSampleSearches runs all searches that are due on the given day, in batches of 1,000. Each run
// has zero to two new matches. RunSampleSearches returns the number of runs.
func RunSampleSearches(ctx context.Context, st store.Store, day int) (runs int, err error) {
	rev, err := st.Revision(ctx)
	if err != nil {
		return 0, err
	}
	now := epoch.Add(time.Duration(day) * 24 * time.Hour)
	mark, next := store.Mark{At: now, Revision: rev}, cola.TimestampOf(now.Add(24*time.Hour))
	for {
		claimed, err := st.ClaimDue(ctx, now, 1_000, time.Hour)
		if err != nil || len(claimed) == 0 {
			return runs, err
		}
		records := make([]store.RunRecord, len(claimed))
		for i, d := range claimed {
			records[i] = store.RunRecord{
				Due:  d,
				Mark: mark,
				Next: next,
				From: cola.DateOf(d.Mark.At),
				To:   cola.DateOf(now),
			}
			for m := range i % 3 {
				records[i].Matches = append(records[i].Matches,
					store.RunMatch{TTBID: firstID + cola.TTBID(10*day+m), Late: m == 1})
			}
		}
		outcomes, err := st.RecordRuns(ctx, records)
		for _, o := range outcomes {
			if !o.Recorded {
				return runs, errors.New("run not recorded")
			}
			runs++
		}
		if err != nil {
			return runs, err
		}
	}
}
