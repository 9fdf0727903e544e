package records

import (
	"cmp"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// Granted returns how many of the requested units an allowance grants. used is its count including
// the requested units, and may exceed the limit.
func Granted(requested, used, limit int) int { return max(0, min(requested, limit-(used-requested))) }

// PreviewLabels is the result of deciding which labels a preview may name.
type PreviewLabels struct {
	Labels []cola.TTBID // in the given order
	New    []cola.TTBID // labels not named before
}

// NewPreviewLabels decides which labels a preview may name. known contains the labels named before,
// and used is the number of distinct labels named so far.
func NewPreviewLabels(labels, known []cola.TTBID, used, limit int) PreviewLabels {
	var n PreviewLabels
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

// SumRefusals merges refusals with the same key, sorts them, and drops those without a count. It
// fails with store.ErrMalformed for an invalid refusal.
func SumRefusals(refusals []store.AccountRefusal) ([]store.AccountRefusal, error) {
	sorted := make([]store.AccountRefusal, 0, len(refusals))
	for _, r := range refusals {
		if err := r.Check(); err != nil {
			return nil, err
		}
		if r.Count > 0 {
			sorted = append(sorted, r)
		}
	}
	slices.SortFunc(sorted, compareRefusals)
	summed := sorted[:0]
	for _, r := range sorted {
		if n := len(summed); n > 0 && compareRefusals(summed[n-1], r) == 0 {
			last := &summed[n-1]
			last.Count += r.Count
			if r.LastAt.After(last.LastAt) {
				last.LastAt = r.LastAt
			}
			continue
		}
		summed = append(summed, r)
	}
	return summed, nil
}

// compareRefusals orders refusals by their key. Times have microsecond precision.
func compareRefusals(a, b store.AccountRefusal) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Minute.UnixMicro(),
		b.Minute.UnixMicro()), cmp.Compare(a.Channel, b.Channel),
		cmp.Compare(a.Credential.Kind, b.Credential.Kind), cmp.Compare(a.Credential.ID, b.Credential.ID),
		cmp.Compare(a.Reason, b.Reason))
}

// RefusedAccounts returns the accounts of sorted refusals, ascending, without duplicates.
func RefusedAccounts(summed []store.AccountRefusal) []cola.AccountID {
	ids := make([]cola.AccountID, len(summed))
	for i := range summed {
		ids[i] = summed[i].Account
	}
	return slices.Compact(ids)
}
