package records

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola"
)

// Granted returns how many of the wanted units an allowance grants. used is its count including the
// wanted units, and may exceed the limit.
func Granted(wanted, used, limit int) int { return max(0, min(wanted, limit-(used-wanted))) }

// Naming lists the labels that a preview may name.
type Naming struct {
	Labels []cola.TTBID // in the given order
	New    []cola.TTBID // those not named before
}

// NewNaming decides which labels a preview may name. known are those named before, and used is the
// number of distinct labels named so far.
func NewNaming(labels, known []cola.TTBID, used, limit int) Naming {
	var n Naming
	for _, id := range labels {
		switch {
		case slices.Contains(known, id):
		case used+len(n.New) < limit:
			n.New = append(n.New, id)
			known = append(known, id)
		default:
			continue
		}
		n.Labels = append(n.Labels, id)
	}
	return n
}
