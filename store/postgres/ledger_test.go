package postgres

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/storetest"
)

// TestDatabaseClock checks that all times come from the database's clock by default, and that days
// and months are in UTC regardless of the server's time zone. The conformance suite sets its own
// clock.
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
		k, err := s.CreateKey(t.Context(), store.Key{AccountID: a.ID, ExpiresAt: expires}, store.KeyHash{n}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return cola.Credential{Kind: cola.CredentialKey, ID: k.ID}
	}
	lasting, over, later := key(1, time.Time{}), key(2, begun), key(3, begun.Add(time.Hour))
	var instants []time.Time
	batch := store.Batch{Accounts: []cola.AccountID{a.ID, a.ID + 1},
		Credentials: []cola.Credential{lasting, over, later}}
	for range 2 {
		batch.ID = storetest.NewBatchID()
		err := s.Settle(t.Context(), batch, func(now time.Time, states []store.AccountState) []store.Entry {
			want := store.AccountState{Account: a.ID, Exists: true, Tier: cola.TierPro,
				Used:  cola.Used{ListRecords: 20 * len(instants)},
				Valid: map[cola.Credential]bool{lasting: true, later: true}}
			for _, at := range instants {
				want.Grants = append(want.Grants, store.Grant{At: at, Requests: 1})
			}
			if diff := cmp.Diff([]store.AccountState{want, {Account: a.ID + 1, Valid: map[cola.Credential]bool{}}},
				states); diff != "" {
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
	if err := s.RevokeKey(t.Context(), 0, later.ID); err != nil {
		t.Fatal(err)
	}
	used, err := s.KeyByHash(t.Context(), store.KeyHash{1})
	if err != nil {
		t.Fatal(err)
	}
	revoked, err := s.KeyByHash(t.Context(), store.KeyHash{3})
	if err != nil || !used.LastUsedAt.Equal(instants[0]) {
		t.Errorf("LastUsedAt = %v (error %v), want %v: the second use is within a minute",
			used.LastUsedAt, err, instants[0])
	}
	order := []time.Time{begun, a.CreatedAt, used.CreatedAt, instants[0], instants[1], revoked.RevokedAt, read()}
	if !slices.IsSortedFunc(order, time.Time.Compare) {
		t.Errorf("times %v are not in order", order)
	}
	days, err := s.DailyUsage(t.Context(), a.ID, cola.DateOf(begun), cola.DateOf(order[6]))
	if err != nil || len(days) == 0 || days[0].Day != cola.DateOf(instants[0]) {
		t.Errorf("DailyUsage = %v (error %v), want day %v", days, err, cola.DateOf(instants[0]))
	}
}
