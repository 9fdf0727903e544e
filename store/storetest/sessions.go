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
	mustDo(t, st.SaveSession(t.Context(), "a", whole, until)) // its time is over already
	mustHaveNoSession(t, st, "a")
}

func sessionIsReplaced(t *testing.T, st store.Store, c *clock) {
	until := c.now().Add(time.Hour)
	kept := []byte("one")
	mustDo(t, st.SaveSession(t.Context(), "a", kept, until))
	kept[0] = 'X' // is the caller's again
	mustDo(t, st.SaveSession(t.Context(), "b", []byte("other"), until))
	mustSession(t, st, "a", []byte("one"))
	mustDo(t, st.SaveSession(t.Context(), "a", []byte("two"), until.Add(time.Hour)))
	c.set(until)
	mustSession(t, st, "a", []byte("two"))
	mustHaveNoSession(t, st, "b")
	mustDo(t, st.SaveSession(t.Context(), "b", []byte("again"), until.Add(time.Hour))) // in place of one that is over
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

// sessionsAtOnce: some keep one session, some drop it, and each keeps and reads another of its own.
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

// childKeep keeps sessions until it is killed, saying after each how many it has kept.
func childKeep(ctx context.Context, st store.Store, out io.Writer) error {
	for n := 0; ; n++ {
		if err := st.SaveSession(ctx, fmt.Sprint(n), fmt.Append(nil, n), time.Now().Add(anHour)); err != nil {
			return err
		}
		fmt.Fprintf(out, "kept %d\n", n)
	}
}

// killedSessions: every session that a killed process said it had kept is there. Only a machine that fails may lose some.
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
