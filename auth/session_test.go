package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestPagesCostFewWrites checks that a browser's activity is written at most once a minute.
func TestPagesCostFewWrites(t *testing.T) {
	b := newDesk(t, nil).browser()
	b.signIn(t, "ann")
	b.store.called("SaveSession")
	for range 120 {
		b.clock.pass(time.Second)
		if response := b.visit(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") }); len(response.Cookies()) != 0 {
			t.Fatal("a page that changes nothing sets a cookie")
		}
	}
	if n := b.store.called("SaveSession"); n != 2 {
		t.Errorf("120 pages in two minutes wrote %d times, want 2", n)
	}
	if n := b.store.called("Session"); n < 120 {
		t.Errorf("read %d times", n)
	}
}

// TestSlowPagesUndoNothing checks that a slow request does not overwrite changes made by another.
func TestSlowPagesUndoNothing(t *testing.T) {
	b := newDesk(t, nil).browser()
	b.signIn(t, "ann")
	b.clock.pass(time.Hour)
	b.visit(func(http.ResponseWriter, *http.Request) {
		b.look(func(ctx context.Context) { b.Put(ctx, "notice", "kept") })
	})
	b.look(func(ctx context.Context) {
		if got := b.Pop(ctx, "notice"); got != "kept" {
			t.Errorf("the notice is %q", got)
		}
	})
}

// TestInAndOutAtOnce checks that a browser that is signed in and out by one request leaves no
// session.
func TestInAndOutAtOnce(t *testing.T) {
	for _, before := range []bool{false, true} {
		d := newDesk(t, nil)
		b := d.browser()
		if before {
			b.signIn(t, "ann")
		}
		token := d.store.link(store.Account{ID: 77, Email: "eve@example.com"})
		if err := b.do(func(ctx context.Context) error {
			err := b.UseLink(ctx, token, "Firefox")
			_, out := b.SignOut(ctx)
			return errors.Join(err, out)
		}); err != nil {
			t.Fatal(err)
		}
		if len(d.store.sessions) != 0 || b.cookie() != "" || b.caller().Account != 0 {
			t.Errorf("signed in before is %v: sessions %v and the cookie %q are left", before, d.store.sessions, b.cookie())
		}
		for id, in := range d.store.signIns {
			if in.EndedAt.IsZero() {
				t.Errorf("signed in before is %v: the sign-in %d holds", before, id)
			}
		}
	}
}

// TestNotices checks that notices last until they are read, are limited in number and length, and
// are private to the browser.
func TestNotices(t *testing.T) {
	d := newDesk(t, nil)
	b := d.browser()
	b.look(func(ctx context.Context) {
		b.Put(ctx, "notice", "one")
		b.Put(ctx, "notice", "<b>Cr\u00e8me</b>\x00\xff\u202e & \"more\"")
	})
	b.look(func(context.Context) {})
	var got []string
	for range 2 {
		b.look(func(ctx context.Context) { got = append(got, b.Pop(ctx, "notice"), b.Pop(ctx, "none")) })
	}
	if diff := cmp.Diff([]string{"<b>Cr\u00e8me</b>\x00\u202e & \"more\"", "", "", ""}, got); diff != "" {
		t.Error(diff)
	}
	if len(d.store.sessions) != 0 || b.cookie() != "" {
		t.Errorf("a session that holds nothing is kept: %v", d.store.sessions)
	}
	b.look(func(ctx context.Context) {
		for n := range 40 {
			b.Put(ctx, fmt.Sprint(n, strings.Repeat("k", 9000)), strings.Repeat("é", 9000))
		}
	})
	if kept := b.session(t); len(kept) > 40<<10 || !utf8.ValidString(kept) {
		t.Errorf("the session has %d bytes", len(kept))
	}
	b.look(func(ctx context.Context) { b.Put(ctx, "notice", "of nobody") })
	b.signIn(t, "ann")
	b.look(func(ctx context.Context) {
		if b.Pop(ctx, "notice") != "" {
			t.Error("who signs in reads what was for who was there before")
		}
		b.Put(ctx, "notice", "of ann")
	})
	if err := b.do(func(ctx context.Context) error {
		_, err := b.SignOut(ctx)
		b.Put(ctx, "after", "You are signed out.")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	b.look(func(ctx context.Context) {
		if b.Pop(ctx, "notice") != "" || b.Pop(ctx, "after") != "You are signed out." {
			t.Error("notices do not end with the sign-in, or do not come after it")
		}
	})
}

// TestStoreFaults checks that if a session cannot be read or saved, the response is the error
// alone, without any part of the page.
func TestStoreFaults(t *testing.T) {
	for _, c := range []struct {
		call string
		err  error
		code cola.Code
	}{
		{"Session", store.ErrUnavailable, cola.CodeUnavailable},
		{"Session", errors.New("disk full"), cola.CodeInternal},
		{"SaveSession", store.ErrUnavailable, cola.CodeUnavailable},
		{"SaveSession", errors.New("disk full"), cola.CodeInternal},
	} {
		for _, ours := range []bool{true, false} {
			var shown error
			d := newDesk(t, func(_ *desk, o *BrowserOptions) {
				if ours {
					o.OnFault = func(w http.ResponseWriter, _ *http.Request, err error) {
						shown = err
						w.WriteHeader(http.StatusTeapot)
						_, _ = io.WriteString(w, "fault")
					}
				}
			})
			b := d.browser()
			b.signIn(t, "ann")
			d.store.set(func(s *browserStore) { s.fail[c.call] = c.err })
			response := b.visit(func(w http.ResponseWriter, r *http.Request) {
				b.Put(r.Context(), "notice", "x")
				w.Header().Set("Location", "/page")
				w.Header().Set("Content-Length", "9")
				w.WriteHeader(http.StatusSeeOther)
				_, _ = io.WriteString(w, "the page ")
				_ = http.NewResponseController(w).Flush()
			})
			body, _ := io.ReadAll(response.Body)
			if strings.Contains(string(body), "page") || response.Header.Get("Location") != "" || response.Header.Get("Content-Length") != "" || len(response.Cookies()) != 0 || response.Header.Get("Vary") != "Cookie" {
				t.Errorf("%s: %v: the page shows: %d %v %s", c.call, c.err, response.StatusCode, response.Header, body)
			}
			if ours && (cola.CodeOf(shown) != c.code || string(body) != "fault" || response.StatusCode != http.StatusTeapot) {
				t.Errorf("%s: %v: OnFault got %v, body %q", c.call, c.err, shown, body)
			}
			if !ours && (response.StatusCode < 500 || strings.Contains(string(body), "disk") || (c.code == cola.CodeUnavailable) != (response.Header.Get("Retry-After") == "5")) {
				t.Errorf("%s: %v: answered %d %v %s", c.call, c.err, response.StatusCode, response.Header, body)
			}
		}
	}
}

// TestAnswersInParts checks that a streamed response sends the cookie with its first part, and that
// later session changes are saved if there is a cookie.
func TestAnswersInParts(t *testing.T) {
	b := newDesk(t, nil).browser()
	server := httptest.NewServer(b.Load(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		b.Put(r.Context(), "first", "1")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		b.Put(r.Context(), "second", "2")
		_, _ = io.WriteString(w, "page")
	})))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); string(body) != "page" || len(response.Cookies()) != 1 {
		t.Fatalf("%s %v", body, response.Header)
	}
	b.cookies["x"] = response.Cookies()[0]
	b.look(func(ctx context.Context) {
		if b.Pop(ctx, "first") != "1" || b.Pop(ctx, "second") != "2" {
			t.Error("a notice is lost")
		}
	})
	if len(b.store.sessions) != 0 {
		t.Errorf("%d sessions are left", len(b.store.sessions))
	}
	stranger := b.desk.browser()
	stranger.visit(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "page")
		stranger.Put(r.Context(), "late", "x")
	})
	if len(b.store.sessions) != 0 {
		t.Error("a session is kept that no cookie leads to")
	}
}

// TestSessionIsSavedAfterDisconnect checks that session changes are saved if the visitor disconnects before the
// response.
func TestSessionIsSavedAfterDisconnect(t *testing.T) {
	d := newDesk(t, nil)
	b := d.browser()
	b.signIn(t, "ann")
	r := httptest.NewRequest(http.MethodGet, ourURL, nil)
	r.AddCookie(&http.Cookie{Name: "__Host-colaregistry", Value: b.cookie()})
	ctx, cancel := context.WithCancel(r.Context())
	d.Load(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		d.Put(r.Context(), "notice", "done")
		cancel()
	})).ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
	b.look(func(ctx context.Context) {
		if b.Pop(ctx, "notice") != "done" {
			t.Error("the notice is lost")
		}
	})
}

// TestUnreadableSessions checks that a corrupt session, or one from another version, signs in no
// account and is not an error for the visitor.
func TestUnreadableSessions(t *testing.T) {
	for _, data := range []string{"", "\x00\xff", "[]", `{"sign_in":"x"}`, `{"sign_in":{"id":1,"account":2}}`, `{"attempts":[{}]}`,
		`{"attempts":[{"until":"2030-01-01T00:00:00Z","issuer":"` + ourIssuer + `"}]}`} {
		d := newDesk(t, nil)
		b := d.browser()
		b.signIn(t, "ann")
		d.store.set(func(s *browserStore) {
			for name, row := range s.sessions {
				s.sessions[name] = keptRow{[]byte(data), row.until}
			}
		})
		if c, ok := callerOf(b); ok {
			t.Errorf("%q: signed in as %+v", data, c)
		}
		if _, err := b.finish(url.Values{"state": {""}, "code": {"x"}}); err == nil || !strings.Contains(err.Error(), "another browser") {
			t.Errorf("%q: an empty state: %v", data, err)
		}
		b.signIn(t, "ann")
	}
}

// TestTabsBesideEachOther checks that concurrent changes to a session are all saved, and that a
// value taken by one tab does not come back.
func TestTabsBesideEachOther(t *testing.T) {
	b := newDesk(t, nil).browser()
	b.look(func(ctx context.Context) {
		b.Put(ctx, "taken here", "1")
		b.Put(ctx, "taken there", "1")
	})
	var first, second string
	b.look(func(ctx context.Context) {
		var err error
		if first, err = b.Begin(ctx, "0", "/first"); err != nil {
			t.Fatal(err)
		}
		b.Pop(ctx, "taken here")
		b.look(func(ctx context.Context) {
			if second, err = b.Begin(ctx, "0", "/second"); err != nil {
				t.Fatal(err)
			}
			b.Pop(ctx, "taken there")
			b.Put(ctx, "told there", "1")
		})
		b.Put(ctx, "told here", "1")
	})
	b.look(func(ctx context.Context) {
		for key, want := range map[string]string{"taken here": "", "taken there": "", "told here": "1", "told there": "1"} {
			if got := b.Pop(ctx, key); got != want {
				t.Errorf("%s: %q, want %q", key, got, want)
			}
		}
	})
	for want, at := range map[string]string{"/first": first, "/second": second} {
		if to, err := b.finish(b.provider.approve(t, at, "ann", "ann@example.com")); err != nil || to != want {
			t.Errorf("the attempt of one tab leads to %q, %v; want %q", to, err, want)
		}
	}
}

// TestLateTabs checks that a request of an ended session neither restores it nor removes its
// replacement.
func TestLateTabs(t *testing.T) {
	for name, meanwhile := range map[string]func(*browser){
		"signed in":  func(b *browser) { b.signIn(t, "ann") },
		"signed out": func(b *browser) { b.signOut(t) },
	} {
		b := newDesk(t, nil).browser()
		if name == "signed out" {
			b.signIn(t, "ann")
		}
		b.clock.pass(10 * time.Second)
		b.look(func(ctx context.Context) { b.Put(ctx, "notice", "1") })
		old := b.cookie()
		b.look(func(ctx context.Context) {
			b.Pop(ctx, "notice")
			b.Put(ctx, "late", "1")
			meanwhile(b)
		})
		if b.cookie() == old {
			t.Errorf("%s: the browser has the cookie of the session that ended", name)
		}
		if _, kept := b.store.sessions[sessionName(old)]; kept {
			t.Errorf("%s: the session that ended is kept again", name)
		}
		if in := b.caller().Account != 0; in != (name == "signed in") {
			t.Errorf("%s: signed in is %v", name, in)
		}
	}
}
