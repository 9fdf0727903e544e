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
		{"session lasts until it expires", sessionExpiry},
		{"replace and delete", replaceSession},
		{"malformed names", malformedSession},
		{"expired sessions are deleted", expiredSessionsDeleted},
		{"concurrent saves", concurrentSessions},
		{"concurrent deletes", deleteSessionOnce},
	})
}

func checkSession(t tb, st store.Store, name string, want []byte) {
	t.Helper()
	data, err := st.Session(context.Background(), name)
	if err != nil || !bytes.Equal(data, want) {
		t.Errorf("Session(%q) = %q, %v; want %q", name, data, err, want)
	}
}

func checkNoSession(t tb, st store.Store, name string) {
	t.Helper()
	if data, err := st.Session(context.Background(), name); !errors.Is(err, store.ErrNotFound) || data != nil {
		t.Errorf("Session(%q) = %q, %v; want ErrNotFound", name, data, err)
	}
}

func sessionExpiry(t *testing.T, st store.Store, c *clock) {
	checkNoSession(t, st, "a")
	whole := bytes.Repeat([]byte("\x00\xff'\"\\"), 10_000) // more than a page
	until := c.now().Add(time.Hour).In(time.FixedZone("", 3600))
	for name, data := range map[string][]byte{"a": whole, "A": nil, "o'name 100%_ ü": {}, "b": {0}} {
		mustDo(t, st.SaveSession(t.Context(), name, data, until))
		checkSession(t, st, name, data)
	}
	checkNoSession(t, st, "%")
	c.set(until.Add(-time.Microsecond))
	checkSession(t, st, "a", whole)
	c.set(until)
	checkNoSession(t, st, "a")
	mustDo(t, st.SaveSession(t.Context(), "a", whole, until)) // already expired
	checkNoSession(t, st, "a")
}

func replaceSession(t *testing.T, st store.Store, c *clock) {
	until := c.now().Add(time.Hour)
	saved := []byte("one")
	mustDo(t, st.SaveSession(t.Context(), "a", saved, until))
	saved[0] = 'X' // the caller may reuse the slice
	mustDo(t, st.SaveSession(t.Context(), "b", []byte("other"), until))
	checkSession(t, st, "a", []byte("one"))
	mustDo(t, st.SaveSession(t.Context(), "a", []byte("two"), until.Add(time.Hour)))
	c.set(until)
	checkSession(t, st, "a", []byte("two"))
	checkNoSession(t, st, "b")
	mustDo(t, st.SaveSession(t.Context(), "b", []byte("again"), until.Add(time.Hour))) // replaces an expired session
	checkSession(t, st, "b", []byte("again"))
	mustDo(t, st.SaveSession(t.Context(), "b", []byte("shorter"), until.Add(time.Minute)))
	c.set(until.Add(time.Minute))
	checkNoSession(t, st, "b")
	mustDo(t, st.SaveSession(t.Context(), "b", []byte("again"), until.Add(time.Hour)))
	for _, want := range []bool{true, false} {
		dropped, err := st.DeleteSession(t.Context(), "a")
		checkEqual(t, "DeleteSession", want, must(t, dropped, err))
		checkNoSession(t, st, "a")
	}
	checkSession(t, st, "b", []byte("again"))
}

func malformedSession(t *testing.T, st store.Store, c *clock) {
	for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("a", store.MaxKeyText+1)} {
		err := st.SaveSession(t.Context(), name, []byte("data"), c.now().Add(time.Hour))
		if !errors.Is(err, store.ErrMalformed) {
			t.Errorf("SaveSession(%.10q) error = %v, want ErrMalformed", name, err)
		}
		checkNoSession(t, st, name)
		if dropped, err := st.DeleteSession(t.Context(), name); dropped || err != nil {
			t.Errorf("DeleteSession(%.10q) = %v, %v; want false, nil", name, dropped, err)
		}
	}
	longest := strings.Repeat("a", store.MaxKeyText)
	mustDo(t, st.SaveSession(t.Context(), longest, []byte("data"), c.now().Add(time.Hour)))
	checkSession(t, st, longest, []byte("data"))
}

func expiredSessionsDeleted(t *testing.T, st store.Store, c *clock) {
	start := c.now()
	for n := range 50 {
		mustDo(t, st.SaveSession(t.Context(), fmt.Sprint("old", n), []byte("data"),
			start.Add(time.Duration(n)*time.Minute)))
	}
	c.set(start.Add(25 * time.Minute))
	for n := range 10 {
		mustDo(t, st.SaveSession(t.Context(), fmt.Sprint("new", n), []byte("data"), start.Add(time.Hour)))
	}
	for n := range 50 {
		if n <= 25 {
			checkNoSession(t, st, fmt.Sprint("old", n))
		} else {
			checkSession(t, st, fmt.Sprint("old", n), []byte("data"))
		}
	}
	for n := range 10 {
		checkSession(t, st, fmt.Sprint("new", n), []byte("data"))
	}
}

// concurrentSessions checks that concurrently saving and deleting one session doesn't fail and
// doesn't affect other sessions.
func concurrentSessions(t *testing.T, st store.Store, c *clock) {
	until := c.now().Add(time.Hour)
	concurrently(6, func(i int) {
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
			checkSession(t, st, own, data)
		}
	})
}

// childSaveSessions saves sessions until it is killed and prints the number of each one, starting
// at 0.
func childSaveSessions(ctx context.Context, st store.Store, out io.Writer) error {
	for n := 0; ; n++ {
		if err := st.SaveSession(ctx, fmt.Sprint(n), fmt.Append(nil, n), time.Now().Add(anHour)); err != nil {
			return err
		}
		fmt.Fprintf(out, "saved %d\n", n)
	}
}

// killedSessions checks that every session that a killed process reported as saved is stored. Only
// a machine failure may lose sessions.
func killedSessions(t *testing.T, b Backend) {
	dsn := b.New(t)
	p := start(t, "save sessions", dsn)
	saved := 0
	for saved < 100 {
		saved = p.number(t, "saved %d")
	}
	p.Kill()
	db := b.mustOpen(t, dsn)
	for n := range saved + 1 {
		checkSession(t, db, fmt.Sprint(n), fmt.Append(nil, n))
	}
}

func deleteSessionOnce(t *testing.T, st store.Store, c *clock) {
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
		checkEqual(t, "number of successful deletes", 1, int(first.Load()))
	}
	mustDo(t, st.SaveSession(t.Context(), "late", nil, c.now().Add(time.Hour)))
	c.set(c.now().Add(time.Hour))
	dropped, err := st.DeleteSession(t.Context(), "late")
	checkEqual(t, "DeleteSession for an expired session", false, must(t, dropped, err))
}

func testSignInLinks(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"use once", useSignInLinkOnce},
		{"expiry", signInLinkExpiry},
		{"unknown account and duplicate hash", createSignInLinkErrors},
		{"concurrent uses", concurrentLinkUse},
	})
}

func linkHash(n int) (h store.SignInLinkHash) {
	copy(h[:], fmt.Sprintf("%032d", n))
	return h
}

func useSignInLinkOnce(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "A@example.com", cola.TierPro), mustAccount(t, st, "b@example.com", cola.TierFree)
	mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(1), anHour))
	mustDo(t, st.CreateSignInLink(t.Context(), b.ID, linkHash(2), anHour))
	mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(3), anHour))
	for range 2 { // reading a link does not use it up
		found, err := st.SignInLink(t.Context(), linkHash(1))
		checkEqual(t, "SignInLink", a, must(t, found, err))
	}
	used, err := st.UseSignInLink(t.Context(), linkHash(1), false)
	checkEqual(t, "UseSignInLink", a, must(t, used, err))
	checkLinkUnusable(t, st, "used", 1)
	checkLinkUnusable(t, st, "unknown", 4)
	for n, want := range map[int]store.Account{2: b, 3: a} {
		used, err := st.UseSignInLink(t.Context(), linkHash(n), false)
		checkEqual(t, "UseSignInLink for another link", want, must(t, used, err))
	}
}

// checkLinkUnusable checks that a link can be neither read nor used.
func checkLinkUnusable(t tb, st store.Store, desc string, n int) {
	t.Helper()
	if a, err := st.SignInLink(context.Background(), linkHash(n)); !errors.Is(err, store.ErrNotFound) ||
		a != (store.Account{}) {
		t.Errorf("SignInLink(%s link) = %+v, %v; want ErrNotFound", desc, a, err)
	}
	if a, err := st.UseSignInLink(context.Background(), linkHash(n), false); !errors.Is(err, store.ErrNotFound) ||
		a != (store.Account{}) {
		t.Errorf("UseSignInLink(%s link) = %+v, %v; want ErrNotFound", desc, a, err)
	}
}

func signInLinkExpiry(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	const lifetime = 15*time.Minute + 7*time.Microsecond
	for n := range 20 { // more than a single CreateSignInLink call can clean up
		mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(n), lifetime))
	}
	c.advance(lifetime - time.Microsecond)
	used, err := st.UseSignInLink(t.Context(), linkHash(0), false)
	checkEqual(t, "UseSignInLink just before expiry", a, must(t, used, err))
	c.advance(time.Microsecond)
	checkLinkUnusable(t, st, "expired", 1)
	mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(100), anHour))
	for n := range 20 {
		checkLinkUnusable(t, st, "expired", n)
	}
	used, err = st.UseSignInLink(t.Context(), linkHash(100), false)
	checkEqual(t, "UseSignInLink for a new link", a, must(t, used, err))
}

func createSignInLinkErrors(t *testing.T, st store.Store, _ *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierFree)
	if err := st.CreateSignInLink(t.Context(), b.ID+100, linkHash(1), anHour); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("CreateSignInLink(unknown account) error = %v, want ErrNotFound", err)
	}
	checkLinkUnusable(t, st, "rejected", 1)
	mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(1), anHour))
	if err := st.CreateSignInLink(t.Context(), b.ID, linkHash(1), anHour); !errors.Is(err, store.ErrExists) {
		t.Errorf("CreateSignInLink(duplicate hash) error = %v, want ErrExists", err)
	}
	used, err := st.UseSignInLink(t.Context(), linkHash(1), false)
	checkEqual(t, "UseSignInLink", a, must(t, used, err))
}

func concurrentLinkUse(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for n := range 10 {
		mustDo(t, st.CreateSignInLink(t.Context(), a.ID, linkHash(n), anHour))
		var used atomic.Int64
		concurrently(6, func(int) {
			_, err := st.UseSignInLink(t.Context(), linkHash(n), false)
			if err == nil {
				used.Add(1)
			} else if !errors.Is(err, store.ErrNotFound) {
				t.Error(err)
			}
		})
		if used.Load() != 1 {
			t.Errorf("link %d used %d times, want 1", n, used.Load())
		}
	}
}

// manyLinks is the number of links that processes race for.
const manyLinks = 200

// useLinks tries to use every link and returns how many it used. It goes in order, so that all
// callers race for the same links.
func useLinks(ctx context.Context, st store.Store) (used int, err error) {
	for n := range manyLinks {
		_, err := st.UseSignInLink(ctx, linkHash(n), false)
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

// useLinksAcrossProcesses checks that two processes, and goroutines of a third, use every link
// exactly once.
func useLinksAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	a := mustAccount(t, db, chargedAccount, cola.TierFree)
	for n := range manyLinks {
		mustDo(t, db.CreateSignInLink(t.Context(), a.ID, linkHash(n), anHour))
	}
	if total := runTogether(t, dsn, "use links", "used %d",
		func(int) (int, error) { return useLinks(t.Context(), db) }); total != manyLinks {
		t.Errorf("%d links used, want %d", total, manyLinks)
	}
}
