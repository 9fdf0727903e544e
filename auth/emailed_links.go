package auth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// Anyone can request a sign-in link for any email address, but the response must not reveal whether
// the address has an account. So a request only checks the form of the address and the client's
// limit, and adds the address to a queue in memory; it does not use the store. Workers then look
// for the account, apply the limits of the mailbox, store the link and send it:
//
//	request ──► valid address? ──► client's limit ──► queue ──► same page for everyone
//	                │ no               │ reached        │ full
//	                ▼                  ▼                ▼
//	               400                429              503
//
//	queue ──► account, or sign-up open? ──► limits of the mailbox ──► store the link ──► send it
//
// A crash loses only links that were not sent yet.

// Limits of emailed links.
const (
	// mailboxLinksPerHour and mailboxLinksPerDay limit the links to one mailbox, in all processes.
	mailboxLinksPerHour = 3
	mailboxLinksPerDay  = 10
	// signUpLinksPerHour limits the links to addresses without an account, in all processes. It does
	// not apply to accounts, so that a flood of made-up addresses can't lock account holders out.
	signUpLinksPerHour = 300
	// linkRequests and linkRequestRefill limit the requests of one client address, per process.
	linkRequests         = 10
	linkRequestRefill    = time.Minute
	linkRequestAddresses = 50_000 // in memory

	queuedLinks          = 1_000 // per process
	linkLookupsPerSecond = 100   // per process; bounds the work that a flood causes in the database
	linkSenders          = 4     // messages sent at once
	linkSendAttempts     = 3
	linkSendTimeout      = 30 * time.Second
	linkRetryDelay       = 2 * time.Second  // grows with each attempt
	linkDrainTimeout     = 10 * time.Second // for the queue at shutdown
	linkCleanupInterval  = time.Hour
)

// ReasonLinkRequests is the details.reason of a quota_exceeded error from the limit on requests per
// client address.
const ReasonLinkRequests = "link_requests"

// LinkMail is a sign-in link to send by email.
type LinkMail struct {
	To, URL     string
	SignUp      bool // using the link creates an account
	RequestedAt time.Time
}

// ErrUndeliverable is the error for an email that the mail server rejected for good.
var ErrUndeliverable = errors.New("undeliverable")

// LinkSender sends a link. It must not log or return the address or the URL. It fails with
// ErrUndeliverable if there is no point in sending the link again.
type LinkSender func(ctx context.Context, m LinkMail) error

// Results of requests for emailed links, in metrics.
const (
	linkSent          = "sent"
	linkNoAccount     = "no_account"
	linkLimited       = "limited"
	linkUndeliverable = "undeliverable"
	linkFailed        = "failed" // the store or the mail server did not respond
	linkQueueFull     = "queue_full"
)

// linkRequest is a request for an emailed link.
type linkRequest struct {
	email string
	at    time.Time
}

// linkQueue sends requested links.
type linkQueue struct {
	*Browsers
	send     LinkSender
	signUp   bool
	clients  *ratelimit.Limiter[netip.Prefix]
	requests chan linkRequest
	lookups  *rate.Limiter
	results  *prometheus.CounterVec
}

func newLinkQueue(b *Browsers, o BrowserOptions) *linkQueue {
	q := &linkQueue{
		Browsers: b, send: o.SendLink, signUp: o.SignUp,
		clients:  ratelimit.New[netip.Prefix](linkRequests, linkRequestRefill, linkRequestAddresses, o.Now),
		requests: make(chan linkRequest, queuedLinks),
		lookups:  rate.NewLimiter(linkLookupsPerSecond, linkLookupsPerSecond),
		results: promauto.With(o.Metrics).NewCounterVec(prometheus.CounterOpts{
			Name: "colaregistry_sign_in_emails_total", Help: "Requests for sign-in links by email, by result.",
		}, []string{"result"}),
	}
	for _, result := range []string{linkSent, linkNoAccount, linkLimited, linkUndeliverable, linkFailed, linkQueueFull} {
		q.results.WithLabelValues(result) // exported from the start
	}
	return q
}

// RequestLink requests an emailed link that signs in to the account with the given email address.
// Its result doesn't reveal whether that account exists. It fails with CodeValidation for an
// invalid address, with CodeQuotaExceeded if the client's address sent too many requests, with
// CodeUnavailable if too many requests are waiting, and with CodeNotFound if the service sends no
// email.
func (b *Browsers) RequestLink(ctx context.Context, email string) error {
	q := b.links
	if q == nil {
		return cola.Errorf(cola.CodeNotFound, "This server doesn’t send sign-in links. Go to the sign-in page for other options.")
	}
	email = strings.TrimSpace(email)
	if cola.CheckEmail(email) != nil {
		invalid := cola.Errorf(cola.CodeValidation, "Enter an email address.")
		invalid.Details = map[string]any{"email": []string{"Enter an email address such as ann@example.com."}}
		return invalid
	}
	if wait := q.clients.Take(security.Network(cola.ClientFrom(ctx)), 1); wait > 0 {
		return cola.TooMany(ReasonLinkRequests, 0, wait, "Too many sign-in links were requested from your network.")
	}
	select {
	case q.requests <- linkRequest{email, b.now()}:
		return nil
	default:
		q.results.WithLabelValues(linkQueueFull).Inc()
		full := cola.Errorf(cola.CodeUnavailable, "We can’t send sign-in links right now. Try again in a minute.")
		full.RetryAfter = time.Minute
		return full
	}
}

// Run sends requested links and deletes old ones until the context ends. Then it sends the waiting
// ones, for up to ten seconds.
func (b *Browsers) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	if b.links != nil {
		sending, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer context.AfterFunc(ctx, func() { time.AfterFunc(linkDrainTimeout, stop) })()
		for range linkSenders {
			running.Go(func() { b.links.work(ctx, sending) })
		}
	}
	cleanup := time.NewTicker(linkCleanupInterval)
	defer cleanup.Stop()
	for {
		if err := b.store.DeleteOldEmailedLinks(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("deleting old sign-in links failed; retrying later", "error", err)
		}
		select {
		case <-cleanup.C:
		case <-ctx.Done():
			return
		}
	}
}

// work handles requests until ctx ends. Then it handles those still in the queue, until sending
// ends.
func (q *linkQueue) work(ctx, sending context.Context) {
	for {
		select {
		case r := <-q.requests:
			q.results.WithLabelValues(q.handle(sending, r)).Inc()
			continue
		default:
		}
		select {
		case r := <-q.requests:
			q.results.WithLabelValues(q.handle(sending, r)).Inc()
		case <-ctx.Done():
			return
		}
	}
}

// handle creates and sends the link of a request, and returns the result for the metric.
func (q *linkQueue) handle(ctx context.Context, r linkRequest) (result string) {
	if q.lookups.Wait(ctx) != nil {
		return linkFailed
	}
	token, hash := NewSignInLink()
	link := store.EmailedLink{Email: r.email, Hash: hash, Lifetime: LinkLifetime}
	limits := store.EmailedLinkLimits{
		PerHour: mailboxLinksPerHour, PerDay: mailboxLinksPerDay, SignUpsPerHour: signUpLinksPerHour,
	}
	var signsUp bool
	err := withStoreTimeout(ctx, "create emailed link", func(ctx context.Context) (err error) {
		signsUp, err = q.store.CreateEmailedLink(ctx, link, q.signUp, limits)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return linkNoAccount
	case errors.Is(err, store.ErrLimit):
		return linkLimited
	case err != nil:
		q.throttledLog.warn("emailed link", "creating a sign-in link failed; it was not sent", "error", err)
		return linkFailed
	}
	err = q.transmit(ctx, LinkMail{To: r.email, URL: q.public + SignInLinkPath + token, SignUp: signsUp, RequestedAt: r.at})
	switch {
	case err == nil:
		return linkSent
	case errors.Is(err, ErrUndeliverable):
		return linkUndeliverable
	}
	q.throttledLog.warn("email", "sending a sign-in link failed", "attempts", linkSendAttempts, "error", err)
	return linkFailed
}

// transmit sends a link, with retries.
func (q *linkQueue) transmit(ctx context.Context, m LinkMail) (err error) {
	for attempt := range linkSendAttempts {
		if attempt > 0 {
			select {
			case <-time.After(time.Duration(attempt) * linkRetryDelay):
			case <-ctx.Done():
				return fmt.Errorf("shutting down: %w", err)
			}
		}
		sending, cancel := context.WithTimeout(ctx, linkSendTimeout)
		err = q.send(sending, m)
		cancel()
		if err == nil || errors.Is(err, ErrUndeliverable) {
			return err
		}
	}
	return err
}
