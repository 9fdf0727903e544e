package quota

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// group is a batch by account: what the store is asked, the answers by place in the batch, and what came of it.
type group struct {
	batch    store.Batch
	requests map[cola.AccountID][]int // places in the batch, in arrival order
	pending  []*pending
	oldest   time.Time // when the first of them arrived

	cause   atomic.Pointer[error] // of the latest attempt that the store ended by itself with an unknown outcome
	failing chan struct{}         // closed when an attempt to settle it has failed with an unknown outcome
	done    chan struct{}         // closed when no attempt is under way or to come; the fields below are whole from then on

	outcomes []outcome
	entries  []store.Entry // of the latest decision: the only ones that can have been committed
	unclear  bool          // an attempt has failed with an unknown outcome
	err      error         // of the latest attempt; nil: it is committed
}

func newGroup(batch []*pending) *group {
	g := &group{
		batch: store.Batch{ID: newBatchID()}, requests: map[cola.AccountID][]int{}, pending: batch, oldest: batch[0].arrived,
		failing: make(chan struct{}), done: make(chan struct{}),
		outcomes: make([]outcome, len(batch)),
	}
	undecided := cola.Unavailable() // stays where a store leaves an account out: it is charged nothing and granted nothing
	seen := map[cola.Credential]bool{}
	for i, p := range batch {
		g.outcomes[i] = outcome{err: undecided}
		if p.arrived.Before(g.oldest) {
			g.oldest = p.arrived
		}
		c := p.request.Caller
		if g.requests[c.Account] == nil {
			g.batch.Accounts = append(g.batch.Accounts, c.Account)
		}
		g.requests[c.Account] = append(g.requests[c.Account], i)
		if !seen[c.Credential] {
			seen[c.Credential] = true
			g.batch.Credentials = append(g.batch.Credentials, c.Credential)
		}
	}
	slices.Sort(g.batch.Accounts)
	return g
}

func newBatchID() (id store.BatchID) {
	rand.Read(id[:]) // never fails
	return id
}

// decide answers all requests of the group for the states read, and returns the entries to write. It runs again when the
// batch is settled again; the last run counts, since the store asks for a decision only where none was committed before.
func (g *group) decide(rules Rules, now time.Time, states []store.AccountState) []store.Entry {
	var entries []store.Entry
	for _, state := range states {
		places := g.requests[state.Account]
		requests := make([]Request, len(places))
		for i, at := range places {
			requests[i] = g.pending[at].request
		}
		outcomes, entry := rules.decide(now, state, requests)
		for i, at := range places {
			g.outcomes[at] = outcomes[i]
		}
		if entry.Requests > 0 {
			entries = append(entries, entry)
		}
	}
	g.entries = entries
	return entries
}

// late returns why the batch is not committed in time. An attempt that was called off says less than the one before it.
func (g *group) late() error {
	if cause := g.cause.Load(); cause != nil {
		return *cause
	}
	return fmt.Errorf("the store gave no answer within %v", answerWithin)
}

// result returns what came of the group once it is over; nil: it is committed.
func (g *group) result(ctx context.Context) error {
	if ctx.Err() != nil && (errors.Is(g.err, store.ErrUnavailable) || errors.Is(g.err, ctx.Err())) {
		return g.late()
	}
	return g.err
}

// over reports whether no attempt to settle the batch is under way or to come.
func (g *group) over() bool { return isClosed(g.done) }

// mayCount reports whether the batch is committed, or may be. Ask it only once the group is over.
func (g *group) mayCount() bool { return g.err == nil || g.unclear }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
