package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/keyring"
)

const (
	// mostAttempts is the number of sign-ins that a browser may have under way, in as many tabs.
	mostAttempts = 5
	// mostAttemptBytes bounds the cookies of all of them together. Proxies commonly accept 8 KiB of
	// cookies.
	mostAttemptBytes = 5_000
	// mostAttemptsRead bounds the cookies that are looked at, whatever a browser sends.
	mostAttemptsRead = 20

	attemptCookie = "colaregistry-attempt-"
)

// attempt is a sign-in that a browser has started with an issuer and not finished.
type attempt struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"` // of PKCE
	Issuer   string    `json:"issuer"`   // URL
	ReturnTo string    `json:"return_to"`
	Until    time.Time `json:"until"`
}

// Sealer seals data under keys that all processes share, and opens it. The same bound data must be given to both. Open fails
// with an error that wraps keyring.ErrUnknownKey when it lacks the key.
type Sealer interface {
	Seal(secret, bound []byte) []byte
	Open(sealed, bound []byte) ([]byte, error)
}

// attempts keeps each attempt in a cookie of its browser, sealed under a key that all processes
// share. The server stores nothing, so that strangers who start sign-ins use up neither space nor a
// limit that others need. A cookie is deleted when the issuer sends the browser back. A copy of it
// is worth no more: each process exchanges an attempt once (see exchanges), and the issuer accepts the
// authorization code that belongs to it once.
type attempts struct {
	box   Sealer
	https bool
	now   cola.Clock
}

// name returns the name of the cookie of an attempt.
func (k attempts) name(state string) string {
	sum := sha256.Sum256([]byte(state))
	return k.prefix() + base64.RawURLEncoding.EncodeToString(sum[:9])
}

// prefix begins the names of the cookies. With __Host-, browsers accept them from this host over
// https only, so that neither a neighbouring host nor somebody on the network can plant an attempt
// of their own.
func (k attempts) prefix() string {
	if k.https {
		return "__Host-" + attemptCookie
	}
	return attemptCookie
}

// cookie returns a cookie to set; a negative age deletes it.
func (k attempts) cookie(name, value string, age time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(age / time.Second),
		HttpOnly: true, Secure: k.https, SameSite: http.SameSiteLaxMode,
	}
}

func (k attempts) removal(name string) *http.Cookie { return k.cookie(name, "", -time.Second) }

// seal returns the cookie of an attempt.
func (k attempts) seal(a attempt) *http.Cookie {
	content, err := json.Marshal(a)
	if err != nil {
		panic(err) // it holds only text and a time
	}
	name := k.name(a.State)
	return k.cookie(name, base64.RawURLEncoding.EncodeToString(k.box.Seal(content, []byte(name))), AttemptFor)
}

// errNoAttempt is the error of a cookie that holds no attempt, or one that is over.
var errNoAttempt = errors.New("no sign-in that is under way")

// open returns the attempt in a cookie. It fails with errNoAttempt, or with keyring.ErrUnknownKey.
// An attempt that would last longer than any does was sealed by a clock that has been set back
// since, and is over.
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
	if left := a.Until.Sub(k.now()); left <= 0 || left > AttemptFor+leeway {
		return attempt{}, errNoAttempt
	}
	return a, nil
}

// start returns the cookies that store a new attempt and delete those that no longer count: expired
// and unreadable ones, and the oldest beyond the limits.
func (k attempts) start(sent []*http.Cookie, a attempt) []*http.Cookie {
	set := []*http.Cookie{k.seal(a)}
	kept, size := 1, sizeOf(set[0])
	for _, old := range k.underWay(sent) {
		if more := sizeOf(old.cookie); old.err == nil && kept < mostAttempts && size+more <= mostAttemptBytes {
			kept, size = kept+1, size+more
			continue
		}
		set = append(set, k.removal(old.cookie.Name))
	}
	return set
}

func sizeOf(c *http.Cookie) int { return len(c.Name) + len(c.Value) }

// sentAttempt is a cookie that a browser has sent, with the attempt in it.
type sentAttempt struct {
	cookie  *http.Cookie
	attempt attempt
	err     error
}

// underWay returns the attempts among the cookies of a request, the newest first.
func (k attempts) underWay(sent []*http.Cookie) (list []sentAttempt) {
	for _, c := range sent {
		if strings.HasPrefix(c.Name, k.prefix()) && len(list) < mostAttemptsRead {
			a, err := k.open(c)
			list = append(list, sentAttempt{c, a, err})
		}
	}
	slices.SortStableFunc(list, func(a, b sentAttempt) int { return b.attempt.Until.Compare(a.attempt.Until) })
	return list
}

// take returns the attempt with a state among the cookies of a request, and the cookie that deletes
// it; nil if there is none to delete. Another host of the same domain may add a cookie of the same
// name where there is no https, so each is tried. It fails as open does.
func (k attempts) take(sent []*http.Cookie, state string) (found attempt, removal *http.Cookie, err error) {
	name := k.name(state)
	err = errNoAttempt
	for _, c := range sent {
		if c.Name != name {
			continue
		}
		removal = k.removal(name)
		a, unopened := k.open(c)
		if unopened == nil && subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) == 1 {
			return a, removal, nil
		}
		if unopened != nil {
			err = unopened
		}
	}
	return attempt{}, removal, err
}
