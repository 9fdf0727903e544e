package storetest

import (
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testResubmissions(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"the labels that submit one again are told", resubmissionsAreTold},
		{"so many of them at most", resubmissionsAreBounded},
	})
}

func mustResubmissions(t *testing.T, st store.Store, id cola.TTBID) []cola.TTBID {
	t.Helper()
	list, err := st.Resubmissions(t.Context(), id)
	return must(t, list, err)
}

func resubmissionsAreTold(t *testing.T, st store.Store, _ *clock) {
	first, second, third, other := label(1), label(2), label(3), label(4)
	gone := cola.TTBID(other.TTBID + 1_000) // a label that there is not, and which is submitted again all the same
	second.ForResubmissionTTBID, third.ForResubmissionTTBID, other.ForResubmissionTTBID = first.TTBID, first.TTBID, gone
	mustKeep(t, st, third, other, second, first)
	same(t, "of a label", []cola.TTBID{second.TTBID, third.TTBID}, mustResubmissions(t, st, first.TTBID))
	same(t, "of one that there is not", []cola.TTBID{other.TTBID}, mustResubmissions(t, st, gone))
	for _, id := range []cola.TTBID{0, second.TTBID, 99_999_999_999_999} {
		same(t, "of one that nobody submits again", 0, len(mustResubmissions(t, st, id)))
	}
	third.ForResubmissionTTBID = second.TTBID
	mustUpsert(t, st, []store.Outcome{store.Changed}, whole(third))
	same(t, "after a change", []cola.TTBID{second.TTBID}, mustResubmissions(t, st, first.TTBID))
	same(t, "of the next in the chain", []cola.TTBID{third.TTBID}, mustResubmissions(t, st, second.TTBID))
}

func resubmissionsAreBounded(t *testing.T, st store.Store, _ *clock) {
	first := label(1)
	labels := []cola.Cola{first}
	for i := range store.MaxResubmissions + 5 {
		again := label(2 + i)
		again.ForResubmissionTTBID = first.TTBID
		labels = append(labels, again)
	}
	mustKeep(t, st, labels...)
	told := mustResubmissions(t, st, first.TTBID)
	same(t, "how many are told", store.MaxResubmissions, len(told))
	same(t, "the last of them", labels[store.MaxResubmissions].TTBID, told[len(told)-1])
}
