package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testSessions(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"a session comes back until its time is over", sessionComesBack},
		{"a session is replaced and dropped", sessionIsReplaced},
		{"a name that no session can have has none", malformedSession},
		{"sessions that are over are gone, and no others", sessionsAreForgotten},
		{"sessions are kept by many at once", sessionsAtOnce},
		{"one that many drop at once is dropped by one of them", sessionIsDroppedOnce},
	})
}

func mustSession(t tb, st store.Store, name string, want []byte) {
	t.Helper()
	data, err := st.Session(context.Background(), name)
	if err != nil || !bytes.Equal(data, want) {
		t.Errorf("session %q: %q, %v; want %q", name, data, err, want)
	}
}

func mustHaveNoSession(t tb, st store.Store, name string) {
	t.Helper()
	if data, err := st.Session(context.Background(), name); !errors.Is(err, store.ErrNotFound) || data != nil {
		t.Errorf("session %q: %q, %v; want ErrNotFound", name, data, err)
	}
}

func sessionComesBack(t *testing.T, st store.Store, c *clock) {
	mustHaveNoSession(t, st, "a")
	whole := bytes.Repeat([]byte("\x00\xff'\"\\"), 10_000) // more than a page
	until := c.now().Add(time.Hour).In(time.FixedZone("", 3600))
	for name, data := range map[string][]byte{"a": whole, "A": nil, "o'name 100%_ ü": {}, "b": {0}} {
		mustDo(t, st.SaveSession(t.Context(), name, data, until))
		mustSession(t, st, name, data)
	}
	mustHaveNoSession(t, st, "%")
	c.set(until.Add(-time.Microsecond))
	mustSession(t, st, "a", whole)
	c.set(until)
	mustHaveNoSession(t, st, "a")
	mustDo(t, st.SaveSession(t.Context(), "a", whole, until)) // already expired
	mustHaveNoSession(t, st, "a")
}

func sessionIsReplaced(t *testing.T, st store.Store, c *clock) {
	until := c.now().Add(time.Hour)
	kept := []byte("one")
	mustDo(t, st.SaveSession(t.Context(), "a", kept, until))
	kept[0] = 'X' // the caller may reuse the slice
	mustDo(t, st.SaveSession(t.Context(), "b", []byte("other"), until))
	mustSession(t, st, "a", []byte("one"))
	mustDo(t, st.SaveSession(t.Context(), "a", []byte("two"), until.Add(time.Hour)))
	c.set(until)
	mustSession(t, st, "a", []byte("two"))
	mustHaveNoSession(t, st, "b")
	mustDo(t, st.SaveSession(t.Context(), "b", []byte("again"), until.Add(time.Hour))) // replaces an expired session
	mustSession(t, st, "b", []byte("again"))
	mustDo(t, st.SaveSession(t.Context(), "b", []byte("shorter"), until.Add(time.Minute)))
	c.set(until.Add(time.Minute))
	mustHaveNoSession(t, st, "b")
	mustDo(t, st.SaveSession(t.Context(), "b", []byte("again"), until.Add(time.Hour)))
	for _, there := range []bool{true, false} {
		dropped, err := st.DeleteSession(t.Context(), "a")
		same(t, "there was one to drop", there, must(t, dropped, err))
		mustHaveNoSession(t, st, "a")
	}
	mustSession(t, st, "b", []byte("again"))
}

func malformedSession(t *testing.T, st store.Store, c *clock) {
	for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("a", store.MaxKeyText+1)} {
		if err := st.SaveSession(t.Context(), name, []byte("data"), c.now().Add(time.Hour)); !errors.Is(err, store.ErrMalformed) {
			t.Errorf("SaveSession(%.10q): %v, want ErrMalformed", name, err)
		}
		mustHaveNoSession(t, st, name)
		if dropped, err := st.DeleteSession(t.Context(), name); dropped || err != nil {
			t.Errorf("DeleteSession(%.10q): %v, %v", name, dropped, err)
		}
	}
	longest := strings.Repeat("a", store.MaxKeyText)
	mustDo(t, st.SaveSession(t.Context(), longest, []byte("data"), c.now().Add(time.Hour)))
	mustSession(t, st, longest, []byte("data"))
}

func sessionsAreForgotten(t *testing.T, st store.Store, c *clock) {
	start := c.now()
	for n := range 50 {
		mustDo(t, st.SaveSession(t.Context(), fmt.Sprint("old", n), []byte("data"), start.Add(time.Duration(n)*time.Minute)))
	}
	c.set(start.Add(25 * time.Minute))
	for n := range 10 {
		mustDo(t, st.SaveSession(t.Context(), fmt.Sprint("new", n), []byte("data"), start.Add(time.Hour)))
	}
	for n := range 50 {
		if n <= 25 {
			mustHaveNoSession(t, st, fmt.Sprint("old", n))
		} else {
			mustSession(t, st, fmt.Sprint("old", n), []byte("data"))
		}
	}
	for n := range 10 {
		mustSession(t, st, fmt.Sprint("new", n), []byte("data"))
	}
}

// sessionsAtOnce has writers save and delete one shared session while each also saves and reads its
// own.
func sessionsAtOnce(t *testing.T, st store.Store, c *clock) {
	until := c.now().Add(time.Hour)
	atOnce(6, func(i int) {
		for n := range 20 {
			own, data := fmt.Sprint("own", i), fmt.Append(nil, n)
			errs := []error{st.SaveSession(t.Context(), own, data, until)}
			if i%3 == 0 {
				_, err := st.DeleteSession(t.Context(), "shared")
				errs = append(errs, err)
			} else {
				errs = append(errs, st.SaveSession(t.Context(), "shared", data, until))
			}
			if err := errors.Join(errs...); err != nil {
				t.Errorf("worker %d, round %d: %v", i, n, err)
				return
			}
			mustSession(t, st, own, data)
		}
	})
}

// childKeep saves sessions until it is killed and prints the running total after each one.
func childKeep(ctx context.Context, st store.Store, out io.Writer) error {
	for n := 0; ; n++ {
		if err := st.SaveSession(ctx, fmt.Sprint(n), fmt.Append(nil, n), time.Now().Add(anHour)); err != nil {
			return err
		}
		fmt.Fprintf(out, "kept %d\n", n)
	}
}

// killedSessions checks that every session that a killed process reported as saved is there. Only a
// machine failure may lose sessions.
func killedSessions(t *testing.T, b Backend) {
	place := b.New(t)
	p := start(t, "keep", place)
	kept := 0
	for kept < 100 {
		kept = p.number(t, "kept %d")
	}
	p.Kill()
	db := b.mustOpen(t, place)
	for n := range kept + 1 {
		mustSession(t, db, fmt.Sprint(n), fmt.Append(nil, n))
	}
}

func sessionIsDroppedOnce(t *testing.T, st store.Store, c *clock) {
	const rounds, droppers = 10, 8
	for round := range rounds {
		name := fmt.Sprint("form ", round)
		mustDo(t, st.SaveSession(t.Context(), name, nil, c.now().Add(time.Hour)))
		var all sync.WaitGroup
		var first atomic.Int32
		for range droppers {
			all.Go(func() {
				dropped, err := st.DeleteSession(context.Background(), name)
				if err != nil {
					t.Error(err)
				}
				if dropped {
					first.Add(1)
				}
			})
		}
		all.Wait()
		same(t, "how many have dropped it", 1, int(first.Load()))
	}
	mustDo(t, st.SaveSession(t.Context(), "late", nil, c.now().Add(time.Hour)))
	c.set(c.now().Add(time.Hour))
	dropped, err := st.DeleteSession(t.Context(), "late")
	same(t, "one whose time is over was there", false, must(t, dropped, err))
}

func testSignInLinks(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"a link signs in once", linkSignsInOnce},
		{"a link is good for as long as it is said to be", linkExpires},
		{"a link that nobody can have is not made", linkNeedsAccount},
		{"of those who use a link at once one does", linkIsUsedOnce},
	})
}

func linkHash(n int) (h store.SignInLinkHash) {
	copy(h[:], fmt.Sprintf("%032d", n))
	return h
}

func linkSignsInOnce(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "A@example.com", cola.TierPro), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(1), anHour))
	mustDo(t, st.CreateSignInLink(t.Context(), b.ID, linkHash(2), anHour))
	mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(3), anHour))
	for range 2 { // reading does not use it up
		found, err := st.SignInLink(t.Context(), linkHash(1))
		same(t, "account", a, must(t, found, err))
	}
	used, err := st.UseSignInLink(t.Context(), linkHash(1))
	same(t, "account of the used one", a, must(t, used, err))
	mustNotSignIn(t, st, "used", 1)
	mustNotSignIn(t, st, "unknown", 4)
	for n, want := range map[int]store.Account{2: b, 3: a} {
		used, err := st.UseSignInLink(t.Context(), linkHash(n))
		same(t, "account of another one", want, must(t, used, err))
	}
}

// mustNotSignIn checks that a link cannot be used.
func mustNotSignIn(t tb, st store.Store, what string, n int) {
	t.Helper()
	if a, err := st.SignInLink(context.Background(), linkHash(n)); !errors.Is(err, store.ErrNotFound) || a != (store.Account{}) {
		t.Errorf("a link that is %s: %+v, %v; want ErrNotFound", what, a, err)
	}
	if a, err := st.UseSignInLink(context.Background(), linkHash(n)); !errors.Is(err, store.ErrNotFound) || a != (store.Account{}) {
		t.Errorf("using a link that is %s: %+v, %v; want ErrNotFound", what, a, err)
	}
}

func linkExpires(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	const goodFor = 15*time.Minute + 7*time.Microsecond
	for n := range 20 { // more than each new one deletes
		mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(n), goodFor))
	}
	c.advance(goodFor - time.Microsecond)
	used, err := st.UseSignInLink(t.Context(), linkHash(0))
	same(t, "used at last", a, must(t, used, err))
	c.advance(time.Microsecond)
	mustNotSignIn(t, st, "expired", 1)
	mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(100), anHour))
	for n := range 20 {
		mustNotSignIn(t, st, "expired", n)
	}
	used, err = st.UseSignInLink(t.Context(), linkHash(100))
	same(t, "a new one", a, must(t, used, err))
}

func linkNeedsAccount(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	if err := st.CreateSignInLink(t.Context(), b.ID+100, linkHash(1), anHour); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a link of nobody: %v, want ErrNotFound", err)
	}
	mustNotSignIn(t, st, "nobody's", 1)
	mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(1), anHour))
	if err := st.CreateSignInLink(t.Context(), b.ID, linkHash(1), anHour); !errors.Is(err, store.ErrExists) {
		t.Errorf("a second link of a hash: %v, want ErrExists", err)
	}
	used, err := st.UseSignInLink(t.Context(), linkHash(1))
	same(t, "account", a, must(t, used, err))
}

func linkIsUsedOnce(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for n := range 10 {
		mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(n), anHour))
		var used atomic.Int64
		atOnce(6, func(int) {
			_, err := st.UseSignInLink(t.Context(), linkHash(n))
			if err == nil {
				used.Add(1)
			} else if !errors.Is(err, store.ErrNotFound) {
				t.Error(err)
			}
		})
		if used.Load() != 1 {
			t.Errorf("link %d was used %d times", n, used.Load())
		}
	}
}

// manyLinks is the number of links that processes race for.
const manyLinks = 200

// useLinks tries to use every link, in order so that all callers race for the same ones, and
// returns how many it used.
func useLinks(ctx context.Context, st store.Store) (used int, err error) {
	for n := range manyLinks {
		_, err := st.UseSignInLink(ctx, linkHash(n))
		switch {
		case err == nil:
			used++
		case !errors.Is(err, store.ErrNotFound):
			return used, err
		}
	}
	return used, nil
}

// childUseLinks uses links and prints how many it used.
func childUseLinks(ctx context.Context, st store.Store, out io.Writer) error {
	used, err := useLinks(ctx, st)
	fmt.Fprintf(out, "used %d\n", used)
	return err
}

// useTogether checks that two processes, and goroutines of a third, use every link exactly once.
func useTogether(t *testing.T, b Backend) {
	place := b.New(t)
	db := b.mustOpen(t, place)
	a := mustAccount(t, db, chargedAccount, cola.TierFree)
	for n := range manyLinks {
		mustDo(t, db.CreateSignInLink(t.Context(), a.ID, linkHash(n), anHour))
	}
	if total := together(t, place, "use links", "used %d", func(int) (int, error) { return useLinks(t.Context(), db) }); total != manyLinks {
		t.Errorf("links were used %d times, want %d", total, manyLinks)
	}
}
