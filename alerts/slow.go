package alerts

import (
	"slices"

	"github.com/colaregistry/colaregistry/store"
)

// Receivers may be as slow as an attempt may be long, and some have many messages waiting for them. When one was slow, what else is due to it
// is not tried in the same round: it keeps its hold, and is tried when that has passed. So however many of its messages are due, they
// hold the others up for the time of one attempt. The same goes for a kind as a whole when it was we who were slow, as when our mail server
// does not answer.

// noteSlow notes of an attempt that it took long.
func (r *round) noteSlow(a store.Attempt, sent Sent) {
	if a.Took < slowAfter {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if sent.Ours {
		r.slow[a.Due.Kind] = true
		return
	}
	r.slow[target(a.Due)] = true
}

// isSlow reports whether what a delivery goes to was slow in this round.
func (r *round) isSlow(d store.DueDelivery) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.slow[d.Kind] || r.slow[target(d)]
}

// target names what a delivery goes to.
func target(d store.DueDelivery) string { return d.Kind + " " + d.Destination.UUID }

// quick returns the kinds that are not slow as a whole.
func (r *round) quick() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.kinds), func(kind string) bool { return r.slow[kind] })
}
