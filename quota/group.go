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

// group is a batch of charges, grouped by account, with its outcome. The committing goroutine
// writes it; others read the outcome after done is closed.
type group struct {
	batch    store.Batch
	requests map[cola.AccountID][]int // indexes into pending, in arrival order
	pending  []*pending
	oldest   time.Time // arrival of the first charge

	// cause is the error from the latest attempt with an unknown outcome, not counting attempts cut
	// off by the context.
	cause   atomic.Pointer[error]
	failing chan struct{} // closed after the first attempt with an unknown outcome
	done    chan struct{} // closed after the last attempt, when the fields below are final

	outcomes []outcome     // by index into pending
	entries  []store.Entry // entries of the latest decision; no others can be committed
	unclear  bool          // an attempt failed with an unknown outcome
	err      error         // error of the latest attempt; nil if committed
}

func newGroup(batch []*pending) *group {
	g := &group{
		batch: store.Batch{ID: newBatchID()}, requests: map[cola.AccountID][]int{}, pending: batch,
		oldest:  batch[0].arrived,
		failing: make(chan struct{}), done: make(chan struct{}),
		outcomes: make([]outcome, len(batch)),
	}
	notDecided := cola.Unavailable() // the outcome if the store omits the account from the decision
	seen, pages := map[cola.Credential]bool{}, map[store.PageKey]bool{}
	for i, p := range batch {
		g.outcomes[i] = outcome{err: notDecided}
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
		if page, ok := p.request.page(); ok && !pages[page] {
			pages[page] = true
			g.batch.Pages = append(g.batch.Pages, page)
		}
	}
	slices.Sort(g.batch.Accounts)
	return g
}

func newBatchID() (id store.BatchID) {
	rand.Read(id[:]) // never fails
	return id
}

// decide decides all requests in the group based on the accounts' states, and returns the entries
// to write. A retried batch is decided again. The last decision counts, because the store does not
// call decide for a committed batch.
func (g *group) decide(rules Rules, now time.Time, states []store.AccountState) []store.Entry {
	var entries []store.Entry
	for _, state := range states {
		indexes := g.requests[state.Account]
		requests := make([]Request, len(indexes))
		for i, at := range indexes {
			requests[i] = g.pending[at].request
		}
		outcomes, entry := rules.decide(now, state, requests)
		for i, at := range indexes {
			g.outcomes[at] = outcomes[i]
		}
		if len(entry.Units) > 0 { // Requests is 0 if all of them are exempt from the rate limit
			entries = append(entries, entry)
		}
	}
	g.entries = entries
	return entries
}

// late returns the reason why the batch was not committed in time. It prefers the store's latest
// error, if any, because the error from the canceled attempt is less specific.
func (g *group) late() error {
	if cause := g.cause.Load(); cause != nil {
		return *cause
	}
	return fmt.Errorf("no response from the store within %v", chargeTimeout)
}

// result returns the reason why a finished group was not committed, or nil if it was.
func (g *group) result(ctx context.Context) error {
	if ctx.Err() != nil && (errors.Is(g.err, store.ErrUnavailable) || errors.Is(g.err, ctx.Err())) {
		return g.late()
	}
	return g.err
}

// finished reports whether the last attempt to settle the batch has ended.
func (g *group) finished() bool { return isClosed(g.done) }

// mayBeCommitted reports whether the batch is or may be committed. The group must be finished.
func (g *group) mayBeCommitted() bool { return g.err == nil || g.unclear }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
