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
	start := read()
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
	lasting, expired, expiring := key(1, time.Time{}), key(2, start), key(3, start.Add(time.Hour))
	var times []time.Time
	batch := store.Batch{
		Accounts:    []cola.AccountID{a.ID, a.ID + 1},
		Credentials: []cola.Credential{lasting, expired, expiring},
	}
	unscoped := store.KeyAccess{Scopes: []cola.Scope{}}
	for range 2 {
		batch.ID = storetest.NewBatchID()
		err := s.Settle(t.Context(), batch, func(now time.Time, states []store.AccountState) []store.Entry {
			want := store.AccountState{
				Account: a.ID,
				Exists:  true,
				Tier:    cola.TierPro,
				Used:    cola.Used{ListRecords: 20 * len(times)},
				Valid:   map[cola.Credential]bool{lasting: true, expiring: true},
				Keys:    map[cola.Credential]store.KeyAccess{lasting: unscoped, expiring: unscoped},
			}
			for _, at := range times {
				want.Grants = append(want.Grants, store.Grant{At: at, Requests: 1})
			}
			unknown := store.AccountState{
				Account: a.ID + 1,
				Valid:   map[cola.Credential]bool{},
				Keys:    map[cola.Credential]store.KeyAccess{},
			}
			if diff := cmp.Diff([]store.AccountState{want, unknown}, states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			times = append(times, now)
			return []store.Entry{{Account: a.ID, Requests: 1, Units: []store.Units{{
				Channel:    cola.ChannelREST,
				Credential: lasting,
				Meter:      cola.MeterListRecords,
				Units:      20,
				Requests:   1,
			}}}}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RevokeKey(t.Context(), 0, expiring.ID); err != nil {
		t.Fatal(err)
	}
	used, err := s.KeyByHash(t.Context(), store.KeyHash{1})
	if err != nil {
		t.Fatal(err)
	}
	revoked, err := s.KeyByHash(t.Context(), store.KeyHash{3})
	if err != nil || !used.LastUsedAt.Equal(times[0]) {
		t.Errorf("LastUsedAt = %v (error %v), want %v: the second use is within a minute",
			used.LastUsedAt, err, times[0])
	}
	order := []time.Time{start, a.CreatedAt, used.CreatedAt, times[0], times[1], revoked.RevokedAt, read()}
	if !slices.IsSortedFunc(order, time.Time.Compare) {
		t.Errorf("times %v are not in order", order)
	}
	days, err := s.DailyUsage(t.Context(), a.ID, cola.DateOf(start), cola.DateOf(order[6]))
	if err != nil || len(days) == 0 || days[0].Day != cola.DateOf(times[0]) {
		t.Errorf("DailyUsage = %v (error %v), want day %v", days, err, cola.DateOf(times[0]))
	}
}
