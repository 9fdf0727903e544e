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

// TestSessionWrites checks that a browser's activity is written at most once a minute.
func TestSessionWrites(t *testing.T) {
	b := newBrowserFixture(t, nil).browser()
	b.signIn(t, "ann")
	b.store.called("SaveSession")
	for range 120 {
		b.clock.advance(time.Second)
		if response := b.visit(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") }); len(response.Cookies()) != 0 {
			t.Fatal("page without session changes sets a cookie")
		}
	}
	if n := b.store.called("SaveSession"); n != 2 {
		t.Errorf("120 pages in two minutes: %d session writes, want 2", n)
	}
	if n := b.store.called("Session"); n < 120 {
		t.Errorf("%d session reads, want at least 120", n)
	}
}

// TestSlowRequest checks that a slow request does not overwrite changes made by another request.
func TestSlowRequest(t *testing.T) {
	b := newBrowserFixture(t, nil).browser()
	b.signIn(t, "ann")
	b.clock.advance(time.Hour)
	b.visit(func(http.ResponseWriter, *http.Request) {
		b.look(func(ctx context.Context) { b.Put(ctx, "notice", "saved") })
	})
	b.look(func(ctx context.Context) {
		if got := b.Pop(ctx, "notice"); got != "saved" {
			t.Errorf("Pop(notice) = %q, want %q", got, "saved")
		}
	})
}

// TestSignInAndOutInOneRequest checks that a browser signed in and out by one request leaves no
// session.
func TestSignInAndOutInOneRequest(t *testing.T) {
	for _, before := range []bool{false, true} {
		d := newBrowserFixture(t, nil)
		b := d.browser()
		if before {
			b.signIn(t, "ann")
		}
		token := d.store.link(store.Account{ID: 77, Email: "eve@example.com"})
		if err := b.do(func(ctx context.Context) error {
			_, err := b.UseLink(ctx, token, "Firefox")
			_, out := b.SignOut(ctx)
			return errors.Join(err, out)
		}); err != nil {
			t.Fatal(err)
		}
		if len(d.store.sessions) != 0 || b.cookie() != "" || b.caller().Account != 0 {
			t.Errorf("signed in before = %v: sessions %v and cookie %q remain", before, d.store.sessions, b.cookie())
		}
		for id, in := range d.store.signIns {
			if in.EndedAt.IsZero() {
				t.Errorf("signed in before = %v: sign-in %d is still active", before, id)
			}
		}
	}
}

// TestNotices checks that notices last until they are read, are limited in number and length, and
// are removed when the browser signs in or out.
func TestNotices(t *testing.T) {
	d := newBrowserFixture(t, nil)
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
		t.Errorf("empty session was not deleted: %v", d.store.sessions)
	}
	b.look(func(ctx context.Context) {
		for n := range 40 {
			b.Put(ctx, fmt.Sprint(n, strings.Repeat("k", 9000)), strings.Repeat("é", 9000))
		}
	})
	if data := b.session(t); len(data) > 40<<10 || !utf8.ValidString(data) {
		t.Errorf("session has %d bytes, valid UTF-8 = %v; want at most %d valid bytes", len(data), utf8.ValidString(data), 40<<10)
	}
	b.look(func(ctx context.Context) { b.Put(ctx, "notice", "anonymous") })
	b.signIn(t, "ann")
	b.look(func(ctx context.Context) {
		if b.Pop(ctx, "notice") != "" {
			t.Error("notice of the anonymous session is readable after sign-in")
		}
		b.Put(ctx, "notice", "for ann")
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
			t.Error("want the signed-in session's notice removed, and the notice added after SignOut stored")
		}
	})
}

// TestSessionStoreErrors checks that if a session cannot be read or saved, the response contains
// only the error and no part of the page.
func TestSessionStoreErrors(t *testing.T) {
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
			var reported error
			d := newBrowserFixture(t, func(_ *browserFixture, o *BrowserOptions) {
				if ours {
					o.OnFault = func(w http.ResponseWriter, _ *http.Request, err error) {
						reported = err
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
			h := response.Header
			if strings.Contains(string(body), "page") || h.Get("Location") != "" || h.Get("Content-Length") != "" ||
				len(response.Cookies()) != 0 || h.Get("Vary") != "Cookie" {
				t.Errorf("%s fails with %v: response contains part of the page: %d %v %s", c.call, c.err, response.StatusCode, response.Header, body)
			}
			if ours && (cola.CodeOf(reported) != c.code || string(body) != "fault" || response.StatusCode != http.StatusTeapot) {
				t.Errorf("%s fails with %v: OnFault got %v, body %q; want code %s", c.call, c.err, reported, body, c.code)
			}
			if !ours && (response.StatusCode < 500 || strings.Contains(string(body), "disk") ||
				(c.code == cola.CodeUnavailable) != (h.Get("Retry-After") == "5")) {
				t.Errorf("%s fails with %v: unexpected error response: %d %v %s", c.call, c.err, response.StatusCode, response.Header, body)
			}
		}
	}
}

// TestStreamedResponse checks that a streamed response sends the cookie with its first part, and
// that later session changes are saved if there is a cookie.
func TestStreamedResponse(t *testing.T) {
	b := newBrowserFixture(t, nil).browser()
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
		t.Fatalf("body = %q, header = %v, want the page and one cookie", body, response.Header)
	}
	b.cookies["x"] = response.Cookies()[0]
	b.look(func(ctx context.Context) {
		if b.Pop(ctx, "first") != "1" || b.Pop(ctx, "second") != "2" {
			t.Error("a notice added while streaming was not saved")
		}
	})
	if len(b.store.sessions) != 0 {
		t.Errorf("%d sessions remain, want 0", len(b.store.sessions))
	}
	stranger := b.browserFixture.browser()
	stranger.visit(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "page")
		stranger.Put(r.Context(), "late", "x")
	})
	if len(b.store.sessions) != 0 {
		t.Error("session was stored although its cookie could not be sent")
	}
}

// TestDisconnect checks that session changes are saved if the visitor disconnects before the
// response.
func TestDisconnect(t *testing.T) {
	d := newBrowserFixture(t, nil)
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
			t.Error("notice was not saved")
		}
	})
}

// TestUnreadableSessions checks that a corrupt session, or one from another version, signs no one
// in and causes no error for the visitor.
func TestUnreadableSessions(t *testing.T) {
	unencrypted := func(_ string, data []byte) []byte { return data }
	for _, encrypt := range []func(token string, data []byte) []byte{seal, unencrypted} {
		for _, data := range []string{"", "\x00\xff", "[]", `{"sign_in":"x"}`, `{"sign_in":{"id":1,"account":2}}`, `{"attempts":[{}]}`,
			`{"attempts":[{"until":"2030-01-01T00:00:00Z","issuer":"` + ourIssuer + `"}]}`} {
			d := newBrowserFixture(t, nil)
			b := d.browser()
			b.signIn(t, "ann")
			d.store.set(func(s *browserStore) {
				row := s.sessions[sessionName(b.cookie())]
				row.data = encrypt(b.cookie(), []byte(data))
				s.sessions[sessionName(b.cookie())] = row
			})
			if c, ok := callerOf(b); ok {
				t.Errorf("%q: signed in as %+v", data, c)
			}
			if _, err := b.finish(url.Values{"state": {""}, "code": {"x"}}); err == nil || !strings.Contains(err.Error(), "another browser") {
				t.Errorf("%q: Finish with an empty state: %v", data, err)
			}
			b.signIn(t, "ann")
		}
	}
}

// TestConcurrentTabs checks that concurrent changes to a session are all saved, and that a
// value read by one tab does not reappear.
func TestConcurrentTabs(t *testing.T) {
	b := newBrowserFixture(t, nil).browser()
	b.look(func(ctx context.Context) {
		b.Put(ctx, "popped outer", "1")
		b.Put(ctx, "popped inner", "1")
	})
	var first, second string
	b.look(func(ctx context.Context) {
		var err error
		if first, err = b.Begin(ctx, "0", "/first"); err != nil {
			t.Fatal(err)
		}
		b.Pop(ctx, "popped outer")
		b.look(func(ctx context.Context) {
			if second, err = b.Begin(ctx, "0", "/second"); err != nil {
				t.Fatal(err)
			}
			b.Pop(ctx, "popped inner")
			b.Put(ctx, "put inner", "1")
		})
		b.Put(ctx, "put outer", "1")
	})
	b.look(func(ctx context.Context) {
		for key, want := range map[string]string{"popped outer": "", "popped inner": "", "put outer": "1", "put inner": "1"} {
			if got := b.Pop(ctx, key); got != want {
				t.Errorf("Pop(%s) = %q, want %q", key, got, want)
			}
		}
	})
	for want, at := range map[string]string{"/first": first, "/second": second} {
		if to, err := b.finish(b.provider.approve(t, at, "ann", "ann@example.com")); err != nil || to != want {
			t.Errorf("Finish = %q, %v, want %q", to, err, want)
		}
	}
}

// TestRequestFromEndedSession checks that a request from an ended session neither restores it nor
// removes its replacement.
func TestRequestFromEndedSession(t *testing.T) {
	for name, meanwhile := range map[string]func(*browser){
		"signed in":  func(b *browser) { b.signIn(t, "ann") },
		"signed out": func(b *browser) { b.signOut(t) },
	} {
		b := newBrowserFixture(t, nil).browser()
		if name == "signed out" {
			b.signIn(t, "ann")
		}
		b.clock.advance(10 * time.Second)
		b.look(func(ctx context.Context) { b.Put(ctx, "notice", "1") })
		old := b.cookie()
		b.look(func(ctx context.Context) {
			b.Pop(ctx, "notice")
			b.Put(ctx, "late", "1")
			meanwhile(b)
		})
		if b.cookie() == old {
			t.Errorf("%s: browser still has the cookie of the ended session", name)
		}
		if _, ok := b.store.sessions[sessionName(old)]; ok {
			t.Errorf("%s: ended session was stored again", name)
		}
		if in := b.caller().Account != 0; in != (name == "signed in") {
			t.Errorf("%s: signed in = %v, want %v", name, in, !in)
		}
	}
}
