package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// CheckDeadlocks starts with an empty store and, in each of many rounds, concurrently runs all
// operations that change an account's deliveries: recording runs and attempts, releasing and
// replaying deliveries, pausing and activating destinations, and deleting searches, destinations
// and old deliveries. No call may fail except with ErrNotFound or ErrNotActive, and the result must
// be consistent. Afterwards, a backend may also check that the database reported no deadlocks.
func CheckDeadlocks(t *testing.T, st store.Store) {
	a := roomyAccount(t, st, "a@example.com")
	m := deadlockTest{
		t, st, mustCreate(t, st, dueSearch(a.ID, 0, epoch)), mustDestination(t, st, newHook(a.ID, hook)),
		mustOwn(t, st, a.ID),
	}
	for n := range 25 {
		m.round(n)
	}
	m.checkConsistent()
}

type deadlockTest struct {
	*testing.T
	st     store.Store
	search cola.SavedSearch // exists throughout
	hook   store.Destination
	own    store.Destination
}

// round creates a search with its own destination and matches, then runs all operations
// concurrently.
func (m deadlockTest) round(n int) {
	doomed := mustCreate(m, m.st, dueSearch(m.hook.Account, n+1, epoch))
	only := mustDestination(m, m.st, forSearch(newHook(m.hook.Account, fmt.Sprintf("%s/%d", hook, n)), doomed))
	for i := range 4 {
		mustRun(m, m.st, doomed, i)
		mustRun(m, m.st, m.search, 10*n+i)
	}
	run := m.run(n)
	claimed := claimDeliveries(m, m.st, noLimit)
	var wg sync.WaitGroup
	for i, d := range claimed {
		if i%4 == 3 {
			continue
		}
		a := []store.Attempt{
			deliveredAttempt(d, duePast), retriedAttempt(d, duePast),
			failedAttempt(d, duePast, cola.ReasonGone),
		}[i%4]
		wg.Go(func() { m.accept(m.attempt(a)) })
	}
	wg.Go(func() { m.accept(m.st.ReleaseDeliveries(m.Context(), claimed[:len(claimed)/2])) })
	wg.Go(func() { m.accept(m.st.DeleteSavedSearch(m.Context(), m.hook.Account, doomed.UUID)) })
	wg.Go(func() { m.accept(m.st.DeleteDestination(m.Context(), m.hook.Account, only.UUID)) })
	wg.Go(func() { mustRecord(m, m.st, run) })
	wg.Go(func() { mustSetActive(m, m.st, m.own, n%2 == 0) })
	wg.Go(func() { mustSetActive(m, m.st, m.hook, true) })
	for _, d := range []store.Destination{m.hook, m.own, only} {
		wg.Go(func() {
			_, err := m.st.ReplayUndelivered(m.Context(), d.Account, d.UUID, duePast.Add(anHour), 3)
			m.accept(err)
		})
	}
	wg.Go(func() {
		_, err := m.st.DeleteOldDeliveries(m.Context(), duePast.Add(-time.Hour))
		m.accept(err)
	})
	wg.Wait()
}

// run claims m.search and returns a run with a new match.
func (m deadlockTest) run(n int) store.RunRecord {
	all := mustClaim(m, m.st, noLimit, anHour)
	i := slices.IndexFunc(all, func(d store.DueSearch) bool { return d.Search.UUID == m.search.UUID })
	mustDo(m, m.st.ReleaseDue(m.Context(), slices.Delete(slices.Clone(all), i, i+1)))
	run := runOf(m, m.st, all[i], 10*n+9)
	run.Next = cola.TimestampOf(duePast)
	return run
}

func (m deadlockTest) attempt(a store.Attempt) error {
	_, err := m.st.RecordAttempt(m.Context(), a)
	return err
}

// accept ignores the errors that concurrent changes may cause.
func (m deadlockTest) accept(err error) {
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrNotActive) {
		m.Error(err)
	}
}

// checkConsistent checks attempt counts, that each delivery is either due or settled, and that only
// pause notifications are pending for inactive destinations.
func (m deadlockTest) checkConsistent() {
	states := map[string]string{}
	for _, d := range mustDestinations(m, m.st, m.hook.Account) {
		states[d.UUID] = d.State
	}
	checkEqual(m, "destinations", 2, len(states))
	counts := map[string]int{}
	for _, d := range deliveriesOf(m, m.st, m.hook.Account, store.DeliveryFilter{}) {
		counts[d.State]++
		pending := d.State == cola.DeliveryPending
		if n := len(mustDelivery(m, m.st, m.hook.Account, d.ID).Attempts); n != d.AttemptCount ||
			d.NextAttemptAt.OK != pending || d.SettledAt.OK == pending {
			m.Errorf("%d attempts stored for %+v, want a consistent count and state", n, d)
		}
		if pending && d.Event != cola.EventPaused && states[d.Destination] != cola.DestinationActive {
			m.Errorf("pending delivery to a destination that is %s: %+v", states[d.Destination], d)
		}
	}
	for _, state := range cola.DeliveryStates() {
		if counts[state] == 0 {
			m.Errorf("no delivery is %s; the test needs one", state)
		}
	}
}
