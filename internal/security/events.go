// Package security records security events: new accounts, requested account deletions, and failed,
// created, changed and revoked credentials. It counts them and logs them with event=security.
// Events contain no secrets, tokens or email addresses.
//
// Failed credentials are summarized in one log line a minute, so that a flood does not fill the
// log. They are also limited per client address. Because clients can share an address, the limit
// applies only to credentials that are already known to be invalid.
package security

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/colaregistry/colaregistry/cola"
)

// Kind is a kind of event.
type Kind string

// Kinds of events.
const (
	FailedCredential Kind = "failed_credential" // an invalid credential was sent
	NewAccount       Kind = "new_account"       // a sign-in link created an account
	NewIdentity      Kind = "new_identity"      // an issuer's identity was linked to an account
	NewKey           Kind = "new_key"           // an API key was created
	ChangedKey       Kind = "changed_key"       // an API key's name, scopes or networks were changed
	RevokedKey       Kind = "revoked_key"       // an API key was revoked
	NewSignIn        Kind = "new_sign_in"       // a browser signed in
	NewConnection    Kind = "new_connection"    // an app connected to an account for the first time
	ChangedScope     Kind = "changed_scope"     // an app connected with different scopes
	// An account holder requested deletion of the account or canceled the request.
	DeletionRequested Kind = "deletion_requested"
	DeletionCanceled  Kind = "deletion_canceled"
)

func kinds() []Kind {
	return []Kind{FailedCredential, NewAccount, NewIdentity, NewKey, ChangedKey, RevokedKey, NewSignIn, NewConnection, ChangedScope,
		DeletionRequested, DeletionCanceled}
}

// Options configures Events. Every field is optional.
type Options struct {
	Logger  *slog.Logger
	Metrics prometheus.Registerer // must not be shared between Events
	Now     cola.Clock            // default time.Now
}

// Events records security events. A nil *Events neither records nor limits. It is safe for
// concurrent use. Failed credentials are logged only while Run is running.
type Events struct {
	log      *slog.Logger
	counts   map[Kind]prometheus.Counter
	failures failures
}

// New returns Events with these options.
func New(o Options) *Events {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	total := promauto.With(o.Metrics).NewCounterVec(prometheus.CounterOpts{
		Name: "colaregistry_security_events_total", Help: "Security events, by kind.",
	}, []string{"kind"})
	e := &Events{log: o.Logger, counts: map[Kind]prometheus.Counter{}, failures: newFailures(o.Now)}
	for _, k := range kinds() {
		e.counts[k] = total.WithLabelValues(string(k))
	}
	return e
}

// Record records an event for an account. credential is the one that was created, changed or
// revoked, or that the account holder used to request or cancel a deletion; it may be zero. The
// client address comes from the context.
func (e *Events) Record(
	ctx context.Context, k Kind, account cola.AccountID, credential cola.Credential, more ...slog.Attr,
) {
	if e == nil {
		return
	}
	e.counts[k].Inc()
	attrs := []slog.Attr{slog.Int64("account", int64(account))}
	if credential.ID != 0 {
		attrs = append(attrs, slog.String("credential_kind", string(credential.Kind)),
			slog.Int64("credential", credential.ID))
	}
	if client := cola.ClientFrom(ctx); client.IsValid() {
		attrs = append(attrs, slog.String("client", client.String()))
	}
	e.write(ctx, k, append(attrs, more...))
}

func (e *Events) write(ctx context.Context, k Kind, attrs []slog.Attr) {
	attrs = append([]slog.Attr{slog.String("event", "security"), slog.String("kind", string(k))}, attrs...)
	e.log.LogAttrs(ctx, slog.LevelInfo, "security", attrs...)
}
