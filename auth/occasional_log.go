package auth

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	loggedEvery = time.Minute // of each kind of line
	loggedKinds = 1_000       // that are remembered
)

// occasionalLog logs one warning of each kind a minute, for events that strangers can cause. The next
// warning says how many of its kind were left out. It is safe for concurrent use.
type occasionalLog struct {
	log *slog.Logger
	now cola.Clock

	mu    sync.Mutex
	kinds *lru.Cache[string, loggedKind]
}

type loggedKind struct {
	at      time.Time // of the last line
	omitted int       // since then
}

func newOccasionalLog(log *slog.Logger, now cola.Clock) *occasionalLog {
	kinds, err := lru.New[string, loggedKind](loggedKinds)
	if err != nil {
		panic(err) // only a size below one fails
	}
	return &occasionalLog{log: log, now: now, kinds: kinds}
}

// warn logs a warning, unless one of the same kind was logged less than a minute ago.
func (l *occasionalLog) warn(kind, message string, args ...any) {
	l.mu.Lock()
	now := l.now()
	k, known := l.kinds.Get(kind)
	if since := now.Sub(k.at); known && since >= 0 && since < loggedEvery {
		k.omitted++
		l.kinds.Add(kind, k)
		l.mu.Unlock()
		return
	}
	l.kinds.Add(kind, loggedKind{at: now})
	l.mu.Unlock()
	if k.omitted > 0 {
		args = append(args, "omitted", k.omitted)
	}
	l.log.Warn(message, args...)
}

// warnDuplicate warns the operator of a person who may have two accounts: the account of an identity has
// no email address, and the verified address in its token belongs to another account. Only an operator
// knows which of the two to keep.
func (l *occasionalLog) warnDuplicate(account store.Account, issuer, verified, kind string) {
	if verified == "" || !store.IsIdentityName(account.Email) {
		return
	}
	l.warn(fmt.Sprint("duplicate of account ", account.ID), "the verified address in an "+kind+" token belongs to another account than the token; "+
		"if both are one person's, give the identity to the other account: account identities, account add-identity",
		"account", account.ID, "issuer", issuer)
}
