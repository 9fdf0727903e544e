package registry_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

func (f flaky) DestinationByLink(ctx context.Context, hash []byte) (store.Destination, error) {
	if f.w.full.Load() {
		return store.Destination{}, errFull
	}
	if f.w.earlier != nil {
		return f.w.earlier(hash)
	}
	return f.Store.DestinationByLink(ctx, hash)
}

// TestSubscription checks the state of a subscription as its recipient declines, confirms and
// unsubscribes.
func TestSubscription(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "holder@example.com", cola.TierPro)
	p := mailTo("stranger@sub.example.com")
	p.SavedSearch = w.mustSave(t, c, alert("Oaks & elms")).Search.UUID
	token := w.token(t, c, w.mustAdd(t, c, p).UUID)
	steps := []struct {
		name          string
		do            func(context.Context, string) (registry.Subscription, error)
		state, reason string
	}{
		{"viewed", w.Subscription, cola.DestinationUnconfirmed, ""},
		{"declined", w.Unsubscribe, cola.DestinationPaused, cola.ReasonUnsubscribed},
		{"confirmed", w.Confirm, cola.DestinationActive, ""},
		{"confirmed again", w.Confirm, cola.DestinationActive, ""},
		{"viewed again", w.Subscription, cola.DestinationActive, ""},
		{"unsubscribed", w.Unsubscribe, cola.DestinationPaused, cola.ReasonUnsubscribed},
		{"unsubscribed again", w.Unsubscribe, cola.DestinationPaused, cola.ReasonUnsubscribed},
	}
	for _, step := range steps {
		got, err := step.do(t.Context(), token)
		want := registry.Subscription{Address: "s…@sub.example.com", Search: "Oaks & elms", State: step.state, Reason: step.reason}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%s: %v (-want +got):\n%s", step.name, err, diff)
		}
	}
}

// TestConfirmWhilePaused checks that confirming an address does not resume a destination that the
// account holder paused, and that unsubscribing works while the account is suspended.
func TestConfirmWhilePaused(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "holder@example.com", cola.TierPro)
	own := w.mustOwn(t, c)
	if _, _, err := w.ChangeDestination(t.Context(), c, own.UUID, cola.DestinationChangeParams{Active: cola.Some(false)}); err != nil {
		t.Fatal(err)
	}
	token := w.token(t, c, own.UUID)
	if got, err := w.Confirm(t.Context(), token); err != nil || got.State != cola.DestinationPaused || got.Reason != cola.ReasonHolder || got.Search != "" || !got.Confirmed() {
		t.Errorf("Confirm while paused = %+v, %v", got, err)
	}
	if err := w.store.Suspend(t.Context(), c.Account, "Not paid."); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Unsubscribe(t.Context(), token); err != nil || !got.Ended() {
		t.Errorf("Unsubscribe while suspended = %+v, %v, want ended", got, err)
	}
}

func TestRejectedSubscriptions(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "holder@example.com", cola.TierPro)
	stranger, webhook := w.mustAdd(t, c, mailTo("stranger@example.com")), w.mustAdd(t, c, webhookTo(hook))
	token, hooks := w.token(t, c, stranger.UUID), w.token(t, c, webhook.UUID)
	calls := map[string]func(context.Context, string) (registry.Subscription, error){"Subscription": w.Subscription, "Unsubscribe": w.Unsubscribe, "Confirm": w.Confirm}
	for name, do := range calls {
		for _, wrong := range []string{"", "x", hooks, strings.ToUpper(token) + "x", token[1:], strings.Repeat("0", 40), strings.Repeat("x", 5000), "%00" + token, stranger.UUID} {
			got, err := do(t.Context(), wrong)
			if code(err) != cola.CodeNotFound || !cmp.Equal(got, registry.Subscription{}) || len(wrong) > 16 && strings.Contains(err.Error(), wrong) {
				t.Errorf("%s(%.50q) = %+v, %v, want not_found without the token", name, wrong, got, err)
			}
		}
	}
	w.full.Store(true)
	for name, do := range calls {
		if _, err := do(t.Context(), token); code(err) != cola.CodeUnavailable {
			t.Errorf("%s during an outage: error = %v, want unavailable", name, err)
		}
	}
	w.full.Store(false)
	w.destinationsReadOnly.Store(true)
	if _, err := w.Unsubscribe(t.Context(), token); code(err) != cola.CodeUnavailable || !strings.Contains(err.Error(), "safe to retry") {
		t.Errorf("Unsubscribe without writes: error = %v, want unavailable", err)
	}
	w.destinationsReadOnly.Store(false)
	if got, err := w.Subscription(t.Context(), token); err != nil || got.State != cola.DestinationUnconfirmed {
		t.Errorf("Subscription = %+v, %v, want unconfirmed", got, err)
	}
	if _, err := w.DeleteDestination(t.Context(), c, stranger.UUID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Subscription(t.Context(), token); code(err) != cola.CodeNotFound {
		t.Errorf("deleted destination: error = %v, want not_found", err)
	}
}
