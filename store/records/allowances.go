package records

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola"
)

// Granted returns how many of the wanted units an allowance grants: used is its count including the wanted units, which may
// exceed the limit.
func Granted(wanted, used, limit int) int { return max(0, min(wanted, limit-(used-wanted))) }

// Naming is what a preview may name.
type Naming struct {
	Labels []cola.TTBID // in the order given
	New    []cola.TTBID // of these, the ones that were not named before
}

// NewNaming decides which labels a preview may name: known ones were named before, and used distinct labels in all.
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
