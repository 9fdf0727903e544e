package auth

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

const (
	// lastSeenEvery is how often a session stores that its browser is still there. A write for every
	// request would slow down every page.
	lastSeenEvery = time.Minute

	mostNotices = 4
	mostNotice  = 2_000 // bytes of a key or a value
	// mostIDToken bounds the ID tokens that a session stores for signing out, in bytes: they go into a
	// URL. Without one, the issuer asks who is signing out.
	mostIDToken = 4 << 10
)

// sessionData is the content of a session. It is stored as JSON, so that other versions of the program
// can read it.
type sessionData struct {
	SignIn  *signedIn `json:"sign_in,omitempty"`
	Notices []notice  `json:"notices,omitempty"` // oldest first
	Seen    time.Time `json:"seen,omitzero"`     // when the browser's last visit was stored
}

// signedIn is the sign-in of a browser.
type signedIn struct {
	ID        int64          `json:"id"`
	Account   cola.AccountID `json:"account"`
	Until     time.Time      `json:"until"`
	SignOutAt string         `json:"sign_out_at,omitempty"` // the issuer's end_session_endpoint
	ClientID  string         `json:"client_id,omitempty"`
	IDToken   string         `json:"id_token,omitempty"`
}

// notice is a text for a later request.
type notice struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// signOut returns the address at which the issuer signs the browser out and redirects it to back.
func (s signedIn) signOut(back string) string {
	at, err := url.Parse(s.SignOutAt)
	if err != nil {
		return ""
	}
	query := at.Query()
	query.Set("client_id", s.ClientID)
	query.Set("post_logout_redirect_uri", back)
	if s.IDToken != "" {
		query.Set("id_token_hint", s.IDToken)
	}
	at.RawQuery = query.Encode()
	return at.String()
}

func (d *sessionData) empty() bool { return d.SignIn == nil && len(d.Notices) == 0 }

// expire clears the data if the sign-in has expired.
func (d *sessionData) expire(now time.Time) {
	if d.SignIn != nil && !now.Before(d.SignIn.Until) {
		*d = sessionData{}
	}
}

func (d *sessionData) clone() sessionData {
	c := *d
	c.Notices = slices.Clone(d.Notices)
	return c
}

func (d *sessionData) put(key, value string) {
	d.pop(key)
	clean := func(text string) string { return cut(strings.ToValidUTF8(text, ""), mostNotice) }
	d.Notices = append(d.Notices, notice{clean(key), clean(value)})
	d.Notices = d.Notices[max(0, len(d.Notices)-mostNotices):]
}

func (d *sessionData) pop(key string) (value string, found bool) {
	at := slices.IndexFunc(d.Notices, func(n notice) bool { return n.Key == key })
	if at < 0 {
		return "", false
	}
	value = d.Notices[at].Value
	d.Notices = slices.Delete(d.Notices, at, at+1)
	return value, true
}

// merged is a three-way merge of session data that one request changed from base to ours, and others
// to theirs. It has the notices that either side added, without those that either side removed. The
// sign-in of a session never changes: signing in starts a new session.
func merged(base, ours, theirs sessionData) sessionData {
	m := sessionData{SignIn: ours.SignIn, Seen: ours.Seen}
	for _, n := range theirs.Notices {
		if slices.Contains(ours.Notices, n) || !slices.Contains(base.Notices, n) {
			m.put(n.Key, n.Value)
		}
	}
	for _, n := range ours.Notices {
		if !slices.Contains(base.Notices, n) {
			m.put(n.Key, n.Value)
		}
	}
	return m
}
