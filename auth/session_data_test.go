package auth

import (
	"context"
	"testing"
	"time"
)

// TestTabsBesideEachOther: what tabs change of a session at the same time is all kept, and what one has taken does not come back.
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

// TestLateTabs: a request of a session that has ended meanwhile neither brings it back nor takes away the one that came in its place.
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
