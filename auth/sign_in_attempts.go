package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/ratelimit"
	"github.com/colaregistry/colaregistry/internal/security"
)

const (
	// maxAttempts is the maximum number of concurrent attempts per browser, one per tab.
	maxAttempts = 5
	// maxAttemptBytes limits the total size of a browser's attempt cookies. Proxies commonly accept
	// 8 KiB of cookies.
	maxAttemptBytes = 5_000
	// maxAttemptsRead is the maximum number of attempt cookies read from a request.
	maxAttemptsRead = 20

	attemptCookie = "colaregistry-attempt-"
)

// attempt is an unfinished sign-in with an issuer.
type attempt struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"` // for PKCE
	Issuer   string    `json:"issuer"`   // URL
	ReturnTo string    `json:"return_to"`
	Until    time.Time `json:"until"`
}

// Sealer encrypts data under keys that all processes share, and decrypts it. Open needs the same
// bound (additional authenticated) data as Seal. Open fails with an error that wraps
// keyring.ErrUnknownKey if the Sealer lacks the key.
type Sealer interface {
	Seal(secret, bound []byte) []byte
	Open(sealed, bound []byte) ([]byte, error)
}

// attempts stores each attempt in a browser cookie, encrypted under a key that all processes
// share. The server keeps no state, so sign-ins that anyone can start use up neither storage nor
// a shared limit. The callback deletes the cookie. A copy of the cookie is useless: each process
// exchanges at most one code per attempt (see codeExchanges), and the issuer accepts the matching
// code only once.
type attempts struct {
	box   Sealer
	https bool
	now   cola.Clock
}

// name returns the cookie name of an attempt.
func (k attempts) name(state string) string {
	sum := sha256.Sum256([]byte(state))
	return k.prefix() + base64.RawURLEncoding.EncodeToString(sum[:9])
}

// prefix returns the prefix of the cookie names.
func (k attempts) prefix() string { return cookieName(attemptCookie, k.https) }

func (k attempts) removal(name string) *http.Cookie {
	return newCookie(name, "", -time.Second, k.https)
}

// seal returns the cookie that stores an attempt.
func (k attempts) seal(a attempt) *http.Cookie {
	content, err := json.Marshal(a)
	if err != nil {
		panic(err) // can't fail: an attempt has only strings and a time
	}
	name := k.name(a.State)
	value := base64.RawURLEncoding.EncodeToString(k.box.Seal(content, []byte(name)))
	return newCookie(name, value, AttemptLifetime, k.https)
}

// errNoAttempt means that a cookie contains no attempt, or an expired one.
var errNoAttempt = errors.New("no current sign-in attempt")

// open returns the attempt in a cookie. It fails with errNoAttempt or keyring.ErrUnknownKey. If
// more than AttemptLifetime is left, the clock was set back after the attempt started, and the
// attempt counts as expired.
func (k attempts) open(c *http.Cookie) (a attempt, err error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(c.Value)
	if err != nil {
		return attempt{}, errNoAttempt
	}
	content, err := k.box.Open(sealed, []byte(c.Name))
	switch {
	case errors.Is(err, keyring.ErrUnknownKey):
		return attempt{}, err
	case err != nil || json.Unmarshal(content, &a) != nil:
		return attempt{}, errNoAttempt
	}
	if left := a.Until.Sub(k.now()); left <= 0 || left > AttemptLifetime+leeway {
		return attempt{}, errNoAttempt
	}
	return a, nil
}

// start returns cookies that store a new attempt and delete obsolete attempts: expired or
// unreadable ones, and the oldest beyond the limits.
func (k attempts) start(sent []*http.Cookie, a attempt) []*http.Cookie {
	set := []*http.Cookie{k.seal(a)}
	stored, size := 1, sizeOf(set[0])
	for _, old := range k.current(sent) {
		if more := sizeOf(old.cookie); old.err == nil && stored < maxAttempts && size+more <= maxAttemptBytes {
			stored, size = stored+1, size+more
			continue
		}
		set = append(set, k.removal(old.cookie.Name))
	}
	return set
}

func sizeOf(c *http.Cookie) int { return len(c.Name) + len(c.Value) }

// sentAttempt is a cookie from a request, with its attempt.
type sentAttempt struct {
	cookie  *http.Cookie
	attempt attempt
	err     error
}

// current returns the attempts in the cookies of a request, newest first.
func (k attempts) current(sent []*http.Cookie) (list []sentAttempt) {
	for _, c := range sent {
		if strings.HasPrefix(c.Name, k.prefix()) && len(list) < maxAttemptsRead {
			a, err := k.open(c)
			list = append(list, sentAttempt{c, a, err})
		}
	}
	slices.SortStableFunc(list, func(a, b sentAttempt) int { return b.attempt.Until.Compare(a.attempt.Until) })
	return list
}

// find returns the attempt with the given state from the cookies of a request. removal is a cookie
// that deletes the attempt's cookie, or nil if there is none. Without https, another host in the
// same domain may add a cookie with the same name, so find tries each. It returns the same errors
// as open.
func (k attempts) find(sent []*http.Cookie, state string) (found attempt, removal *http.Cookie, err error) {
	name := k.name(state)
	err = errNoAttempt
	for _, c := range sent {
		if c.Name != name {
			continue
		}
		removal = k.removal(name)
		a, openErr := k.open(c)
		if openErr == nil && subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) == 1 {
			return a, removal, nil
		}
		if openErr != nil {
			err = openErr
		}
	}
	return attempt{}, removal, err
}

const (
	// exchangesByAddress limits the failed and in-flight exchanges per client address. An exchange
	// becomes available again every exchangeRefillInterval.
	exchangesByAddress     = 10
	exchangeRefillInterval = 6 * time.Second
	// maxExchanges is the maximum number of exchanges in flight with one issuer. It is several
	// times the per-address limit. Exchanges over the limit wait at most slotTimeout.
	maxExchanges = 32
	slotTimeout  = 2 * time.Second

	usedAttempts      = 50_000 // attempts remembered
	exchangeAddresses = 50_000 // addresses remembered
)

// codeExchanges limits requests to redeem codes. Anyone can start a sign-in and return with an
// invalid code, and issuers throttle this service as a whole. So each attempt gets one exchange, an
// address with many failed exchanges must wait, and the number of exchanges in flight is limited.
// Successful exchanges don't count. State lives in memory, per process. The methods are safe for
// concurrent use.
type codeExchanges struct {
	used      *lru.Cache[string, struct{}] // by state
	addresses *ratelimit.Limiter[netip.Prefix]
	slots     chan struct{}
}

func newCodeExchanges(now cola.Clock) *codeExchanges {
	used, err := lru.New[string, struct{}](usedAttempts)
	if err != nil {
		panic(err) // fails only if the size is below one
	}
	return &codeExchanges{
		used: used, slots: make(chan struct{}, maxExchanges),
		addresses: ratelimit.New[netip.Prefix](exchangesByAddress, exchangeRefillInterval, exchangeAddresses, now),
	}
}

// errTooManyExchanges is the error from codeExchanges.begin when too many exchanges are in flight.
var errTooManyExchanges = errors.New("too many exchanges in flight")

// begin admits the code exchange of an attempt, identified by its state. The caller must call done
// and report whether the issuer accepted the code. begin fails with errNoAttempt if the attempt's
// code was already exchanged, with CodeQuotaExceeded for an address over its limit, with
// errTooManyExchanges, or with the context's error. After any error but errNoAttempt, the attempt
// can be retried.
func (e *codeExchanges) begin(ctx context.Context, state string) (done func(accepted bool), err error) {
	if used, _ := e.used.ContainsOrAdd(state, struct{}{}); used {
		return nil, errNoAttempt
	}
	from := security.Network(cola.ClientFrom(ctx))
	if wait := e.addresses.Take(from, 1); wait > 0 {
		e.used.Remove(state)
		return nil, tooManyFailed(wait)
	}
	if err := e.acquireSlot(ctx); err != nil {
		e.addresses.Return(from, 1)
		e.used.Remove(state)
		return nil, err
	}
	return func(accepted bool) {
		<-e.slots
		if accepted {
			e.addresses.Return(from, 1)
		}
	}, nil
}

// acquireSlot waits for a slot.
func (e *codeExchanges) acquireSlot(ctx context.Context) error {
	select {
	case e.slots <- struct{}{}:
		return nil
	default:
	}
	timeout := time.NewTimer(slotTimeout)
	defer timeout.Stop()
	select {
	case e.slots <- struct{}{}:
		return nil
	case <-timeout.C:
		return errTooManyExchanges
	case <-ctx.Done():
		return ctx.Err()
	}
}

func tooManyFailed(wait time.Duration) error {
	seconds := int64((wait + time.Second - 1) / time.Second)
	return &cola.Error{
		Code: cola.CodeQuotaExceeded,
		Message: fmt.Sprintf("Too many sign-ins from your network address have failed. Reload this page in %s.",
			cola.WaitWords(wait)),
		Details:    map[string]any{"reason": security.ReasonFailedCredentials, "retry_after": seconds},
		RetryAfter: wait,
	}
}
