package quota

import (
	"container/list"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

const (
	maxQueued = 8192 // waiting charges
	maxBatch  = 4096 // charges per transaction

	// An account may use at most 1/roomShare of the remaining room, so that some is left for others
	// even if many accounts send as much as they can. That is 481 charges if no other account is
	// waiting, four times as many as the largest rate limit allows in a minute.
	roomShare = 16
)

// queue holds the charges that are waiting for the ledger's worker. Their number is bounded, in
// total and per account, and so is the estimated time until they are committed.
//
// Accounts take turns, so an account's next charge waits for at most the batch that is being
// settled, however many charges to other accounts are ahead of it. Only if more than maxBatch
// accounts are waiting does it wait longer. Charges to the same account stay in order of arrival.
type queue struct {
	filled chan struct{} // signals the worker; capacity 1

	mu       sync.Mutex
	lines    map[cola.AccountID]*line
	turns    list.List // *line elements, in the order in which the accounts are served
	charges  int       // waiting charges
	settling int       // accounts in the batch that the worker has taken
	pace     pace
	closed   bool
}

// line holds an account's waiting charges. It is never empty.
type line struct {
	turn        *list.Element
	first, last *pending
	length      int
}

func newQueue() *queue {
	return &queue{filled: make(chan struct{}, 1), lines: map[cola.AccountID]*line{}}
}

// admit returns the error for a charge that would wait too long, or nil.
func (q *queue) admit(id cola.AccountID) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.admitLocked(id)
}

func (q *queue) admitLocked(id cola.AccountID) error {
	room, accounts := maxQueued-q.charges, q.turns.Len()+q.settling
	l := q.lines[id]
	if room == 0 || l != nil && l.length >= room/roomShare || accounts >= q.pace.maxAccounts() {
		return cola.Overloaded(q.pace.estimate(accounts))
	}
	return nil
}

// add queues a charge, or returns an error if it would wait too long or the queue is closed.
func (q *queue) add(p *pending) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return cola.Unavailable()
	}
	id := p.request.Caller.Account
	if err := q.admitLocked(id); err != nil {
		return err
	}
	l := q.lines[id]
	if l == nil {
		l = &line{first: p}
		l.turn = q.turns.PushBack(l)
		q.lines[id] = l
	} else {
		l.last.next = p
	}
	l.last, p.queued = p, true
	l.length++
	q.charges++
	signal(q.filled)
	return nil
}

// remove removes the charge of a caller that has given up. It returns false if the worker has
// already taken the charge.
func (q *queue) remove(p *pending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !p.queued {
		return false
	}
	l := q.lines[p.request.Caller.Account]
	if p == l.first {
		q.pop(l)
		return true
	}
	before := l.first
	for before.next != p {
		before = before.next
	}
	before.next, p.queued = p.next, false
	if p == l.last {
		l.last = before
	}
	l.length--
	q.charges--
	return true
}

// pop takes the first charge of a line, and removes the line if it is empty.
func (q *queue) pop(l *line) *pending {
	p := l.first
	l.first, p.queued = p.next, false
	l.length--
	q.charges--
	if l.length == 0 {
		q.turns.Remove(l.turn)
		delete(q.lines, p.request.Caller.Account)
	}
	return p
}

// wait waits for a charge. It returns false when the queue is closed and empty.
func (q *queue) wait() bool {
	for {
		q.mu.Lock()
		charges, closed := q.charges, q.closed
		q.mu.Unlock()
		if charges > 0 || closed {
			return charges > 0
		}
		<-q.filled
	}
}

// take takes up to maxBatch charges: one from each account in turn, then a second one, and so on.
func (q *queue) take() []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settling = min(q.turns.Len(), maxBatch)
	batch := make([]*pending, 0, min(q.charges, maxBatch))
	for q.turns.Len() > 0 && len(batch) < maxBatch {
		l := q.turns.Front().Value.(*line)
		q.turns.MoveToBack(l.turn)
		batch = append(batch, q.pop(l))
	}
	return batch
}

// settled records that the worker is done with the batch returned by take.
func (q *queue) settled() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settling = 0
}

// measure records how long a batch took to commit. Call it only for batches committed on the first
// attempt.
func (q *queue) measure(accounts int, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pace.observe(accounts, took)
}

// estimate returns the estimated time until all charges are committed, zero for an empty queue.
func (q *queue) estimate() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if accounts := q.turns.Len() + q.settling; accounts > 0 {
		return q.pace.estimate(accounts)
	}
	return 0
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.charges
}

// close makes add fail. The worker settles the remaining charges.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	signal(q.filled)
}
