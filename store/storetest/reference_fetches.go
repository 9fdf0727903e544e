package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

func testReferenceFetches(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"claim, save and fail", referenceFetches},
		{"claim only after a while", referenceFetchAge},
		{"unknown source", unknownReferenceFetch},
	})
}

// newReferenceContent returns the nth content of a source.
func newReferenceContent(n byte) store.ReferenceContent {
	hash := [32]byte{n, 31: 0xff}
	return store.ReferenceContent{
		URL: "https://example.com/ü?a=1", ETag: `W/"` + string('a'+rune(n)) + `"`,
		LastModified: "Fri, 20 Nov 2026 06:00:00 GMT", Hash: hash[:],
	}
}

func mustClaimReference(t *testing.T, st store.Store, source string) store.ReferenceFetch {
	t.Helper()
	f, err := st.ClaimReferenceFetch(t.Context(), source, 0)
	return inUTC(must(t, f, err))
}

func mustReferenceFetches(t *testing.T, st store.Store) []store.ReferenceFetch {
	t.Helper()
	list, err := st.ReferenceFetches(t.Context())
	for i := range must(t, list, err) {
		list[i] = inUTC(list[i])
	}
	return list
}

func inUTC(f store.ReferenceFetch) store.ReferenceFetch {
	f.ClaimedAt, f.CheckedAt = f.ClaimedAt.UTC(), f.CheckedAt.UTC()
	f.ImportedAt, f.FailedAt = f.ImportedAt.UTC(), f.FailedAt.UTC()
	return f
}

func referenceFetches(t *testing.T, st store.Store, c *clock) {
	checkEqual(t, "number of fetches", 0, len(mustReferenceFetches(t, st)))
	want := store.ReferenceFetch{Source: "permits", ClaimedAt: epoch}
	checkEqual(t, "first claim", want, mustClaimReference(t, st, "permits"))
	other := store.ReferenceFetch{Source: "Avas", ClaimedAt: epoch}
	checkEqual(t, "claim of another source", other, mustClaimReference(t, st, "Avas"))

	c.advance(time.Minute)
	mustDo(t, st.SaveReferenceFetch(t.Context(), "permits", newReferenceContent(1), true))
	want.ReferenceContent, want.CheckedAt, want.ImportedAt = newReferenceContent(1), c.now(), c.now()
	checkEqual(t, "after an import", []store.ReferenceFetch{other, want}, mustReferenceFetches(t, st))

	c.advance(time.Minute)
	mustDo(t, st.FailReferenceFetch(t.Context(), "permits", "timeout \x00\xff"))
	want.Failure, want.FailedAt = "timeout \uFFFD\uFFFD", c.now()
	checkEqual(t, "after a failure", []store.ReferenceFetch{other, want}, mustReferenceFetches(t, st))

	c.advance(time.Minute)
	want.ClaimedAt = c.now()
	checkEqual(t, "second claim", want, mustClaimReference(t, st, "permits"))
	content := newReferenceContent(2)
	content.ETag, content.LastModified = "", ""
	mustDo(t, st.SaveReferenceFetch(t.Context(), "permits", content, false))
	want.ReferenceContent, want.CheckedAt, want.Failure, want.FailedAt = content, c.now(), "", time.Time{}
	checkEqual(t, "without an import", []store.ReferenceFetch{other, want}, mustReferenceFetches(t, st))
}

func referenceFetchAge(t *testing.T, st store.Store, c *clock) {
	mustClaimReference(t, st, "permits")
	for _, step := range []struct {
		wait, minAge time.Duration
		claimed      bool
	}{{time.Hour, anHour + time.Microsecond, false}, {0, anHour, true}, {0, anHour, false}, {0, 0, true}, {0, -anHour, true}} {
		c.advance(step.wait)
		f, err := st.ClaimReferenceFetch(t.Context(), "permits", step.minAge)
		switch {
		case !step.claimed && !errors.Is(err, store.ErrNotFound):
			t.Errorf("claim with a minimum age of %v: %+v, %v, want ErrNotFound", step.minAge, f, err)
		case step.claimed && (err != nil || !f.ClaimedAt.Equal(c.now())):
			t.Errorf("claim with a minimum age of %v: %+v, %v, want one at %v", step.minAge, f, err, c.now())
		}
	}
	f, err := st.ClaimReferenceFetch(t.Context(), "avas", anHour)
	checkEqual(t, "claim of another source", "avas", must(t, f, err).Source)
}

func unknownReferenceFetch(t *testing.T, st store.Store, _ *clock) {
	for name, err := range map[string]error{
		"save": st.SaveReferenceFetch(t.Context(), "permits", newReferenceContent(1), true),
		"fail": st.FailReferenceFetch(t.Context(), "permits", "timeout"),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
	checkEqual(t, "number of fetches", 0, len(mustReferenceFetches(t, st)))
}

// populateReferenceFetches creates a source that was imported and then failed, and one that was
// only claimed.
func populateReferenceFetches(t *testing.T, st store.Store) {
	t.Helper()
	mustClaimReference(t, st, "permits")
	mustDo(t, st.SaveReferenceFetch(t.Context(), "permits", newReferenceContent(1), true))
	mustDo(t, st.FailReferenceFetch(t.Context(), "permits", "timeout"))
	mustClaimReference(t, st, "avas")
}
