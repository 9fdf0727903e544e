package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

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
	for range 2 { // looking at it does not use it up
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

// mustNotSignIn holds a link to be one that cannot be used.
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
	for n := range 20 { // more than are forgotten with each new one
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

// manyLinks is how many links processes race for.
const manyLinks = 200

// useLinks uses every link that it can, in their order, so that all who do are at the same ones, and returns how many it has used.
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

// childUseLinks uses links and says how many it has used.
func childUseLinks(ctx context.Context, st store.Store, out io.Writer) error {
	used, err := useLinks(ctx, st)
	fmt.Fprintf(out, "used %d\n", used)
	return err
}

// useTogether: two processes, and goroutines of a third, use every link once.
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
