package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testEnrichments(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"labels to enrich", labelsToEnrich},
		{"callback error", func(t *testing.T, st store.Store, _ *clock) {
			mustAddColas(t, st, detailed(1), detailed(2))
			calls := 0
			err := st.LabelsToEnrich(t.Context(), "m", func(cola.TTBID) error { calls++; return errCallback })
			if !errors.Is(err, errCallback) || calls != 1 {
				t.Errorf("error = %v after %d calls, want the callback's error after 1", err, calls)
			}
		}},
		{"results", enrichmentResults},
		{"claims", enrichmentClaims},
		{"daily limits", enrichmentLimits},
		{"concurrent use", concurrentEnrichments},
	})
}

// detailed returns the nth label with detail.
func detailed(n int) cola.Cola {
	c := label(n)
	c.ApplicationStatus = "approved"
	return c
}

func newEnrichment(e store.Enrichment) store.Enrichment {
	e.Model, e.InputHash, e.Fields = "small", []byte{31: 1}, `{"llm_container_type":"can"}`
	e.Answer = `{"llm_container_type":"keg"}`
	e.Attempts, e.TokensIn, e.TokensOut, e.At = 2, 1_000, 50, epoch.Add(time.Second)
	return e
}

func mustClaimEnrichment(t tb, st store.Store, id cola.TTBID) store.Enrichment {
	t.Helper()
	e, err := st.ClaimEnrichment(context.Background(), id, anHour)
	if must(t, e, err); e.Hold == 0 || e.Revision == 0 || e.TTBID != id {
		t.Errorf("ClaimEnrichment = %+v, want a hold number and the label's revision", e)
	}
	e.At = e.At.UTC()
	return e
}

func mustToEnrich(t tb, st store.Store, model string) (ids []cola.TTBID) {
	t.Helper()
	mustDo(t, st.LabelsToEnrich(context.Background(), model, func(id cola.TTBID) error {
		ids = append(ids, id)
		return nil
	}))
	return ids
}

// labelsToEnrich checks that the list has the labels with detail, unless a result from the model
// covers their latest change.
func labelsToEnrich(t *testing.T, st store.Store, _ *clock) {
	mustAddColas(t, st, label(1), detailed(2), detailed(3), detailed(4))
	checkEqual(t, "at first", []cola.TTBID{detailed(4).TTBID, detailed(3).TTBID, detailed(2).TTBID},
		mustToEnrich(t, st, "small"))
	for _, n := range []int{3, 4} {
		e := newEnrichment(mustClaimEnrichment(t, st, detailed(n).TTBID))
		if n == 3 { // recorded, but not yet applied
			e.Revision = 0
		}
		mustDo(t, st.SaveEnrichment(t.Context(), e))
		mustDo(t, st.ReleaseEnrichment(t.Context(), e))
	}
	checkEqual(t, "with a result", []cola.TTBID{detailed(3).TTBID, detailed(2).TTBID}, mustToEnrich(t, st, "small"))
	checkEqual(t, "with another model", 3, len(mustToEnrich(t, st, "large")))
	changed := detailed(4)
	changed.ProductName = "CHANGED"
	mustUpsert(t, st, []store.Outcome{store.Changed}, patchOf(changed))
	checkEqual(t, "after a change", 3, len(mustToEnrich(t, st, "small")))
}

// enrichmentResults checks that a result is read as it was saved, and that a later one replaces it.
func enrichmentResults(t *testing.T, st store.Store, _ *clock) {
	mustAddColas(t, st, detailed(1))
	id := detailed(1).TTBID
	first := mustClaimEnrichment(t, st, id)
	checkEqual(t, "without a result", store.Enrichment{TTBID: id, Revision: first.Revision, Hold: first.Hold}, first)
	want := newEnrichment(first)
	mustDo(t, st.SaveEnrichment(t.Context(), want))
	mustDo(t, st.ReleaseEnrichment(t.Context(), want))
	claimed := mustClaimEnrichment(t, st, id)
	want.Hold = claimed.Hold
	checkEqual(t, "result", want, claimed)

	failed := store.Enrichment{
		TTBID: id, Model: "large", InputHash: []byte{1}, Failure: "refused \x00\xff", Attempts: 1, At: epoch, Hold: claimed.Hold,
	}
	mustDo(t, st.SaveEnrichment(t.Context(), failed))
	mustDo(t, st.ReleaseEnrichment(t.Context(), failed))
	got := mustClaimEnrichment(t, st, id)
	failed.Failure, failed.Hold, failed.Revision = got.Failure, got.Hold, first.Revision
	checkEqual(t, "failure", failed, got)
	if got.Failure == "" {
		t.Error("Failure is empty, want the stored reason")
	}
}

// enrichmentClaims checks that a label has at most one claim, and that only its holder can save a
// result.
func enrichmentClaims(t *testing.T, st store.Store, c *clock) {
	mustAddColas(t, st, detailed(1))
	id := detailed(1).TTBID
	first := mustClaimEnrichment(t, st, id)
	for desc, other := range map[string]cola.TTBID{"claimed label": id, "unknown label": id + 1} {
		if e, err := st.ClaimEnrichment(t.Context(), other, anHour); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("ClaimEnrichment for %s = %+v, %v; want ErrNotFound", desc, e, err)
		}
	}
	c.advance(anHour)
	second := mustClaimEnrichment(t, st, id)
	if err := st.SaveEnrichment(t.Context(), newEnrichment(first)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("SaveEnrichment with an ended claim: error = %v, want ErrNotFound", err)
	}
	mustDo(t, st.ReleaseEnrichment(t.Context(), first)) // ignored
	mustDo(t, st.SaveEnrichment(t.Context(), newEnrichment(second)))
	mustDo(t, st.ReleaseEnrichment(t.Context(), second))
	checkEqual(t, "model", "small", mustClaimEnrichment(t, st, id).Model)
}

func enrichmentLimits(t *testing.T, st store.Store, c *clock) {
	limit := store.EnrichmentLimit{Requests: 2, Tokens: 100}
	reserve := func(l store.EnrichmentLimit, want error) {
		t.Helper()
		if err := st.ReserveEnrichment(t.Context(), l); !errors.Is(err, want) {
			t.Errorf("ReserveEnrichment(%+v) error = %v, want %v", l, err, want)
		}
	}
	reserve(store.EnrichmentLimit{}, store.ErrMalformed)
	reserve(limit, nil)
	reserve(limit, nil)
	reserve(limit, store.ErrLimit)
	reserve(store.EnrichmentLimit{Requests: 3}, nil) // no token limit
	c.advance(24 * time.Hour)
	mustDo(t, st.CountEnrichmentTokens(t.Context(), 60))
	reserve(limit, nil)
	mustDo(t, st.CountEnrichmentTokens(t.Context(), 40))
	reserve(limit, store.ErrLimit)
	limit.Tokens++
	reserve(limit, nil)
	reserve(limit, store.ErrLimit)
}

// concurrentEnrichments checks that only one of several concurrent callers gets a claim, and that
// the limit holds.
func concurrentEnrichments(t *testing.T, st store.Store, _ *clock) {
	mustAddColas(t, st, detailed(1))
	var claims, reserved atomic.Int32
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if _, err := st.ClaimEnrichment(t.Context(), detailed(1).TTBID, anHour); err == nil {
				claims.Add(1)
			} else if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("ClaimEnrichment: %v", err)
			}
			if err := st.ReserveEnrichment(t.Context(), store.EnrichmentLimit{Requests: 3}); err == nil {
				reserved.Add(1)
			} else if !errors.Is(err, store.ErrLimit) {
				t.Errorf("ReserveEnrichment: %v", err)
			}
		})
	}
	wait.Wait()
	checkEqual(t, "claims", int32(1), claims.Load())
	checkEqual(t, "reserved requests", int32(3), reserved.Load())
}

// populateEnrichments records results for two labels and leaves one of them claimed.
func populateEnrichments(t *testing.T, st store.Store) {
	t.Helper()
	mustUpsert(t, st, []store.Outcome{store.Changed, store.Changed}, patchesOf(detailed(1), detailed(2))...)
	e := newEnrichment(mustClaimEnrichment(t, st, detailed(1).TTBID))
	mustDo(t, st.SaveEnrichment(t.Context(), e))
	mustDo(t, st.ReserveEnrichment(t.Context(), store.EnrichmentLimit{Requests: 1}))
	failed := mustClaimEnrichment(t, st, detailed(2).TTBID)
	failed.Model, failed.Failure = "small", "rejected"
	mustDo(t, st.SaveEnrichment(t.Context(), failed))
	mustDo(t, st.ReleaseEnrichment(t.Context(), failed))
}

// checkCopiedEnrichments checks that the copy has the results and lists their labels again, because
// copied labels have new revisions. Daily usage is not copied.
func checkCopiedEnrichments(t *testing.T, to store.Store) {
	t.Helper()
	ids := mustToEnrich(t, to, "small")
	for _, n := range []int{1, 2} {
		if !slices.Contains(ids, detailed(n).TTBID) {
			t.Errorf("LabelsToEnrich in the copy omits label %d", n)
		}
	}
	got := mustClaimEnrichment(t, to, detailed(1).TTBID)
	want := newEnrichment(store.Enrichment{TTBID: got.TTBID, Revision: got.Revision, Hold: got.Hold})
	checkEqual(t, "copied enrichment", want, got)
	mustDo(t, to.ReserveEnrichment(t.Context(), store.EnrichmentLimit{Requests: 1}))
}
