package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

func testFetchSite(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"empty status", emptyFetchStatus},
		{"slots", requestSlots},
		{"different intervals", mixedIntervals},
		{"pause", pauseRequests},
		{"block", blockSite},
		{"concurrent reservations", concurrentReservations},
	})
}

func mustReserve(t tb, st store.Store, interval time.Duration) (wait time.Duration) {
	t.Helper()
	wait, err := st.ReserveRequest(context.Background(), interval)
	return must(t, wait, err)
}

func emptyFetchStatus(t *testing.T, st store.Store, _ *clock) {
	want := store.FetchStatus{Windows: map[string]int{}, Labels: map[string]int{}}
	checkEqual(t, "status", want, mustFetchStatus(t, st))
}

func requestSlots(t *testing.T, st store.Store, c *clock) {
	for _, k := range []struct {
		desc    string
		advance time.Duration
		want    time.Duration
	}{
		{"first", 0, 0},
		{"second", 0, time.Second},
		{"third", 0, 2 * time.Second},
		{"later", 2500 * time.Millisecond, 500 * time.Millisecond},
		{"after an idle period", time.Hour, 0},
		{"just before the next slot", time.Second - time.Microsecond, time.Microsecond},
		{"clock set back", -time.Second, 2*time.Second + time.Microsecond},
	} {
		c.advance(k.advance)
		checkEqual(t, "wait, "+k.desc, k.want, mustReserve(t, st, time.Second))
	}
	status := mustFetchStatus(t, st)
	checkEqual(t, "status", store.FetchStatus{
		Windows: map[string]int{}, Labels: map[string]int{}, Requests: 7, FirstRequest: epoch,
		LastRequest: epoch.Add(time.Hour + 4500*time.Millisecond), Interval: time.Second,
	}, status)
}

// mixedIntervals checks that consecutive slots are separated by the longer of their two intervals.
func mixedIntervals(t *testing.T, st store.Store, c *clock) {
	var waits []time.Duration
	for _, interval := range []time.Duration{time.Second, 5 * time.Second, time.Second, time.Second, 0, 0, -1} {
		waits = append(waits, mustReserve(t, st, interval)/time.Second)
	}
	checkEqual(t, "waits in seconds", []time.Duration{0, 5, 10, 11, 12, 12, 12}, waits)
	checkEqual(t, "interval", time.Duration(0), mustFetchStatus(t, st).Interval)
	mustReserve(t, st, 1)
	checkEqual(t, "interval is rounded up", time.Microsecond, mustFetchStatus(t, st).Interval)
}

func pauseRequests(t *testing.T, st store.Store, c *clock) {
	mustReserve(t, st, time.Second)
	mustDo(t, st.PauseRequests(t.Context(), time.Minute))
	mustDo(t, st.PauseRequests(t.Context(), time.Second)) // does not shorten the pause
	checkEqual(t, "wait in a pause", time.Minute, mustReserve(t, st, time.Second))
	checkEqual(t, "second wait in a pause", time.Minute+time.Second, mustReserve(t, st, time.Second))
	mustDo(t, st.PauseRequests(t.Context(), time.Minute)) // pauses don't add up
	checkEqual(t, "third wait in a pause", time.Minute+2*time.Second, mustReserve(t, st, time.Second))
	c.advance(time.Minute)
	mustDo(t, st.PauseRequests(t.Context(), -time.Hour))
	checkEqual(t, "wait after the pause", 3*time.Second, mustReserve(t, st, time.Second))
	c.advance(time.Hour)
	checkEqual(t, "later wait", time.Duration(0), mustReserve(t, st, time.Second))
}

func blockSite(t *testing.T, st store.Store, c *clock) {
	mustDo(t, st.UnblockSite(t.Context()))
	mustReserve(t, st, time.Second)
	mustDo(t, st.PauseRequests(t.Context(), time.Hour))
	before := mustFetchStatus(t, st)
	mustDo(t, st.BlockSite(t.Context(), "CAPTCHA\x00"))
	before.Blocked, before.BlockedAt = "CAPTCHA\uFFFD", c.now()
	c.advance(time.Minute)
	mustDo(t, st.BlockSite(t.Context(), "support ID 7")) // by another collector
	_, err := st.ReserveRequest(t.Context(), time.Second)
	if blocked, ok := errors.AsType[store.SiteBlockedError](err); !ok || blocked.Reason != before.Blocked {
		t.Errorf("ReserveRequest(blocked site) error = %v, want a SiteBlockedError with the first reason", err)
	}
	checkEqual(t, "status of a blocked site", before, mustFetchStatus(t, st))
	mustDo(t, st.UnblockSite(t.Context()))
	checkEqual(t, "end of the pause", epoch.Add(time.Hour), before.PausedUntil)
	before.Blocked, before.BlockedAt, before.PausedUntil = "", time.Time{}, time.Time{}
	checkEqual(t, "status after unblocking", before, mustFetchStatus(t, st))
	checkEqual(t, "wait after unblocking", time.Duration(0), mustReserve(t, st, time.Second))
	mustDo(t, st.PauseRequests(t.Context(), anHour))
	checkEqual(t, "wait in a pause", anHour, mustReserve(t, st, time.Second))
	mustDo(t, st.UnblockSite(t.Context()))
	checkEqual(t, "latest slot after unblocking", c.now(), mustFetchStatus(t, st).LastRequest)
	checkEqual(t, "wait after the latest slot", time.Second, mustReserve(t, st, time.Second))
	mustDo(t, st.BlockSite(t.Context(), ""))
	if status := mustFetchStatus(t, st); status.Blocked == "" || !status.BlockedAt.Equal(c.now()) {
		t.Errorf("status = %+v, want a reason and time of the second block", status)
	}
}

func concurrentReservations(t *testing.T, st store.Store, _ *clock) {
	const callers, each = 8, 10
	var mu sync.Mutex
	var waits, want []time.Duration
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				wait, err := st.ReserveRequest(t.Context(), time.Second)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				waits = append(waits, wait)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for n := range callers * each {
		want = append(want, time.Duration(n)*time.Second)
	}
	slices.Sort(waits)
	checkEqual(t, "waits", want, waits)
}

// sharedRequests is the number of requests that each process or goroutine reserves.
const sharedRequests = 40

// reserveSome reserves requests an hour apart and prints the running total.
func reserveSome(ctx context.Context, st store.Store, out io.Writer) error {
	for n := range sharedRequests {
		if _, err := st.ReserveRequest(ctx, time.Hour); err != nil {
			return err
		}
		fmt.Fprintf(out, "reserved %d\n", n+1)
	}
	return nil
}

// reserveAcrossProcesses checks that no two processes get the same slot.
func reserveAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	total := runTogether(t, dsn, "reserve", "reserved %d",
		func(int) (int, error) { return sharedRequests, reserveSome(t.Context(), db, io.Discard) })
	status := mustFetchStatus(t, db)
	checkEqual(t, "requests", int64(total), status.Requests)
	checkEqual(t, "time from first to last slot", time.Duration(total-1)*time.Hour,
		status.LastRequest.Sub(status.FirstRequest))
}
