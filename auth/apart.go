package auth

import (
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	warnedEvery    = time.Minute // of each account
	warnedAccounts = 1_000       // bounds how many are remembered
)

// warnings remembers which accounts operators were warned of lately, so that no account fills the log.
type warnings struct {
	mu   sync.Mutex
	last *lru.Cache[cola.AccountID, time.Time]
}

func newWarnings() *warnings {
	last, err := lru.New[cola.AccountID, time.Time](warnedAccounts)
	if err != nil {
		panic(err) // only a size below one fails
	}
	return &warnings{last: last}
}

// due reports whether it is time to warn of an account, and takes it that it is done then.
func (w *warnings) due(account cola.AccountID, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, ok := w.last.Get(account); ok && now.Before(last.Add(warnedEvery)) {
		return false
	}
	w.last.Add(account, now)
	return true
}

// warnApart tells the operator of a person who may have two accounts: the one that tokens of a kind are for had no address when it was made,
// and by now the verified one that they bring is another account's. Only an operator knows which of the two is wanted.
func (w *warnings) warnApart(log *slog.Logger, now time.Time, account store.Account, issuer, verified, kind string) {
	if verified == "" || !store.IsIdentityName(account.Email) || !w.due(account.ID, now) {
		return
	}
	log.Warn("the verified address in an "+kind+" token is that of another account than the token is for; if both are one person's, "+
		"give the identity to the other account: account identities, account add-identity", "account", account.ID, "issuer", issuer)
}
