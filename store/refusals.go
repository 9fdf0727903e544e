package store

import (
	"context"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// MaxRefusals is how many refusals are kept of an account: the latest.
const MaxRefusals = 200

// Refusal is requests of one minute that were refused alike.
type Refusal struct {
	Minute     time.Time // in which they came, UTC
	Channel    cola.Channel
	Credential cola.Credential
	Reason     string // such as burst; a word of ours
	Count      int
	LastAt     time.Time // when the latest of them came
}

// AccountRefusal is a refusal and the account that it befell.
type AccountRefusal struct {
	Account cola.AccountID
	Refusal
}

// Refusals keeps which requests of accounts were refused, for account holders to see. It is no part of the ledger: what a process notes
// may be lost with it.
type Refusals interface {
	// NoteRefusals adds the counts to those of the same account, minute, channel, credential and reason, and keeps the later LastAt. Of
	// each account the MaxRefusals latest by LastAt are kept. Accounts that there are not are passed over, and so are counts that are not
	// positive. It fails with ErrMalformed when a text cannot be kept, and does not wait for the disk.
	NoteRefusals(ctx context.Context, refusals []AccountRefusal) error
	// Refusals returns the refusals of an account, latest first, so many at most.
	Refusals(ctx context.Context, account cola.AccountID, most int) ([]Refusal, error)
}
