package security

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
)

const (
	// failuresPerMinute is the number of invalid credentials that an address may send per minute.
	failuresPerMinute = 30
	limitedAddresses  = 50_000 // addresses in memory
	// ReasonFailedCredentials is the details.reason of a quota_exceeded error from this limit.
	ReasonFailedCredentials = "failed_credentials"

	reportEvery = time.Minute
	maxReported = 10_000 // distinct addresses in a report
	maxLogged   = 5      // addresses named in a report
)

// Secret is a kind of credential that a client can present.
type Secret string

// Kinds of secrets.
const (
	Key          Secret = "key"
	Token        Secret = "token" // an app's access token
	Session      Secret = "session"
	SignInLink   Secret = "sign_in_link"
	Feed         Secret = "feed"
	Subscription Secret = "subscription" // token from a link in an email
)

// failures counts failed credentials.
type failures struct {
	limit *ratelimit.Limiter[netip.Prefix]

	mu      sync.Mutex
	total   int
	by      map[netip.Prefix]int // at most maxReported
	secrets map[Secret]int
}

func newFailures(now cola.Clock) failures {
	if now == nil {
		now = time.Now
	}
	limit := ratelimit.New[netip.Prefix](failuresPerMinute, time.Minute/failuresPerMinute, limitedAddresses, now)
	return failures{limit: limit, by: map[netip.Prefix]int{}, secrets: map[Secret]int{}}
}

// Failed records a failed credential and returns the error for the response: err, or a 429 if the
// address exceeded its limit.
func (e *Events) Failed(ctx context.Context, s Secret, err error) error {
	if e == nil {
		return err
	}
	e.counts[FailedCredential].Inc()
	from := Network(cola.ClientFrom(ctx))
	e.failures.record(from, s)
	wait := e.failures.limit.Take(from, 1)
	if wait == 0 {
		return err
	}
	return cola.TooMany(ReasonFailedCredentials, 0, wait,
		"Too many invalid credentials from your IP address. Check your credentials; valid ones are still accepted.")
}

// Network returns the network that shares a limit: an IPv4 address or the /64 of an IPv6 address.
// It returns the zero Prefix for an invalid address.
func Network(client netip.Addr) netip.Prefix {
	bits := client.BitLen()
	if client.Is6() {
		bits = 64
	}
	prefix, _ := client.Prefix(bits)
	return prefix
}

func (f *failures) record(from netip.Prefix, s Secret) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total++
	f.secrets[s]++
	if _, known := f.by[from]; known || len(f.by) < maxReported {
		f.by[from]++
	}
}

// Run logs failed credentials once a minute and when the context is canceled.
func (e *Events) Run(ctx context.Context) {
	every := time.NewTicker(reportEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			e.report(ctx)
		case <-ctx.Done():
			e.report(ctx)
			return
		}
	}
}

// report logs the failed credentials since the last report, if any.
func (e *Events) report(ctx context.Context) {
	f := &e.failures
	f.mu.Lock()
	total, by, secrets := f.total, f.by, f.secrets
	f.total, f.by, f.secrets = 0, map[netip.Prefix]int{}, map[Secret]int{}
	f.mu.Unlock()
	if total == 0 {
		return
	}
	attrs := []slog.Attr{slog.Int("count", total), slog.Int("addresses", len(by)), slog.Any("busiest", busiest(by))}
	for _, s := range slices.Sorted(maps.Keys(secrets)) {
		attrs = append(attrs, slog.Int(string(s), secrets[s]))
	}
	e.write(ctx, FailedCredential, attrs)
}

// busiest returns the addresses with the most failures, each as "ADDRESS COUNT".
func busiest(by map[netip.Prefix]int) []string {
	all := slices.SortedFunc(maps.Keys(by), func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(by[b], by[a]), a.Addr().Compare(b.Addr()))
	})
	var list []string
	for _, from := range all[:min(len(all), maxLogged)] {
		name := from.String()
		switch {
		case !from.IsValid():
			name = "unknown"
		case from.IsSingleIP():
			name = from.Addr().String()
		}
		list = append(list, fmt.Sprintf("%s %d", name, by[from]))
	}
	return list
}
