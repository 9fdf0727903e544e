package auth

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
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
// the address has an account. So a request only checks the format of the address and the client's
// limit, and adds the address to a queue in memory; it does not use the store. Workers then look up
// the account, apply the mailbox's limits, store the link and send it:
//
//	request ──► valid address? ──► client's limit ──► queue ──► same page for everyone
//	                │ no               │ reached        │ full
//	                ▼                  ▼                ▼
//	               400                429              503
//
//	queue ──► account, or sign-up open? ──► mailbox's limits ──► store the link ──► send it
//
// First attempts and retries have separate senders, so a new link waits only for the first attempts
// before it, each of which takes at most linkSendTimeout. A link is not sent after linkSendWindow,
// so that its recipient has time to use it. At shutdown, each waiting link gets one more attempt. A
// crash loses unsent links; see docs/DECISIONS.md.

// Limits on emailed links.
const (
	// mailboxLinksPerHour and mailboxLinksPerDay limit the links to one mailbox, across all
	// processes.
	mailboxLinksPerHour = 3
	mailboxLinksPerDay  = 10
	// signUpLinksPerHour limits the links to addresses without an account, across all processes. It
	// does not apply to accounts, so that a flood of made-up addresses can't lock account holders
	// out.
	signUpLinksPerHour = 300
	// linkRequests and linkRequestRefill limit the requests from one client address, per process.
	linkRequests         = 10
	linkRequestRefill    = time.Minute
	linkRequestAddresses = 50_000 // in memory

	queuedLinks          = 1_000 // per process; the same number may also be waiting for the mail server
	linkLookupsPerSecond = 100   // per process; bounds the database load that a flood causes
	linkSenders          = 8     // concurrent first attempts
	linkRetrySenders     = 2     // concurrent retries
	linkSendTimeout      = 10 * time.Second
	linkSendWindow       = LinkLifetime - 5*time.Minute // from the link's creation
	linkDrainTimeout     = 10 * time.Second             // for the queue at shutdown
	linkCleanupInterval  = time.Hour
)

// linkRetryDelays are the times between attempts to send a link. Together, they outlast a restart
// of the mail server and most greylisting, and end well within the link's lifetime.
func linkRetryDelays() []time.Duration {
	return []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute}
}

// ReasonLinkRequests is the details.reason of a quota_exceeded error from the limit on requests per
// client address.
const ReasonLinkRequests = "link_requests"

// LinkMail is a sign-in link to send by email.
type LinkMail struct {
	To, URL     string
	SignUp      bool // using the link creates an account
	RequestedAt time.Time
	ExpiresAt   time.Time
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
	linkFailed        = "failed"  // the store or the mail server failed or did not respond
	linkDropped       = "dropped" // not sent before the process ended
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

	sends    sync.WaitGroup // one goroutine for each link that is being sent or waiting for a retry
	unsent   chan struct{}  // semaphore of sends
	dropped  atomic.Int64   // links still unsent when the process stopped
	senders  chan struct{}  // semaphore of first attempts and, at shutdown, of last attempts
	retriers chan struct{}  // semaphore of retries
}

func newLinkQueue(b *Browsers, o BrowserOptions) *linkQueue {
	q := &linkQueue{
		Browsers: b, send: o.SendLink, signUp: o.SignUp,
		clients:  ratelimit.New[netip.Prefix](linkRequests, linkRequestRefill, linkRequestAddresses, o.Now),
		requests: make(chan linkRequest, queuedLinks), unsent: make(chan struct{}, queuedLinks),
		senders: make(chan struct{}, linkSenders), retriers: make(chan struct{}, linkRetrySenders),
		lookups: rate.NewLimiter(linkLookupsPerSecond, linkLookupsPerSecond),
		results: promauto.With(o.Metrics).NewCounterVec(prometheus.CounterOpts{
			Name: "colaregistry_sign_in_emails_total", Help: "Requests for emailed sign-in links, by result.",
		}, []string{"result"}),
	}
	for _, result := range []string{linkSent, linkNoAccount, linkLimited, linkUndeliverable, linkFailed, linkDropped, linkQueueFull} {
		q.results.WithLabelValues(result) // exported from the start
	}
	promauto.With(o.Metrics).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colaregistry_sign_in_emails_waiting", Help: "Requests for sign-in links waiting for the account lookup or the mail server.",
	}, func() float64 { return float64(len(q.requests) + len(q.unsent)) })
	return q
}

// RequestLink requests an emailed link that signs in to the account with the given email address.
// Its result doesn't reveal whether that account exists. RequestLink fails with CodeValidation for
// an invalid address, with CodeQuotaExceeded if the client's address sent too many requests, with
// CodeUnavailable if too many requests are waiting, and with CodeNotFound if the service sends no
// email.
func (b *Browsers) RequestLink(ctx context.Context, email string) error {
	q := b.links
	if q == nil {
		return cola.Errorf(cola.CodeNotFound, "This server doesn’t send sign-in links. Go to the sign-in page for other options.")
	}
	email = strings.TrimSpace(email)
	if cola.CheckMailbox(email) != nil {
		err := cola.Errorf(cola.CodeValidation, "Enter an email address.")
		err.Details = map[string]any{"email": []string{"Enter an email address such as ann@example.com."}}
		return err
	}
	if wait := q.clients.Take(security.Network(cola.ClientFrom(ctx)), 1); wait > 0 {
		return cola.TooMany(ReasonLinkRequests, 0, wait, "Too many sign-in links were requested from your network.")
	}
	select {
	case q.requests <- linkRequest{email, b.now()}:
		return nil
	default:
		q.results.WithLabelValues(linkQueueFull).Inc()
		err := cola.Errorf(cola.CodeUnavailable, "We can’t send sign-in links right now. Try again in a minute.")
		err.RetryAfter = time.Minute
		return err
	}
}

// Run sends requested links and deletes old links until the context ends. Then it sends the waiting
// links, for up to ten seconds.
func (b *Browsers) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	if b.links != nil {
		running.Go(func() { b.links.run(ctx) })
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

// run handles requests until ctx ends, and then those still waiting, for up to linkDrainTimeout.
func (q *linkQueue) run(ctx context.Context) {
	draining, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(linkDrainTimeout, stop) })()
	var workers sync.WaitGroup
	for range linkSenders {
		workers.Go(func() { q.work(ctx, draining) })
	}
	workers.Wait()
	q.sends.Wait()
	for range len(q.requests) { // added after the workers stopped
		q.finish(linkDropped)
	}
	if n := q.dropped.Load(); n > 0 {
		q.log.Warn("shutting down: sign-in links were not sent", "links", n)
	}
}

// work handles requests until ctx ends. Then it handles those still in the queue, until draining
// ends.
func (q *linkQueue) work(ctx, draining context.Context) {
	for {
		select {
		case r := <-q.requests:
			q.handle(ctx, draining, r)
			continue
		case <-ctx.Done():
		}
		select {
		case r := <-q.requests:
			q.handle(ctx, draining, r)
		default:
			return
		}
	}
}

// handle creates the link for a request and starts to send it.
func (q *linkQueue) handle(ctx, draining context.Context, r linkRequest) {
	select {
	case q.unsent <- struct{}{}:
	case <-draining.Done():
		q.finish(linkDropped)
		return
	}
	m, result := q.create(draining, r)
	if result != "" {
		<-q.unsent
		q.finish(result)
		return
	}
	q.sends.Go(func() {
		window, cancel := context.WithTimeout(draining, linkSendWindow)
		defer cancel()
		result := q.transmit(ctx, window, m)
		<-q.unsent
		q.finish(result)
	})
}

// finish counts the result of a request.
func (q *linkQueue) finish(result string) {
	q.results.WithLabelValues(result).Inc()
	if result == linkDropped {
		q.dropped.Add(1)
	}
}

// create creates and stores the link for a request. If there is no link to send, it returns the
// result to count.
func (q *linkQueue) create(ctx context.Context, r linkRequest) (m LinkMail, result string) {
	if q.lookups.Wait(ctx) != nil {
		return m, linkDropped
	}
	token, hash := NewSignInLink()
	expires := q.now().Add(LinkLifetime)
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
		return m, linkNoAccount
	case errors.Is(err, store.ErrLimit):
		return m, linkLimited
	case err != nil:
		q.throttledLog.warn("emailed link", "creating a sign-in link failed; it was not sent", "error", err)
		return m, linkFailed
	}
	return LinkMail{To: r.email, URL: q.public + SignInLinkPath + token, SignUp: signsUp, RequestedAt: r.at, ExpiresAt: expires}, ""
}

// transmit sends a link, with retries until window ends. When ctx ends, it tries once more without
// waiting.
func (q *linkQueue) transmit(ctx, window context.Context, m LinkMail) (result string) {
	delays := linkRetryDelays()
	for attempt := 0; ; attempt++ {
		last := ctx.Err() != nil || attempt == len(delays)
		senders := q.senders
		if attempt > 0 && ctx.Err() == nil {
			senders = q.retriers
		}
		err := q.sendOnce(window, senders, m)
		switch {
		case err == nil:
			return linkSent
		case errors.Is(err, ErrUndeliverable):
			return linkUndeliverable
		case ctx.Err() != nil && (last || window.Err() != nil):
			return linkDropped
		case last || window.Err() != nil:
			q.throttledLog.warn("email", "sending a sign-in link failed", "attempts", attempt+1, "error", err)
			return linkFailed
		}
		select {
		case <-time.After(delays[attempt]):
		case <-ctx.Done():
		}
	}
}

// sendOnce sends a link when one of the senders is free.
func (q *linkQueue) sendOnce(ctx context.Context, senders chan struct{}, m LinkMail) error {
	select {
	case senders <- struct{}{}:
		defer func() { <-senders }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if ctx.Err() != nil { // it ended just as the sender became free
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, linkSendTimeout)
	defer cancel()
	return q.send(ctx, m)
}
