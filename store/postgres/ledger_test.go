package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// chargeLimit is what the tests of several processes charge an account up to.
const chargeLimit = 1_500

func randomBatchID() (id store.BatchID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// chargeNext charges an account one list record, unless that is over the limit, and returns how many were granted.
func chargeNext(ctx context.Context, s *Store, account cola.AccountID) (granted int, err error) {
	err = s.Settle(ctx, store.Batch{ID: randomBatchID(), Accounts: []cola.AccountID{account}},
		func(_ time.Time, states []store.AccountState) []store.Entry {
			granted = min(1, chargeLimit-states[0].Used.ListRecords)
			return []store.Entry{{Account: account, Units: []store.Units{{
				Channel: cola.ChannelREST, Credential: cola.Credential{Kind: cola.CredentialKey, ID: 1},
				Meter: cola.MeterListRecords, Units: granted, Requests: 1,
			}}}}
		})
	return granted, err
}

// childCharge charges the first account up to the limit, saying after each charge how many it has been granted.
func childCharge(ctx context.Context, s *Store, out io.Writer) error {
	for n := 0; ; n++ {
		granted, err := chargeNext(ctx, s, 1)
		if err != nil || granted == 0 {
			return err
		}
		fmt.Fprintf(out, "granted %d\n", n+1)
	}
}

// TestProcessesShareAnAccount: two processes, and goroutines of a third, end exactly at the limit.
func TestProcessesShareAnAccount(t *testing.T) {
	url := migratedDatabase(t)
	s := mustOpen(t, url, Options{Logger: quiet()})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	total := 0
	var wg sync.WaitGroup
	for range 2 {
		p, _ := startProcess(t, "charge", url)
		wg.Go(func() {
			granted := 0
			for {
				line, err := p.out.ReadString('\n')
				if err != nil {
					break
				}
				if _, err := fmt.Sscanf(line, "granted %d", &granted); err != nil {
					t.Errorf("the process says %q", line)
				}
			}
			p.wait(t)
			mu.Lock()
			defer mu.Unlock()
			total += granted
		})
	}
	for range 4 {
		wg.Go(func() {
			for {
				granted, err := chargeNext(t.Context(), s, account.ID)
				mu.Lock()
				total += granted
				mu.Unlock()
				if err != nil {
					t.Errorf("charge: %v", err)
				}
				if err != nil || granted == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	usage, err := s.AccountUsage(t.Context(), account.ID)
	if err != nil || usage.Used.ListRecords != chargeLimit || total != chargeLimit {
		t.Errorf("%d records are in the ledger (%v), %d were granted; want %d", usage.Used.ListRecords, err, total, chargeLimit)
	}
}

// TestKilledLedgerLosesNothing: what a killed process said was granted is in the ledger, and at most the one charge more
// that it was about to tell of.
func TestKilledLedgerLosesNothing(t *testing.T) {
	url := migratedDatabase(t)
	s := mustOpen(t, url, Options{Logger: quiet()})
	account, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierFree)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for round := range 3 {
		p, _ := startProcess(t, "charge", url)
		granted := 0
		for range 50 + 20*round {
			if _, err := fmt.Sscanf(p.line(t), "granted %d", &granted); err != nil {
				t.Fatal(err)
			}
		}
		_ = p.cmd.Process.Kill()
		for { // what it said before it was gone
			line, err := p.out.ReadString('\n')
			if err != nil {
				break
			}
			_, _ = fmt.Sscanf(line, "granted %d", &granted)
		}
		p.kill()
		told += granted
		usage, err := s.AccountUsage(t.Context(), account.ID)
		if err != nil || usage.Used.ListRecords < told || usage.Used.ListRecords > told+1 {
			t.Fatalf("%d records are in the ledger (%v), the processes said %d", usage.Used.ListRecords, err, told)
		}
		told = usage.Used.ListRecords
	}
}

// TestDatabaseClock: without a clock of the caller's, all instants are of the database's clock, and days and months are UTC
// whatever zone the server is in. The conformance suite has a clock of its own.
func TestDatabaseClock(t *testing.T) {
	url := migratedDatabase(t)
	s := mustOpen(t, url, Options{Logger: quiet()})
	read := func() (now time.Time) {
		query(t, url, `SELECT clock_timestamp()`, &now)
		return now
	}
	begun := read()
	a, err := s.CreateAccount(t.Context(), "a@example.com", cola.TierPro)
	if err != nil {
		t.Fatal(err)
	}
	key := func(n byte, expires time.Time) cola.Credential {
		t.Helper()
		k, err := s.CreateKey(t.Context(), store.Key{AccountID: a.ID, ExpiresAt: expires}, store.KeyHash{n})
		if err != nil {
			t.Fatal(err)
		}
		return cola.Credential{Kind: cola.CredentialKey, ID: k.ID}
	}
	lasting, over, later := key(1, time.Time{}), key(2, begun), key(3, begun.Add(time.Hour))
	var instants []time.Time
	batch := store.Batch{Accounts: []cola.AccountID{a.ID, a.ID + 1}, Credentials: []cola.Credential{lasting, over, later}}
	for range 2 {
		batch.ID = randomBatchID()
		err := s.Settle(t.Context(), batch, func(now time.Time, states []store.AccountState) []store.Entry {
			want := store.AccountState{Account: a.ID, Exists: true, Tier: cola.TierPro, Used: cola.Used{ListRecords: 20 * len(instants)},
				Valid: map[cola.Credential]bool{lasting: true, later: true}}
			for _, at := range instants {
				want.Grants = append(want.Grants, store.Grant{At: at, Requests: 1})
			}
			if diff := cmp.Diff([]store.AccountState{want, {Account: a.ID + 1, Valid: map[cola.Credential]bool{}}}, states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			instants = append(instants, now)
			return []store.Entry{{Account: a.ID, Requests: 1, Units: []store.Units{{
				Channel: cola.ChannelREST, Credential: lasting, Meter: cola.MeterListRecords, Units: 20, Requests: 1}}}}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RevokeKey(t.Context(), later.ID); err != nil {
		t.Fatal(err)
	}
	used, err := s.KeyByHash(t.Context(), store.KeyHash{1})
	if err != nil {
		t.Fatal(err)
	}
	revoked, err := s.KeyByHash(t.Context(), store.KeyHash{3})
	if err != nil || !used.LastUsedAt.Equal(instants[0]) {
		t.Errorf("last used at %v (%v), want %v: the second use is not a minute later", used.LastUsedAt, err, instants[0])
	}
	order := []time.Time{begun, a.CreatedAt, used.CreatedAt, instants[0], instants[1], revoked.RevokedAt, read()}
	if !slices.IsSortedFunc(order, time.Time.Compare) {
		t.Errorf("instants %v are not in order", order)
	}
	days, err := s.DailyUsage(t.Context(), a.ID, cola.DateOf(begun), cola.DateOf(order[6]))
	if err != nil || len(days) == 0 || days[0].Day != cola.DateOf(instants[0]) {
		t.Errorf("days %v (%v), want %v", days, err, cola.DateOf(instants[0]))
	}
}
