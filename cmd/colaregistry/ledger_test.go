package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// tally summarizes the responses a client received.
type tally struct {
	mu       sync.Mutex
	requests int // responses with status 200
	rows     int // list records in those responses
	rejected int // responses with status 429
	inFlight int // maximum charge for requests without a response
	errs     []error
}

// call requests a page and tallies the response. A request without a response may have been charged
// for a full page.
func (c *tally) call(client *http.Client, url, key string, page int) {
	req, err := http.NewRequest(http.MethodGet,
		fmt.Sprintf("%s/colas?approval_date_from=2005-01-01&per_page=%d", url, page), nil)
	if err != nil {
		panic(err)
	}
	req.Header.Set("X-API-Key", key)
	resp, err := client.Do(req)
	var body struct{ Data []json.RawMessage }
	if err == nil {
		var b []byte
		if b, err = io.ReadAll(resp.Body); err == nil && resp.StatusCode == http.StatusOK {
			err = json.Unmarshal(b, &body)
		}
		resp.Body.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.errs = append(c.errs, err)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			c.inFlight += page
		}
	case resp.StatusCode == http.StatusOK:
		c.requests++
		c.rows += len(body.Data)
	case resp.StatusCode == http.StatusTooManyRequests:
		c.rejected++
	default:
		c.errs = append(c.errs, fmt.Errorf("status %d", resp.StatusCode))
	}
}

// newClient returns a client that sends every request once. With keep-alive, the transport would
// resend a request when its connection breaks, even though the first one may have been charged.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
}

// charged returns the list records and requests charged to an account today and yesterday.
func charged(t *testing.T, st store.Ledger, a store.Account) (rows, requests int) {
	t.Helper()
	today := cola.DateOf(time.Now())
	days, err := st.DailyUsage(t.Context(), a.ID, today-1, today)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range days {
		requests += d.Requests
		if d.Meter == cola.MeterListRecords {
			rows += d.Units
		}
	}
	return rows, requests
}

// TestKillUnderLoad checks that after kill -9 under load, the ledger contains every answered
// request and, beyond those, at most the in-flight ones.
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	onBoth(t, testKillUnderLoad)
}

func testKillUnderLoad(t *testing.T, h testRegistry) {
	s := startServer(t, h)
	st := mustOpen(t, h)
	const accounts = 24
	owners, tallies := make([]store.Account, accounts), make([]*tally, accounts)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	client := newClient()
	for i := range accounts {
		owner, secret, _ := mustAccount(t, st, fmt.Sprintf("kill%d@example.com", i), cola.TierPro)
		owners[i], tallies[i] = owner, &tally{}
		for range 2 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						tallies[i].call(client, s.base, secret.Reveal(), 10)
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
	}
	time.Sleep(700 * time.Millisecond)
	s.kill()
	close(stop)
	wg.Wait()

	answered := 0
	for i, c := range tallies {
		rows, _ := charged(t, st, owners[i])
		answered += c.rows
		if rows < c.rows || rows > c.rows+c.inFlight {
			t.Errorf("account %d: charged %d records, returned %d, in flight %d", i, rows, c.rows, c.inFlight)
		}
	}
	if answered == 0 {
		t.Fatal("no request was answered before the kill")
	}
}

// TestSharedLedger checks that two servers on one database together enforce an account's exact
// limits.
func TestSharedLedger(t *testing.T) {
	t.Parallel()
	onBoth(t, testSharedLedger)
}

func testSharedLedger(t *testing.T, h testRegistry) {
	servers := []*serverProcess{startServer(t, h), nil}
	servers[1] = startServer(t, h)
	st := mustOpen(t, h)

	drive := func(key string, calls int) *tally {
		c, client := &tally{}, newClient()
		var wg sync.WaitGroup
		for i := range calls {
			wg.Go(func() { c.call(client, servers[i%2].base, key, 10) })
		}
		wg.Wait()
		if len(c.errs) > 0 {
			t.Fatalf("%d requests failed, the first with %v", len(c.errs), c.errs[0])
		}
		return c
	}

	burst, secret, _ := mustAccount(t, st, "both@example.com", cola.TierPro)
	if c := drive(secret.Reveal(), 200); c.requests != 120 || c.rejected != 80 {
		t.Errorf("%d of 200 requests granted, %d rejected; want 120 and 80", c.requests, c.rejected)
	}
	if rows, requests := charged(t, st, burst); rows != 1200 || requests != 120 {
		t.Errorf("charged %d records in %d requests, want 1200 in 120", rows, requests)
	}

	poor, secret, key := mustAccount(t, st, "poor@example.com", cola.TierPro)
	spend(t, st, poor, key, 999_655)
	c := drive(secret.Reveal(), 60)
	if rows, _ := charged(t, st, poor); rows != 1_000_000 || c.rows != 345 {
		t.Errorf("charged %d records, returned %d; want the limit of 1000000 and the remaining 345", rows, c.rows)
	}
}

// TestRateLimitWindow sends requests from a free account through two processes, as fast as they are
// answered, for longer than a rate-limit window. No minute may have more grants than the limit.
func TestRateLimitWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 75 seconds")
	}
	t.Parallel()
	onBoth(t, testRateLimitWindow)
}

func testRateLimitWindow(t *testing.T, h testRegistry) {
	servers := []*serverProcess{startServer(t, h), nil}
	servers[1] = startServer(t, h)
	_, secret, _ := mustAccount(t, mustOpen(t, h), "minute@example.com", cola.TierFree)

	type grant struct{ sent, answered time.Time }
	var grants []grant
	for started, i := time.Now(), 0; time.Since(started) < 75*time.Second; i++ {
		start := time.Now()
		if servers[i%2].get(t, "/usage", secret.Reveal()).StatusCode == http.StatusOK {
			grants = append(grants, grant{start, time.Now()})
		}
		time.Sleep(20 * time.Millisecond)
	}
	if len(grants) <= 10 || len(grants) > 20 {
		t.Errorf("%d requests granted in 75 seconds, want ten, and then one to ten more after a minute", len(grants))
	}
	for i := range max(0, len(grants)-10) {
		// A request is granted after it is sent and before it is answered, so this is an upper bound
		// on the time between the first and the eleventh grant.
		if span := grants[i+10].answered.Sub(grants[i].sent); span < time.Minute {
			t.Errorf("eleven requests granted within %v", span)
		}
	}
}

// TestGracefulShutdown checks that a stopping server answers every request that it has read and
// charges no others.
func TestGracefulShutdown(t *testing.T) {
	t.Parallel()
	onBoth(t, testGracefulShutdown)
}

func testGracefulShutdown(t *testing.T, h testRegistry) {
	s := startServer(t, h)
	st := mustOpen(t, h)
	client := newClient()
	const accounts = 8
	owners, tallies := make([]store.Account, accounts), make([]*tally, accounts)
	var wg sync.WaitGroup
	for i := range accounts {
		owner, secret, _ := mustAccount(t, st, fmt.Sprintf("drain%d@example.com", i), cola.TierPro)
		owners[i], tallies[i] = owner, &tally{}
		wg.Go(func() {
			for len(tallies[i].errs) == 0 {
				tallies[i].call(client, s.base, secret.Reveal(), 5)
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	s.stop(t)
	wg.Wait()
	for i, c := range tallies {
		if rows, _ := charged(t, st, owners[i]); rows != c.rows {
			t.Errorf("account %d: charged %d records, returned %d", i, rows, c.rows)
		}
		// The server closes accepted connections that it has not read from yet. Their requests are
		// not charged.
		if slices.ContainsFunc(c.errs, func(err error) bool {
			return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ECONNRESET) &&
				!errors.Is(err, io.EOF)
		}) {
			t.Errorf("account %d: %v, want only refused or closed connections", i, c.errs)
		}
	}
}
