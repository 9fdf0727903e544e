package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

func testSavedSearches(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"create and get", searchRoundTrip},
		{"list in order of creation", listSearches},
		{"created with destinations", createWithDestinations},
		{"another account", searchOfAnotherAccount},
		{"unknown account and duplicate UUID", createSearchErrors},
		{"malformed", malformedSearch},
		{"idempotent creation", idempotentCreation},
		{"reused idempotency key", reusedKey},
		{"idempotency key expires", keyExpiry},
		{"idempotency key of another account", keyOfAnotherAccount},
		{"concurrent repeats", concurrentRepeats},
		{"search limit", searchLimit},
		{"search limit with concurrent creation", searchLimitConcurrent},
		{"active search limit", activeLimit},
		{"active search limit with concurrent creation", activeLimitConcurrent},
	})
}

// newSearch returns the nth new search, with an active schedule.
func newSearch(account cola.AccountID, n int) store.NewSavedSearch {
	return store.NewSavedSearch{
		Account:   account,
		MaxActive: maxActive,
		Search: cola.SavedSearch{
			UUID:    fmt.Sprintf("0b9f8c0e-6a55-4f0e-9a39-%012d", n),
			Name:    fmt.Sprintf("search %d", n),
			Filters: cola.SavedSearchFilters{BrandName: "oak"},
			Schedule: &cola.Schedule{
				Active:    true,
				Cadence:   cola.CadenceWeekly,
				Day:       0,
				NextRunAt: cola.Some(cola.TimestampOf(epoch.Add(48 * time.Hour))),
			},
		},
	}
}

// maxActive is the limit on active schedules in these tests.
const maxActive = 10

// withKey adds an idempotency key and a fingerprint of one repeated byte to a creation request.
func withKey(n store.NewSavedSearch, key string, fill byte) store.NewSavedSearch {
	n.Once = store.Once{Key: key, Fingerprint: keyHash(fill), Within: time.Hour}
	return n
}

func mustCreate(t tb, st store.Store, n store.NewSavedSearch) cola.SavedSearch {
	t.Helper()
	created, repeated, err := st.CreateSavedSearch(context.Background(), n)
	if repeated {
		t.Errorf("CreateSavedSearch(%s): repeated = true, want false", n.Search.UUID)
	}
	return must(t, created, err)
}

// mustRepeat repeats a creation request and checks that it returns the existing search.
func mustRepeat(t tb, st store.Store, n store.NewSavedSearch) cola.SavedSearch {
	t.Helper()
	created, repeated, err := st.CreateSavedSearch(context.Background(), n)
	if !repeated && err == nil {
		t.Errorf("CreateSavedSearch = new search %s, want the existing one", created.UUID)
	}
	return must(t, created, err)
}

func mustSearches(t tb, st store.Store, account cola.AccountID) []cola.SavedSearch {
	t.Helper()
	list, total, err := st.SavedSearches(context.Background(), account, 0, math.MaxInt32)
	if err == nil && total != len(list) {
		t.Errorf("SavedSearches total = %d, want %d", total, len(list))
	}
	return must(t, list, err)
}

// fullSearch returns a search with every kind of value.
func fullSearch() cola.SavedSearch {
	on := cola.Some(true)
	return cola.SavedSearch{
		UUID: "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11",
		Name: "o'brien's \"ünïcode\" \U0001f377 100%_ <b> \u2028",
		Filters: cola.SavedSearchFilters{
			Query:             `"table red" <&>`,
			BrandName:         "château's",
			BarcodeValue:      "0 36000 29145 2",
			ApplicationStatus: vocabulary.StatusApproved,
			TypeWine:          on,
			DerivedLiquor:     on,
			DerivedCategory:   "Wine > Red Wine",
			OriginImported:    on,
			Country:           "côte d'ivoire",
			USState:           "ohio",
			PermitNumberText:  "ca-w",
			ApplicantUSState:  "NY",
			ABVMin:            cola.Some(0.0),
			ABVMax:            cola.Some(14.499999999999998),
			VolumeUnit:        "milliliters",
			VolumeMin:         cola.Some(1e-7),
			VolumeMax:         cola.Some(1e21),
			ContainerBottle:   on,
			ContainerJug:      on,
		},
		Schedule: &cola.Schedule{
			Cadence:   cola.CadenceMonthly,
			Day:       28,
			LastRunAt: cola.Some(cola.TimestampOf(epoch.Add(-time.Hour))),
		},
	}
}

func searchRoundTrip(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	if list := mustSearches(t, st, a.ID); len(list) != 0 {
		t.Errorf("SavedSearches of a new account = %v, want an empty result", list)
	}
	c.set(epoch.In(time.FixedZone("", 3600)).Add(789 * time.Nanosecond)) // stored in UTC, in whole microseconds
	full := fullSearch()
	full.CreatedAt, full.ManageURL, full.DashboardURL = 1, "https://example.com/1", "https://example.com"
	unscheduled := cola.SavedSearch{UUID: "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d12", Name: "n"}
	daily := unscheduled
	daily.UUID = "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d13"
	daily.Schedule = &cola.Schedule{
		Active:    true,
		Cadence:   cola.CadenceDaily,
		NextRunAt: cola.Some(cola.TimestampOf(epoch.Add(time.Hour))),
	}
	for _, s := range []cola.SavedSearch{full, unscheduled, daily} {
		created := mustCreate(t, st, store.NewSavedSearch{Account: a.ID, Search: s, MaxActive: 1})
		s.CreatedAt, s.ManageURL, s.DashboardURL = cola.TimestampOf(epoch), "", ""
		checkEqual(t, "CreateSavedSearch", s, created)
		found, err := st.SavedSearch(t.Context(), a.ID, s.UUID)
		checkEqual(t, "SavedSearch", s, must(t, found, err))
		list := mustSearches(t, st, a.ID)
		checkEqual(t, "last of SavedSearches", s, list[len(list)-1])
	}
}

func listSearches(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	var want []cola.SavedSearch
	for _, n := range []int{5, 3, 9, 1} { // at the same time, then with the clock set back
		want = append(want, mustCreate(t, st, newSearch(a.ID, n)))
		mustCreate(t, st, newSearch(b.ID, 100+n))
		if n == 3 {
			c.advance(-time.Hour)
		}
	}
	checkEqual(t, "SavedSearches", want, mustSearches(t, st, a.ID))
}

func searchOfAnotherAccount(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	created := mustCreate(t, st, newSearch(a.ID, 1))
	for _, k := range []struct {
		account cola.AccountID
		uuid    string
	}{
		{b.ID, created.UUID}, {b.ID + 100, created.UUID}, {a.ID, ""}, {a.ID, "x"}, {a.ID, "%"}, {a.ID, created.UUID + "\x00"},
		{a.ID, "\xff"},
		{a.ID, newSearch(a.ID, 2).Search.UUID},
	} {
		if _, err := st.SavedSearch(t.Context(), k.account, k.uuid); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("SavedSearch(%d, %q) error = %v, want ErrNotFound", k.account, k.uuid, err)
		}
	}
	if list := mustSearches(t, st, b.ID); len(list) != 0 {
		t.Errorf("SavedSearches of another account = %v, want an empty result", list)
	}
}

func createSearchErrors(t *testing.T, st store.Store, _ *clock) {
	_, _, err := st.CreateSavedSearch(t.Context(), withKey(newSearch(42, 1), "key", 1))
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("CreateSavedSearch(unknown account) error = %v, want ErrNotFound", err)
	}
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	created := mustCreate(t, st, newSearch(a.ID, 1))
	for _, account := range []cola.AccountID{a.ID, b.ID} {
		request := withKey(newSearch(account, 1), "key", 1)
		if _, _, err := st.CreateSavedSearch(t.Context(), request); !errors.Is(err, store.ErrExists) {
			t.Errorf("CreateSavedSearch(duplicate UUID) error = %v, want ErrExists", err)
		}
		request.Search.UUID = newSearch(account, int(account)+10).Search.UUID
		mustCreate(t, st, request) // the failed request did not use up the key
	}
	checkEqual(t, "first search", created, mustSearches(t, st, a.ID)[0])
}

func malformedSearch(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for name, spoil := range map[string]func(n *store.NewSavedSearch){
		"no UUID":           func(n *store.NewSavedSearch) { n.Search.UUID = "" },
		"name with NUL":     func(n *store.NewSavedSearch) { n.Search.Name = "a\x00" },
		"name is not UTF-8": func(n *store.NewSavedSearch) { n.Search.Name = "\xff" },
		"key with NUL":      func(n *store.NewSavedSearch) { n.Once.Key = "\x00" },
		"key too long":      func(n *store.NewSavedSearch) { n.Once.Key = strings.Repeat("k", store.MaxKeyText+1) },
		"number is NaN":     func(n *store.NewSavedSearch) { n.Search.Filters.ABVMin = cola.Some(math.NaN()) },
	} {
		n := newSearch(a.ID, 1)
		spoil(&n)
		if _, _, err := st.CreateSavedSearch(t.Context(), n); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("%s: CreateSavedSearch error = %v, want ErrMalformed", name, err)
		}
	}
	if list := mustSearches(t, st, a.ID); len(list) != 0 {
		t.Errorf("SavedSearches = %v, want an empty result", list)
	}
}

func idempotentCreation(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for range 2 { // without a key, every request creates a search
		mustCreate(t, st, newSearch(a.ID, len(mustSearches(t, st, a.ID))))
	}
	created := mustCreate(t, st, withKey(newSearch(a.ID, 10), "key", 1))
	c.advance(59 * time.Minute)
	repeat := withKey(newSearch(a.ID, 11), "key", 1)
	repeat.Search.Name = "later"
	repeat.MaxActive = 0 // a repeated request creates no search, so the limit does not apply
	checkEqual(t, "repeated creation", created, mustRepeat(t, st, repeat))
	checkEqual(t, "number of searches", 3, len(mustSearches(t, st, a.ID)))
	mustCreate(t, st, withKey(newSearch(a.ID, 12), "KEY", 1)) // a different key
}

func reusedKey(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	created := mustCreate(t, st, withKey(newSearch(a.ID, 1), "key", 1))
	_, repeated, err := st.CreateSavedSearch(t.Context(), withKey(newSearch(a.ID, 2), "key", 2))
	if !errors.Is(err, store.ErrReused) || repeated {
		t.Errorf("CreateSavedSearch(reused key) error = %v, want ErrReused", err)
	}
	checkEqual(t, "repeated creation", created, mustRepeat(t, st, withKey(newSearch(a.ID, 3), "key", 1)))
	checkEqual(t, "SavedSearches", []cola.SavedSearch{created}, mustSearches(t, st, a.ID))
}

func keyExpiry(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustCreate(t, st, withKey(newSearch(a.ID, 1), "key", 1))
	c.advance(time.Hour)
	second := mustCreate(t, st, withKey(newSearch(a.ID, 2), "key", 2)) // even with different content
	c.advance(time.Hour - time.Microsecond)
	checkEqual(t, "repeated creation", second, mustRepeat(t, st, withKey(newSearch(a.ID, 3), "key", 2)))
	c.advance(-3 * time.Hour) // setting the clock back does not expire a key
	checkEqual(t, "repeated creation with the clock set back", second,
		mustRepeat(t, st, withKey(newSearch(a.ID, 4), "key", 2)))
}

func keyOfAnotherAccount(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	first := mustCreate(t, st, withKey(newSearch(a.ID, 1), "key", 1))
	second := mustCreate(t, st, withKey(newSearch(b.ID, 2), "key", 1))
	checkEqual(t, "repeated creation", first, mustRepeat(t, st, withKey(newSearch(a.ID, 3), "key", 1)))
	checkEqual(t, "repeated creation of the other account", second,
		mustRepeat(t, st, withKey(newSearch(b.ID, 4), "key", 1)))
}

func concurrentRepeats(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	var mu sync.Mutex
	uuids, created := map[string]bool{}, 0
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			search, repeated, err := st.CreateSavedSearch(t.Context(), withKey(newSearch(a.ID, i), "key", 1))
			if err != nil {
				t.Errorf("CreateSavedSearch: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			uuids[search.UUID] = true
			if !repeated {
				created++
			}
		})
	}
	wg.Wait()
	if len(uuids) != 1 || created != 1 || len(mustSearches(t, st, a.ID)) != 1 {
		t.Errorf("searches %v, %d created; want one, created once", uuids, created)
	}
}

func activeLimit(t *testing.T, st store.Store, _ *clock) {
	a, b := roomyAccount(t, st, "a@example.com"), mustAccount(t, st, "b@example.com", cola.TierFree)
	paused, unscheduled := newSearch(a.ID, 100), newSearch(a.ID, 200)
	paused.Search.Schedule.Active, unscheduled.Search.Schedule = false, nil
	mustCreate(t, st, paused)
	mustCreate(t, st, unscheduled)
	for n := range maxActive {
		mustCreate(t, st, newSearch(a.ID, n))
	}
	rejected := withKey(newSearch(a.ID, 50), "key", 1)
	_, _, err := st.CreateSavedSearch(t.Context(), rejected)
	if limit, ok := errors.AsType[store.LimitError](err); !ok || limit.Limit != maxActive ||
		!errors.Is(err, store.ErrLimit) {
		t.Errorf("over the limit: error = %v, want ErrLimit with the limit", err)
	}
	paused.Search.UUID, unscheduled.Search.UUID = newSearch(a.ID, 101).Search.UUID, newSearch(a.ID, 201).Search.UUID
	mustCreate(t, st, paused) // even at the limit
	mustCreate(t, st, unscheduled)
	mustCreate(t, st, newSearch(b.ID, 300))
	rejected.MaxActive++
	mustCreate(t, st, rejected) // the rejected request did not use up the key
	checkEqual(t, "number of searches", maxActive+5, len(mustSearches(t, st, a.ID)))
}

func activeLimitConcurrent(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	var mu sync.Mutex
	created := 0
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			n, err := createUntilLimit(t.Context(), st, a.ID, 100*i, maxActive)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			created += n
		})
	}
	wg.Wait()
	if stored := mustSearches(t, st, a.ID); created != maxActive || len(stored) != maxActive {
		t.Errorf("%d searches created, %d stored; want %d", created, len(stored), maxActive)
	}
}

// createWithDestinations checks that a search and its destinations are created together or not at
// all, and only once.
func createWithDestinations(t *testing.T, st store.Store, _ *clock) {
	a := roomyAccount(t, st, "a@example.com")
	n := newSearch(a.ID, 1)
	n.Once = store.Once{Key: "key:once", Within: anHour}
	own, all := newHook(a.ID, "https://one.example.com/"), newHook(a.ID, "https://all.example.com/")
	own.SavedSearch = n.Search.UUID
	count := func() (searches, destinations int) {
		_, searches, err := st.SavedSearches(t.Context(), a.ID, 0, noLimit)
		mustDo(t, err)
		_, destinations, err = st.Destinations(t.Context(), a.ID, store.Slice{Limit: noLimit})
		mustDo(t, err)
		return searches, destinations
	}
	limited := all
	limited.MaxDestinations = 2
	malformed := all
	malformed.Address = "a\x00b"
	for name, bad := range map[string]struct {
		second store.NewDestination
		want   error
	}{
		"same destination": {own, store.ErrExists}, "limit": {limited, store.ErrLimit}, "malformed": {malformed, store.ErrMalformed},
	} {
		n.Destinations = []store.NewDestination{own, bad.second}
		_, _, err := st.CreateSavedSearch(t.Context(), n)
		var failed store.DestinationError
		if !errors.Is(err, bad.want) || !errors.As(err, &failed) {
			t.Errorf("%s: error = %v, want a DestinationError with %v", name, err, bad.want)
		}
		if searches, destinations := count(); searches != 0 || destinations != 1 {
			t.Errorf("%s: %d searches and %d destinations, want 0 and 1", name, searches, destinations)
		}
	}
	n.Destinations = []store.NewDestination{own, all}
	for _, repeated := range []bool{false, true} {
		_, got, err := st.CreateSavedSearch(t.Context(), n)
		if must(t, got, err) != repeated {
			t.Errorf("repeated = %t, want %t", got, repeated)
		}
		if searches, destinations := count(); searches != 1 || destinations != 3 {
			t.Errorf("%d searches and %d destinations, want 1 and 3", searches, destinations)
		}
	}
	list := mustDestinations(t, st, a.ID)
	checkEqual(t, "search of the destination", cola.Some(n.Search.UUID), list[1].SavedSearch)
	checkEqual(t, "search of the other destination", cola.Opt[string]{}, list[2].SavedSearch)
}
