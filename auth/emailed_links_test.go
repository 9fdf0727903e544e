package auth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// outbox is a LinkSender that stores messages.
type outbox struct {
	mu     sync.Mutex
	sent   []LinkMail
	errors []error // results of the next calls
}

func (o *outbox) send(_ context.Context, m LinkMail) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.errors) > 0 {
		err := o.errors[0]
		o.errors = o.errors[1:]
		if err != nil {
			return err
		}
	}
	o.sent = append(o.sent, m)
	return nil
}

// token returns the token of the last link.
func (o *outbox) token(t *testing.T) string {
	t.Helper()
	if len(o.sent) == 0 {
		t.Fatal("no link was sent")
	}
	token, ok := strings.CutPrefix(o.sent[len(o.sent)-1].URL, ourURL+SignInLinkPath)
	if !ok {
		t.Fatalf("URL = %s, want a sign-in link", o.sent[len(o.sent)-1].URL)
	}
	return token
}

// withEmail runs a test with a running Browsers that sends links. wait waits until all requests are
// handled.
func withEmail(t *testing.T, signUp bool, test func(t *testing.T, d *browserFixture, mail *outbox, wait func())) {
	synctest.Test(t, func(t *testing.T) {
		mail := &outbox{}
		d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.SendLink, o.SignUp = mail.send, signUp })
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			d.Run(ctx)
		}()
		test(t, d, mail, func() {
			time.Sleep(5 * time.Minute) // longer than all retries
			synctest.Wait()
		})
		stop()
		<-done
		if log := d.log.text(); strings.Contains(log, "@example.com") || strings.Contains(log, SignInLinkPath) {
			t.Errorf("log contains an address or a link: %s", log)
		}
	})
}

func client(n int) context.Context {
	return cola.WithClient(context.Background(), netip.AddrFrom4([4]byte{203, 0, byte(n >> 8), byte(n)}))
}

func (d *browserFixture) emails(result string) float64 {
	return testutil.ToFloat64(d.links.results.WithLabelValues(result))
}

// TestEmailedLink checks that an account holder gets a link that signs in once, and that no one else
// gets one while sign-up is closed. The responses don't differ.
func TestEmailedLink(t *testing.T) {
	withEmail(t, false, func(t *testing.T, d *browserFixture, mail *outbox, wait func()) {
		d.store.people = []store.Account{{ID: 77, Email: "Eve@example.com"}}
		for _, email := range []string{" eve@example.com ", "nobody@example.com"} {
			if err := d.RequestLink(client(1), email); err != nil {
				t.Errorf("RequestLink(%s): %v", email, err)
			}
		}
		wait()
		if len(mail.sent) != 1 || mail.sent[0].To != "eve@example.com" || mail.sent[0].SignUp || !mail.sent[0].RequestedAt.Equal(d.clock.now()) {
			t.Fatalf("emails = %+v, want one to eve@example.com", mail.sent)
		}
		if d.emails(linkSent) != 1 || d.emails(linkNoAccount) != 1 {
			t.Errorf("%v sent, %v without an account; want 1 and 1", d.emails(linkSent), d.emails(linkNoAccount))
		}
		b := d.browser()
		if err := b.use(mail.token(t)); err != nil || b.caller().Account != 77 || b.caller().VerifiedEmail != "Eve@example.com" {
			t.Errorf("UseLink: %v, caller = %+v, want account 77 with its address verified", err, b.caller())
		}
	})
}

// TestRequestLinkQueues checks that RequestLink doesn't use the store: its duration must not reveal
// whether an address has an account.
func TestRequestLinkQueues(t *testing.T) {
	var mail outbox
	d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.SendLink = mail.send })
	d.store.people = []store.Account{{ID: 77, Email: "eve@example.com"}}
	if err := d.RequestLink(client(1), "eve@example.com"); err != nil {
		t.Fatal(err)
	}
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	if len(d.store.calls) > 0 {
		t.Errorf("store calls: %v, want none", d.store.calls)
	}
}

// TestSignUpLink checks that a link to an unknown address creates an account when it is used, unless
// sign-up was closed in the meantime.
func TestSignUpLink(t *testing.T) {
	withEmail(t, true, func(t *testing.T, d *browserFixture, mail *outbox, wait func()) {
		if err := d.RequestLink(client(1), "new@example.com"); err != nil {
			t.Fatal(err)
		}
		wait()
		token, b := mail.token(t), d.browser()
		target, err := d.LinkAccount(t.Context(), token)
		if err != nil || target != (LinkTarget{"new@example.com", true}) || !mail.sent[0].SignUp || len(d.store.people) != 0 {
			t.Errorf("LinkAccount = %+v, %v; want a new account that doesn't exist yet", target, err)
		}
		d.links.signUp = false
		if _, err := d.LinkAccount(t.Context(), token); cola.CodeOf(err) != cola.CodeUnauthorized {
			t.Errorf("LinkAccount with sign-up closed: error = %v, want unauthorized", err)
		}
		if err := b.use(token); cola.CodeOf(err) != cola.CodeUnauthorized {
			t.Errorf("UseLink with sign-up closed: error = %v, want unauthorized", err)
		}
		d.links.signUp = true
		if err := b.do(func(ctx context.Context) error {
			created, err := b.UseLink(ctx, token, "Firefox")
			if !created {
				t.Error("UseLink did not report the new account")
			}
			return err
		}); err != nil || b.caller().VerifiedEmail != "new@example.com" {
			t.Errorf("UseLink: %v, caller = %+v", err, b.caller())
		}
	})
}

// TestLinkRequestLimits checks that a mailbox's limit is silent, and a client's is not.
func TestLinkRequestLimits(t *testing.T) {
	withEmail(t, true, func(t *testing.T, d *browserFixture, mail *outbox, wait func()) {
		for n := range linkRequests {
			if err := d.RequestLink(client(1), "ann@example.com"); err != nil {
				t.Errorf("request %d: %v", n, err)
			}
		}
		wait()
		if len(mail.sent) != mailboxLinksPerHour || d.emails(linkLimited) != linkRequests-mailboxLinksPerHour {
			t.Errorf("%d links sent and %v limited, want %d and %d",
				len(mail.sent), d.emails(linkLimited), mailboxLinksPerHour, linkRequests-mailboxLinksPerHour)
		}
		var limited *cola.Error
		if err := d.RequestLink(client(1), "bob@example.com"); !errors.As(err, &limited) || limited.Code != cola.CodeQuotaExceeded ||
			limited.RetryAfter != linkRequestRefill {
			t.Errorf("RequestLink over the client's limit = %v, want quota_exceeded with a Retry-After of %v", err, linkRequestRefill)
		}
		if err := d.RequestLink(client(2), "bob@example.com"); err != nil {
			t.Errorf("RequestLink from another client: %v", err)
		}
	})
}

// TestLinkRequestForms checks that hostile addresses are rejected before they are queued.
func TestLinkRequestForms(t *testing.T) {
	withEmail(t, true, func(t *testing.T, d *browserFixture, mail *outbox, wait func()) {
		for _, email := range []string{"", "ann", "ann@example.com\r\nBcc: eve@example.com", "ann@example.com,eve@example.com",
			"Ann <ann@example.com>", "\"ann smith\"@example.com\x00", "ünn@example.com", "\u212Aate@example.com", "ann@ex\u202Eample.com",
			strings.Repeat("a", 300) + "@example.com", strings.Repeat("a@", 100_000)} {
			if err := d.RequestLink(client(1), email); cola.CodeOf(err) != cola.CodeValidation {
				t.Errorf("RequestLink(%.40q) = %v, want validation_error", email, err)
			}
		}
		wait()
		if len(mail.sent) > 0 || d.store.called("CreateEmailedLink") > 0 {
			t.Error("an invalid address was accepted")
		}
	})
}

// TestLinkQueue checks that the queue is bounded and doesn't lose requests at shutdown.
func TestLinkQueue(t *testing.T) {
	mail := &outbox{}
	d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) { o.SendLink, o.SignUp = mail.send, true })
	for n := range queuedLinks {
		if err := d.RequestLink(client(n), fmt.Sprintf("new%d@example.com", n)); err != nil {
			t.Fatalf("request %d: %v", n, err)
		}
	}
	if err := d.RequestLink(client(queuedLinks), "late@example.com"); cola.CodeOf(err) != cola.CodeUnavailable {
		t.Errorf("RequestLink with a full queue = %v, want unavailable", err)
	}
	for range queuedLinks - 50 {
		<-d.links.requests
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	d.Run(ended)
	if len(mail.sent) != 50 {
		t.Errorf("%d links sent at shutdown, want 50", len(mail.sent))
	}
}

// TestLinkRetries checks that a link is sent again only after a temporary failure.
func TestLinkRetries(t *testing.T) {
	withEmail(t, true, func(t *testing.T, d *browserFixture, mail *outbox, wait func()) {
		errMail := errors.New("mail server down")
		for n, k := range []struct {
			errors []error
			result string
		}{
			{slices.Repeat([]error{errMail}, len(linkRetryDelays())), linkSent},
			{slices.Repeat([]error{errMail}, len(linkRetryDelays())+1), linkFailed},
			{[]error{fmt.Errorf("rejected: %w", ErrUndeliverable)}, linkUndeliverable},
		} {
			mail.errors = k.errors
			if err := d.RequestLink(client(n), fmt.Sprintf("new%d@example.com", n)); err != nil {
				t.Fatal(err)
			}
			wait()
			if d.emails(k.result) != 1 || len(mail.errors) != 0 {
				t.Errorf("case %d: %v %s, %d errors left; want 1 and no errors left",
					n, d.emails(k.result), k.result, len(mail.errors))
			}
		}
		d.store.set(func(s *browserStore) { s.fail["CreateEmailedLink"] = store.ErrUnavailable })
		if err := d.RequestLink(client(9), "new9@example.com"); err != nil {
			t.Fatal(err)
		}
		wait()
		if d.emails(linkFailed) != 2 || len(mail.sent) != 1 {
			t.Errorf("%v failed, %d sent; want 2 and 1", d.emails(linkFailed), len(mail.sent))
		}
	})
}

// TestLinkWaits checks that a link waiting for the mail server doesn't hold up others, and that
// links not sent before the process ended are counted and logged.
func TestLinkWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent, errMail := map[string]int{}, errors.New("mail server down")
		d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) {
			o.SignUp = true
			var mu sync.Mutex
			o.SendLink = func(ctx context.Context, m LinkMail) error {
				mu.Lock()
				defer mu.Unlock()
				if sent[m.To]++; strings.HasPrefix(m.To, "down") {
					return errMail
				}
				return nil
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			d.Run(ctx)
		}()
		for n := range 3 * linkSenders {
			if err := d.RequestLink(client(n), fmt.Sprintf("down%d@example.com", n)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if err := d.RequestLink(client(99), "up@example.com"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if d.emails(linkSent) != 1 || len(d.links.unsent) != 3*linkSenders {
			t.Errorf("%v sent, %d waiting; want 1 and %d", d.emails(linkSent), len(d.links.unsent), 3*linkSenders)
		}
		stop()
		<-done
		if sent["down0@example.com"] != 2 || d.emails(linkDropped) != 3*linkSenders || !strings.Contains(d.log.text(), fmt.Sprintf("links=%d", 3*linkSenders)) {
			t.Errorf("%d attempts, %v dropped; want 2 and %d; log: %s", sent["down0@example.com"], d.emails(linkDropped), 3*linkSenders, d.log.text())
		}
	})
}

// TestHangingMailServer checks that hanging sends delay another link's first attempt by at most
// linkSendTimeout, and that no link is sent in the last minutes before it expires.
func TestHangingMailServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		healthy, late := time.Duration(-1), 0
		var mu sync.Mutex
		d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) {
			o.SignUp = true
			o.Now = time.Now
			o.SendLink = func(ctx context.Context, m LinkMail) error {
				if strings.HasPrefix(m.To, "slow") {
					<-ctx.Done()
				}
				mu.Lock()
				defer mu.Unlock()
				if m.To == "up@example.com" {
					healthy = time.Since(began)
				}
				if time.Until(m.ExpiresAt) < LinkLifetime-linkSendWindow {
					late++
				}
				return ctx.Err()
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { d.Run(ctx) })
		const slow = 200
		for n := range slow {
			if err := d.RequestLink(client(n), fmt.Sprintf("slow%d@example.com", n)); err != nil {
				t.Fatal(err)
			}
		}
		// Once all first attempts have failed, only retries are waiting.
		time.Sleep((slow/linkSenders + 1) * linkSendTimeout)
		if d.emails(linkFailed) == slow {
			t.Fatal("no retries are waiting")
		}
		began = time.Now()
		if err := d.RequestLink(client(slow), "up@example.com"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if healthy < 0 || healthy > linkSendTimeout {
			t.Errorf("the link to a healthy mailbox was sent after %v, want at most %v", healthy, linkSendTimeout)
		}
		if late > 0 || d.emails(linkSent) != 1 || d.emails(linkFailed) != slow {
			t.Errorf("%d attempts in the last minutes before expiry, %v sent, %v failed; want 0, 1 and %d",
				late, d.emails(linkSent), d.emails(linkFailed), slow)
		}
		stop()
		running.Wait()
	})
}

// TestLateRequest checks that a request that arrives after the workers have stopped is counted.
func TestLateRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d *browserFixture
		d = newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) {
			o.SignUp = true
			o.SendLink = func(context.Context, LinkMail) error {
				synctest.Wait()
				return d.RequestLink(client(2), "late@example.com")
			}
		})
		if err := d.RequestLink(client(1), "new@example.com"); err != nil {
			t.Fatal(err)
		}
		ended, stop := context.WithCancel(t.Context())
		stop()
		d.Run(ended)
		if d.emails(linkSent) != 1 || d.emails(linkDropped) != 1 {
			t.Errorf("%v sent, %v dropped; want 1 and 1", d.emails(linkSent), d.emails(linkDropped))
		}
	})
}

// TestLinkDrain checks that shutdown waits at most linkDrainTimeout for a mail server that hangs.
func TestLinkDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) {
			o.SignUp = true
			o.SendLink = func(ctx context.Context, m LinkMail) error {
				<-ctx.Done()
				return ctx.Err()
			}
		})
		for n := range 50 {
			if err := d.RequestLink(client(n), fmt.Sprintf("new%d@example.com", n)); err != nil {
				t.Fatal(err)
			}
		}
		ended, stop := context.WithCancel(t.Context())
		stop()
		began := time.Now()
		d.Run(ended)
		if took := time.Since(began); took > linkDrainTimeout || d.emails(linkDropped) != 50 {
			t.Errorf("Run took %v and dropped %v links, want at most %v and 50", took, d.emails(linkDropped), linkDrainTimeout)
		}
	})
}

// TestWithoutEmail checks that requests fail if the service sends no email.
func TestWithoutEmail(t *testing.T) {
	if err := newBrowserFixture(t, nil).RequestLink(t.Context(), "ann@example.com"); cola.CodeOf(err) != cola.CodeNotFound {
		t.Errorf("RequestLink = %v, want not_found", err)
	}
}
