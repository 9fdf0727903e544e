package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// fetchWork is a kind of work that collectors claim.
type fetchWork struct {
	name string
	// add adds work that is claimed before all work with a lower n.
	add   func(t tb, st store.Store, n int)
	claim func(st store.Store) (fetchClaim, error)
}

// fetchClaim is a claim on a window or label.
type fetchClaim struct {
	hold    int64
	work    any // the window or label without its hold number
	extend  func() error
	release func() error
	ends    map[string]func() error // the other methods, which end the claim
}

var fetchWorks = []fetchWork{
	{
		name: "windows",
		add: func(t tb, st store.Store, n int) {
			mustPlan(t, st, fetchDay+cola.Date(n), fetchDay+cola.Date(n), never)
		},
		claim: func(st store.Store) (fetchClaim, error) {
			w, err := claimWindow(st, anHour)
			return claimOfWindow(st, w), err
		},
	},
	{
		name: "labels",
		add:  func(t tb, st store.Store, n int) { mustQueue(t, st, queued(n, fetchDay+cola.Date(n))) },
		claim: func(st store.Store) (fetchClaim, error) {
			l, err := st.ClaimLabel(context.Background(), false, anHour)
			return claimOfLabel(st, l), err
		},
	},
}

func claimOfWindow(st store.Store, w store.FetchWindow) fetchClaim {
	ctx, work := context.Background(), w
	work.Hold = 0
	return fetchClaim{
		hold: w.Hold, work: work,
		extend:  func() error { return st.ExtendWindow(ctx, w, anHour) },
		release: func() error { return st.ReleaseWindow(ctx, w) },
		ends: map[string]func() error{
			"fail":     func() error { return st.FailWindow(ctx, w, "late", 0) },
			"give up":  func() error { return st.FailWindow(ctx, w, "late", -1) },
			"complete": func() error { return st.CompleteWindow(ctx, w, 2) },
			"split":    func() error { return st.SplitWindow(ctx, w, 2, []store.ClassRange{{From: "5", To: "6"}}) },
		},
	}
}

func claimOfLabel(st store.Store, l store.FetchLabel) fetchClaim {
	ctx, work := context.Background(), l
	work.Hold = 0
	return fetchClaim{
		hold: l.Hold, work: work,
		extend:  func() error { return st.ExtendLabel(ctx, l, anHour) },
		release: func() error { return st.ReleaseLabel(ctx, l) },
		ends: map[string]func() error{
			"fail":     func() error { return st.FailLabel(ctx, l, "late", 0) },
			"give up":  func() error { return st.FailLabel(ctx, l, "late", -1) },
			"finish":   func() error { return st.FinishLabel(ctx, l) },
			"postpone": func() error { return st.PostponeImages(ctx, l, 0) },
		},
	}
}

func testFetchClaims(t *testing.T, open Opener) {
	for _, work := range fetchWorks {
		with := func(run func(*testing.T, store.Store, *clock, fetchWork)) func(*testing.T, store.Store, *clock) {
			return func(t *testing.T, st store.Store, c *clock) { run(t, st, c, work) }
		}
		runChecks(t, open, []check{
			{"claims of " + work.name + " expire", with(fetchClaimsExpire)},
			{"claims of " + work.name + " are released", with(releaseFetchClaims)},
			{"ended claims of " + work.name + " write nothing", with(endedFetchClaims)},
		})
	}
}

func (w fetchWork) mustClaim(t *testing.T, st store.Store) fetchClaim {
	t.Helper()
	claimed, err := w.claim(st)
	if must(t, claimed, err); claimed.hold == 0 {
		t.Errorf("claim of %s = %+v, want a hold number", w.name, claimed.work)
	}
	return claimed
}

func (w fetchWork) checkNone(t *testing.T, st store.Store, desc string) {
	t.Helper()
	if claimed, err := w.claim(st); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("claim of %s %s = %+v, %v; want ErrNotFound", w.name, desc, claimed.work, err)
	}
}

func fetchClaimsExpire(t *testing.T, st store.Store, c *clock, work fetchWork) {
	work.add(t, st, 0)
	first := work.mustClaim(t, st)
	c.advance(anHour - time.Microsecond)
	work.checkNone(t, st, "just before the claim ends")
	mustDo(t, first.extend())
	c.advance(anHour - time.Microsecond)
	work.checkNone(t, st, "just before the extended claim ends")
	c.advance(time.Microsecond)
	second := work.mustClaim(t, st)
	if second.hold == first.hold {
		t.Errorf("second hold number = %d, want a different one", second.hold)
	}
	checkEqual(t, "second claim", first.work, second.work)
}

func releaseFetchClaims(t *testing.T, st store.Store, c *clock, work fetchWork) {
	work.add(t, st, 0)
	first := work.mustClaim(t, st)
	mustDo(t, first.release())
	second := work.mustClaim(t, st)
	checkEqual(t, "work after a release", first.work, second.work) // no attempt is counted
	mustDo(t, first.release())                                     // no longer the current claim
	work.checkNone(t, st, "after releasing an ended claim")
	mustDo(t, second.release())
	work.mustClaim(t, st)
}

// endedFetchClaims ends claims in every possible way and checks that none is accepted afterward.
func endedFetchClaims(t *testing.T, st store.Store, c *clock, work fetchWork) {
	ways := []string{"expire", "take over", "release"}
	for way := range emptyClaim(work, st).ends {
		ways = append(ways, way)
	}
	for n, way := range ways {
		work.add(t, st, n)
		claimed := work.mustClaim(t, st)
		switch way {
		case "expire":
			c.advance(anHour)
		case "take over":
			c.advance(anHour)
			work.mustClaim(t, st)
		case "release":
			mustDo(t, claimed.release())
		default:
			mustDo(t, claimed.ends[way]())
		}
		checkEndedClaim(t, st, way, claimed)
	}
}

// emptyClaim returns a claim from a store without work. Only the names of its methods are useful.
func emptyClaim(work fetchWork, st store.Store) fetchClaim {
	claimed, _ := work.claim(st)
	return claimed
}

// checkEndedClaim checks that no method accepts the claim or changes the store.
func checkEndedClaim(t *testing.T, st store.Store, desc string, claimed fetchClaim) {
	t.Helper()
	before, status := storeContents(t, st), mustFetchStatus(t, st)
	if err := claimed.extend(); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("extend after %s: error = %v, want ErrNotFound", desc, err)
	}
	for method, call := range claimed.ends {
		if err := call(); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s after %s: error = %v, want ErrNotFound", method, desc, err)
		}
	}
	mustDo(t, claimed.release())
	checkEqual(t, "store contents after "+desc, before, storeContents(t, st))
	checkEqual(t, "status after "+desc, status, mustFetchStatus(t, st))
}
