package auth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// finishFrom finishes a sign-in from a client address.
func (b *browser) finishFrom(address string, query url.Values) error {
	return b.do(func(ctx context.Context) error {
		_, err := b.Finish(cola.WithClient(ctx, netip.MustParseAddr(address)), query, "Firefox")
		return err
	})
}

// exchanged returns the number of codes sent to the first issuer.
func (d *browserFixture) exchanged() (n int) {
	d.provider.set(func(p *provider) { n = p.requests["/token"] })
	return n
}

func stateOf(t *testing.T, redirect string) string {
	t.Helper()
	u, err := url.Parse(redirect)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("state")
}

// TestReplayedCallback replays a callback with the cookie that its response deleted. Only the first
// request may send a code to the issuer.
func TestReplayedCallback(t *testing.T) {
	d := newBrowserFixture(t, nil)
	b := d.browser()
	state := stateOf(t, b.begin(t, "0", "/"))
	cookies := b.attemptCookies()
	for n := range 50 {
		replay := d.browser()
		for _, c := range cookies {
			replay.cookies[c.Name] = c
		}
		err := replay.finishFrom(fmt.Sprintf("203.0.113.%d", n), url.Values{"state": {state}, "code": {fmt.Sprint("junk", n)}})
		if cola.CodeOf(err) != cola.CodeUnauthorized || len(replay.attemptCookies()) != 0 {
			t.Errorf("replay %d: %v, with %d cookies left", n, err, len(replay.attemptCookies()))
		}
	}
	if n := d.exchanged(); n != 1 {
		t.Errorf("%d token requests, want 1", n)
	}
}

// TestFailedExchangeLimit checks that failed exchanges block only their own client address, and
// that attempts from that address remain valid after the wait.
func TestFailedExchangeLimit(t *testing.T) {
	const flooding, honest = "203.0.113.7", "203.0.113.8"
	d := newBrowserFixture(t, nil)
	for range 40 {
		b := d.browser()
		_ = b.finishFrom(flooding, url.Values{"state": {stateOf(t, b.begin(t, "0", "/"))}, "code": {"junk"}})
	}
	if n := d.exchanged(); n != exchangesByAddress {
		t.Errorf("%d token requests, want %d", n, exchangesByAddress)
	}
	if n := strings.Count(d.log.text(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, d.log.text())
	}
	late := d.browser()
	answer := d.provider.approve(t, late.begin(t, "0", "/"), "late", "late@example.com")
	var refusal *cola.Error
	if err := late.finishFrom(flooding, answer); !errors.As(err, &refusal) || refusal.Code != cola.CodeQuotaExceeded ||
		refusal.RetryAfter != exchangeRefillInterval || len(late.attemptCookies()) != 1 {
		t.Errorf("from the flooding address: error = %v with %d cookies, want %s with 1", err, len(late.attemptCookies()), cola.CodeQuotaExceeded)
	}
	for n := range 3 * exchangesByAddress { // successes do not count toward a limit
		b := d.browser()
		subject := fmt.Sprint("person", n)
		if err := b.finishFrom(honest, d.provider.approve(t, b.begin(t, "0", "/"), subject, subject+"@example.com")); err != nil {
			t.Fatalf("%s from another address: %v", subject, err)
		}
	}
	d.clock.advance(exchangeRefillInterval)
	if err := late.finishFrom(flooding, answer); err != nil || len(late.attemptCookies()) != 0 {
		t.Errorf("after the wait: %v", err)
	}
	d.clock.advance(time.Minute)
	b := d.browser()
	_ = b.finishFrom(flooding, url.Values{"state": {stateOf(t, b.begin(t, "0", "/"))}, "code": {"junk"}})
	if log := d.log.text(); strings.Count(log, "level=WARN") != 2 || !strings.Contains(log, "omitted=9") {
		t.Errorf("a minute later: log = %s, want a second warning with omitted=9", log)
	}
}

// TestExchangesInFlight checks that exchanges over the limit wait briefly, and that an exchange
// that timed out can be retried.
func TestExchangesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCodeExchanges(time.Now)
		begin := func(n int) (func(bool), error) {
			client := netip.AddrFrom4([4]byte{203, 0, 113, byte(n)})
			return e.begin(cola.WithClient(t.Context(), client), fmt.Sprint("state", n))
		}
		var done []func(bool)
		for n := range maxExchanges {
			end, err := begin(n)
			if err != nil {
				t.Fatal(err)
			}
			done = append(done, end)
		}
		start := time.Now()
		for range 2 * exchangesByAddress { // a timeout is not a failure
			if _, err := begin(maxExchanges); !errors.Is(err, errTooManyExchanges) {
				t.Fatalf("over the limit: error = %v, want %v", err, errTooManyExchanges)
			}
		}
		if took := time.Since(start); took != 2*exchangesByAddress*slotTimeout {
			t.Errorf("timeouts took %v in total, want %v", took, 2*exchangesByAddress*slotTimeout)
		}
		time.AfterFunc(slotTimeout/2, func() { done[0](true) })
		end, err := begin(maxExchanges)
		if err != nil {
			t.Fatalf("with a free slot: %v", err)
		}
		end(false)
		for _, end := range done[1:] {
			end(true)
		}
		if len(e.slots) != 0 {
			t.Errorf("%d slots in use, want 0", len(e.slots))
		}
	})
}
