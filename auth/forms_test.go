package auth

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestForms: a form is good for one sending, by who opened it, in time, however often it is sent at once.
func TestForms(t *testing.T) {
	d := newDesk(t, nil)
	ann, bob, nobody := d.browser(), d.browser(), d.browser()
	ann.signIn(t, "ann")
	bob.signIn(t, "bob")
	open := func(b *browser) (token string) {
		t.Helper()
		if err := b.do(func(ctx context.Context) (err error) { token, err = d.OpenForm(ctx); return err }); err != nil {
			t.Fatal(err)
		}
		return token
	}
	take := func(b *browser, token string) (first bool) {
		t.Helper()
		if err := b.do(func(ctx context.Context) (err error) { first, err = d.TakeForm(ctx, token); return err }); err != nil {
			t.Error(err)
		}
		return first
	}
	token := open(ann)
	for name, other := range map[string]*browser{"another account": bob, "nobody": nobody} {
		if take(other, token) {
			t.Errorf("%s sends the form", name)
		}
	}
	for _, odd := range []string{"", "made up", token + "\x00", "../" + token} {
		if take(ann, odd) {
			t.Errorf("%q is a form", odd)
		}
	}
	var all sync.WaitGroup
	var firsts atomic.Int32
	for range 8 {
		all.Go(func() {
			ctx := context.WithValue(t.Context(), sessionKey{}, &session{data: sessionData{SignIn: &signedIn{ID: ann.caller().Credential.ID, Account: ann.caller().Account}}})
			if first, err := d.TakeForm(ctx, token); err != nil {
				t.Error(err)
			} else if first {
				firsts.Add(1)
			}
		})
	}
	all.Wait()
	if firsts.Load() != 1 {
		t.Errorf("the form was taken %d times", firsts.Load())
	}
	typed := open(ann)
	again := d.browser()
	again.signIn(t, "ann")
	if !take(again, typed) || take(ann, typed) {
		t.Error("a form that was open when the session ended is not sent once by the next one")
	}
	late := open(ann)
	d.clock.pass(FormFor)
	if take(ann, late) {
		t.Error("a form is open for longer than it may")
	}
	d.store.set(func(s *browserStore) { s.fail["DeleteSession"] = store.ErrUnavailable })
	if err := ann.do(func(ctx context.Context) error { _, err := d.TakeForm(ctx, late); return err }); cola.CodeOf(err) != cola.CodeUnavailable {
		t.Errorf("without the store: %v", err)
	}
}
