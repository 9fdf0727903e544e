// Package registry implements the operations of the registry. The REST API, the MCP endpoint and
// the dashboard decode requests into the same parameters and call the same methods, so they behave
// the same way.
//
// Methods that serve a caller take the cola.Caller and return its quota state with the result, and
// with an error if the state is known (QuotaState.Known). A metered method:
//
//  1. normalizes the parameters,
//  2. does the work,
//  3. asks the ledger to admit and charge the request,
//  4. returns the result.
//
// A free method usually asks the ledger to admit the request before it does the work.
//
// Errors that are not a *cola.Error are internal errors.
package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/registry/billing"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// Store contains the database operations that the service uses.
type Store interface {
	store.Changes
	ID() string
	Ping(ctx context.Context) error
	Cola(ctx context.Context, id cola.TTBID) (cola.Cola, error)
	MainImages(ctx context.Context, ids []cola.TTBID) (map[cola.TTBID]string, error)
	Resubmissions(ctx context.Context, id cola.TTBID) ([]cola.TTBID, error)
	AllReferences(ctx context.Context) (store.ReferenceSets, error)
	LastImports(ctx context.Context) ([]cola.LastImport, error)
	ImageFile(ctx context.Context, id string) (store.ImageFile, error)
	store.SavedSearches
	RunsOf(
		ctx context.Context, account cola.AccountID, uuid string, page store.Slice,
	) ([]cola.SavedSearchRun, int, error)
	RunsAfter(
		ctx context.Context, account cola.AccountID, uuid string, after int64, limit int,
	) ([]cola.SavedSearchRun, error)
	LatestMatches(ctx context.Context, account cola.AccountID, limit int) ([]store.MatchedRun, error)
	MatchesOf(
		ctx context.Context, account cola.AccountID, uuid string, run int64, page store.Slice,
	) ([]cola.SavedSearchMatch, int, error)
	RunOf(ctx context.Context, account cola.AccountID, uuid string, run int64) (cola.SavedSearchRun, error)
	RequestRun(ctx context.Context, account cola.AccountID, uuid string, due time.Time, limit int) (cola.SavedSearch, error)
	store.Allowances
	Trace(ctx context.Context, account cola.AccountID, uuid string, label cola.TTBID) (store.Trace, error)
	store.Destinations
	DeliveriesOf(
		ctx context.Context, account cola.AccountID, which store.DeliveryFilter, page store.Slice,
	) ([]cola.Delivery, int, error)
	DeliveryOf(ctx context.Context, account cola.AccountID, id int64) (cola.DeliveryDetail, error)
	DeliveriesAfter(ctx context.Context, account cola.AccountID, after int64, limit int) ([]store.DeliveryRecord, error)
	Exchanges(ctx context.Context, account cola.AccountID, id int64) ([]store.Exchange, error)
	Replay(ctx context.Context, account cola.AccountID, id int64, due time.Time) (cola.Delivery, error)
	ReplayUndelivered(
		ctx context.Context, account cola.AccountID, destination string, due time.Time, limit int,
	) (int, error)
	AddTest(ctx context.Context, account cola.AccountID, destination string, due time.Time) (cola.Delivery, error)
	Access
	SubscriptionOf(ctx context.Context, account cola.AccountID) (store.Subscription, error)
	CollectionStore
}

// Options configures a Service. Logger, Metrics, Events, Vault and Images are optional.
type Options struct {
	Vault     *vault.Vault // encrypts destination secrets; nil if destinations are neither created nor confirmed
	Store     Store
	Images    ImageStore // label image files; nil if the process doesn't serve them
	Index     *search.Index
	Ledger    *quota.Ledger
	PublicURL string     // scheme and host of the service, without a trailing slash
	Now       cola.Clock // clock for date windows, key expiry, rate limits and caches
	Logger    *slog.Logger

	// Operators are the email addresses of the account holders who may manage the collectors.
	Operators []string

	// RequestLogDays is how many days requests are kept for account holders to see; 0 disables the
	// request log.
	RequestLogDays int

	// Billing sells plans; nil if only an operator sets them.
	Billing *billing.Billing

	SendsMail       bool // this process or another one sends email
	PrivateWebhooks bool // webhooks may use private addresses and plain HTTP

	// Metrics registers the metrics of the service, once per registerer; nil disables them.
	Metrics prometheus.Registerer
	// Events records security events, such as rejected tokens and changes to keys; may be nil.
	Events *security.Events
}

// Service implements every operation. It is safe for concurrent use. Run a Follower to keep its
// index current.
type Service struct {
	store       Store
	images      ImageStore
	index       *search.Index
	ledger      recordingLedger
	refusals    *refusalRecorder
	requests    *requestRecorder // nil if the request log is off
	publicURL   string
	operators   map[string]bool // keyed by folded email address
	sends       cola.DestinationRules
	now         cola.Clock
	log         *slog.Logger
	metrics     *metrics
	events      *security.Events
	tokenLimit  tokenRateLimit
	testLimit   testMessageLimit
	suggests    suggestionLimit
	vault       *vault.Vault
	billing     *billing.Billing // nil if plans aren't sold
	followed    followerStats
	pings       pingCache
	imports     importsCache
	samples     samplesCache
	references  atomic.Pointer[store.ReferenceSets]
	requestDays int // how many days requests are kept; 0 if the request log is off
	ready       atomic.Bool
	draining    atomic.Bool
}

// New returns a Service. Its operations fail with CodeUnavailable until its Follower has built the
// index.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		store: o.Store, images: o.Images, index: o.Index, vault: o.Vault,
		publicURL: strings.TrimRight(o.PublicURL, "/"), operators: map[string]bool{}, now: o.Now, log: o.Logger,
		sends: cola.DestinationRules{SendsMail: o.SendsMail, PrivateWebhooks: o.PrivateWebhooks},
	}
	for _, email := range o.Operators {
		s.operators[store.FoldEmail(email)] = true
	}
	s.pings = pingCache{store: o.Store, now: o.Now}
	s.imports = importsCache{store: o.Store, now: o.Now}
	s.billing = o.Billing
	s.events, s.tokenLimit, s.testLimit = o.Events, newTokenRateLimit(o.Now), newTestMessageLimit(o.Now)
	s.suggests = newSuggestionLimit(o.Now)
	s.metrics = newMetrics(o.Metrics, s)
	s.refusals = newRefusalRecorder(o.Store, o.Now, o.Logger, newRefusalMetrics(o.Metrics))
	s.ledger = recordingLedger{o.Ledger, s.refusals}
	if s.requestDays = o.RequestLogDays; s.requestDays > 0 {
		s.requests = newRequestRecorder(o.Store, s.requestDays, o.Now, o.Logger, newRequestLogMetrics(o.Metrics))
	}
	return s
}

// Close writes pending refusals and requests. Call it after the last request and before the store
// is closed.
func (s *Service) Close() {
	s.refusals.close()
	if s.requests != nil {
		s.requests.close()
	}
}

// Admit admits a free request, or one that the API itself rejects. The request counts toward the
// rate limit, unless it comes from the dashboard. Admit checks the credential.
func (s *Service) Admit(ctx context.Context, c cola.Caller) (cola.QuotaState, error) {
	return s.charge(ctx, c, cola.MeterNone, 0)
}

// Refuse admits a request and returns refusal, or the error if it is not admitted.
func (s *Service) Refuse(ctx context.Context, c cola.Caller, refusal error) (cola.QuotaState, error) {
	state, err := s.Admit(ctx, c)
	if err != nil {
		return state, err
	}
	s.refusals.record(c, refusal)
	return state, refusal
}

// Standing returns the caller's quota state, for a request that doesn't count toward any limit,
// such as a handshake. It checks the credential.
func (s *Service) Standing(ctx context.Context, c cola.Caller) (cola.QuotaState, error) {
	grant, err := s.ledger.Charge(ctx, quota.Request{Caller: c, Peek: true})
	return grant.State, err
}

// Overloaded returns an error if new requests must be rejected because too many are waiting, and
// otherwise nil. It costs less than identifying the caller.
func (s *Service) Overloaded() error { return s.ledger.Overloaded() }

// Enter waits until a request with a known caller may be processed. It returns the function to call
// before the response is written, or an error: Overloaded's or ctx's.
func (s *Service) Enter(ctx context.Context) (leave func(), err error) { return s.ledger.Enter(ctx) }

func (s *Service) checkIndexBuilt() error {
	if s.ready.Load() {
		return nil
	}
	return &cola.Error{
		Code:       cola.CodeUnavailable,
		Message:    "The registry is starting and building its index. Try again in a few seconds.",
		RetryAfter: cola.UnavailableRetry,
	}
}

func (s *Service) charge(ctx context.Context, c cola.Caller, m cola.Meter, units int) (cola.QuotaState, error) {
	grant, err := s.ledger.Charge(ctx, quotaRequest(c, m, units))
	return grant.State, err
}

// quotaRequest returns the ledger request for an operation. Free requests from the dashboard are
// neither charged nor counted as usage.
func quotaRequest(c cola.Caller, m cola.Meter, units int) quota.Request {
	return quota.Request{
		Caller: c,
		Meter:  m,
		Units:  units,
		Peek:   c.Channel == cola.ChannelDashboard && m == cola.MeterNone,
	}
}

// precheck rejects a request before any work on it if the index is not built yet, or if the ledger
// would reject it no matter what it costs.
func (s *Service) precheck(c cola.Caller) (cola.QuotaState, error) {
	if err := s.checkIndexBuilt(); err != nil {
		return cola.QuotaState{}, err
	}
	return s.ledger.Precheck(quotaRequest(c, cola.MeterNone, 0))
}

// withTimeout runs database work with a time limit. A timeout is reported like an unreachable
// database.
func withTimeout(ctx context.Context, limit time.Duration, work func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := work(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: no response within %v", store.ErrUnavailable, limit)
	}
	return err
}

// storeError returns the public error for a failed read.
func storeError(err error, operation string) error {
	if errors.Is(err, store.ErrUnavailable) {
		return cola.Unavailable()
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// today returns the current day in UTC.
func (s *Service) today() cola.Date { return cola.DateOf(s.now().UTC()) }

// pageCount returns the number of pages that total records fill.
func pageCount(total, perPage int) int { return (total + perPage - 1) / perPage }

const (
	// pingTimeout is the time limit for the database's response.
	pingTimeout = 2 * time.Second
	// pingInterval limits how often readiness probes reach the database, since /readyz is public.
	pingInterval = 100 * time.Millisecond
)

// Drain makes readiness probes fail, so that load balancers send no more traffic. The service
// continues to serve requests.
func (s *Service) Drain() { s.draining.Store(true) }

// Ready returns nil if requests should be sent here: the index is built, the database responds and
// commits, and the process is not shutting down. Ready pings the database at most ten times a
// second, regardless of the number of callers.
func (s *Service) Ready(ctx context.Context) error {
	if s.draining.Load() {
		return errors.New("shutting down")
	}
	if err := s.checkIndexBuilt(); err != nil {
		return err
	}
	if err := s.pings.ping(ctx); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if !s.ledger.Up() {
		return errors.New("database: reachable, but commits fail")
	}
	return nil
}

// pingCache shares the result of one database ping among callers.
type pingCache struct {
	store Store
	now   cola.Clock

	mu   sync.Mutex
	at   time.Time // when the result was obtained; zero before the first ping
	last error
}

func (p *pingCache) ping(ctx context.Context) error {
	p.mu.Lock() // held for at most pingTimeout
	defer p.mu.Unlock()
	if age := p.now().Sub(p.at); !p.at.IsZero() && age >= 0 && age < pingInterval {
		return p.last
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout) // other callers also wait for the result
	defer cancel()
	p.last = p.store.Ping(ctx)
	p.at = p.now()
	return p.last
}
