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
		{"minimum age", referenceFetchAge},
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

// checkReferenceClaim checks whether a source can be claimed with a minimum age.
func checkReferenceClaim(t *testing.T, st store.Store, c *clock, desc string, minAge time.Duration, want bool) {
	t.Helper()
	f, err := st.ClaimReferenceFetch(t.Context(), "permits", minAge)
	switch {
	case !want && !errors.Is(err, store.ErrNotFound):
		t.Errorf("%s: claim = %+v, %v; want ErrNotFound", desc, f, err)
	case want && (err != nil || !f.ClaimedAt.Equal(c.now())):
		t.Errorf("%s: claim = %+v, %v; want one at %v", desc, f, err, c.now())
	}
}

func referenceFetchAge(t *testing.T, st store.Store, c *clock) {
	const day = 24 * time.Hour
	checkReferenceClaim(t, st, c, "new source", day, true)
	c.advance(store.ReferenceFetchHold - time.Microsecond)
	checkReferenceClaim(t, st, c, "in flight", time.Microsecond, false)
	c.advance(time.Microsecond)
	checkReferenceClaim(t, st, c, "killed", day, true)
	checkReferenceClaim(t, st, c, "in flight, at any age", 0, true)
	checkReferenceClaim(t, st, c, "in flight, at any age", -day, true)

	mustDo(t, st.SaveReferenceFetch(t.Context(), "permits", newReferenceContent(1), true))
	checkReferenceClaim(t, st, c, "just saved", time.Microsecond, false)
	c.advance(day - time.Microsecond)
	checkReferenceClaim(t, st, c, "saved almost a day ago", day, false)
	c.advance(time.Microsecond)
	checkReferenceClaim(t, st, c, "saved a day ago", day, true)

	mustDo(t, st.FailReferenceFetch(t.Context(), "permits", "timeout"))
	checkReferenceClaim(t, st, c, "just failed", day, false)
	c.advance(day)
	checkReferenceClaim(t, st, c, "failed a day ago", day, true)
	f, err := st.ClaimReferenceFetch(t.Context(), "avas", day)
	checkEqual(t, "claim of another source", "avas", must(t, f, err).Source)
}

func unknownReferenceFetch(t *testing.T, st store.Store, _ *clock) {
	for name, err := range map[string]error{
		"save": st.SaveReferenceFetch(t.Context(), "permits", newReferenceContent(1), true),
		"fail": st.FailReferenceFetch(t.Context(), "permits", "timeout"),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: error = %v, want ErrNotFound", name, err)
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
