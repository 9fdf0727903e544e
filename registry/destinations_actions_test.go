package registry_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// code returns the code of an endpoint's latest challenge.
func (w *world) code(t *testing.T, c cola.Caller, id string) string {
	t.Helper()
	return cola.Challenge(w.kept(t, c, id).Challenge.Sealed).Code()
}

func enter(code string) cola.DestinationConfirmParams {
	return cola.DestinationConfirmParams{Code: code}
}

// TestConfirmEndpoint checks that a pending endpoint gets no messages until its code is entered.
func TestConfirmEndpoint(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "endpoint@example.com", cola.TierPro), w.mustWriter(t, "other@example.com", cola.TierPro)
	made := w.mustAdd(t, c, webhookTo(hook))
	_, _, tested := w.TestDestination(t.Context(), c, made.UUID)
	_, _, resumed := w.ChangeDestination(t.Context(), c, made.UUID, cola.DestinationChangeParams{Active: cola.Some(true)})
	_, _, replayed := w.ReplayDestination(t.Context(), c, made.UUID)
	for what, err := range map[string]error{"tested": tested, "made active": resumed, "replayed": replayed} {
		if code(err) != cola.CodeNotActive {
			t.Errorf("%s: %v", what, err)
		}
	}
	right := w.code(t, c, made.UUID)
	mailbox := w.mustAdd(t, c, mailTo("stranger@example.com"))
	for _, k := range []struct {
		what   string
		caller cola.Caller
		id     string
		code   string
		want   cola.Code
	}{
		{"another account", other, made.UUID, right, cola.CodeNotFound},
		{"a mailbox", c, mailbox.UUID, right, cola.CodeValidation},
		{"no code", c, made.UUID, "", cola.CodeValidation},
		{"a wrong code", c, made.UUID, "AAAA-AAAA", cola.CodeValidation},
	} {
		if _, state, err := w.ConfirmDestination(t.Context(), k.caller, k.id, enter(k.code)); code(err) != k.want || !state.Known() {
			t.Errorf("%s: %v, want %s", k.what, err, k.want)
		}
	}
	for range 2 { // confirming is idempotent
		got, state, err := w.ConfirmDestination(t.Context(), c, made.UUID, enter(strings.ToLower(right)))
		if err != nil || got.State != cola.DestinationActive || !state.Known() {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if kept := w.kept(t, c, made.UUID); !kept.VerifiedAt.Equal(w.now()) {
		t.Errorf("verified at %v", kept.VerifiedAt)
	}
	if _, _, err := w.TestDestination(t.Context(), c, made.UUID); err != nil {
		t.Errorf("tested since: %v", err)
	}
	if _, _, err := w.ResendConfirmation(t.Context(), c, made.UUID); code(err) != cola.CodeValidation {
		t.Errorf("challenged since: %v", err)
	}
}

// TestChallengeLimit checks that after ten wrong codes for a challenge, even the right one is refused.
func TestChallengeLimit(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "guess@example.com", cola.TierPro)
	made := w.mustAdd(t, c, webhookTo(hook))
	right := w.code(t, c, made.UUID)
	for n := range cola.MaxCodeTries {
		want := cola.CodeValidation
		if n == cola.MaxCodeTries-1 {
			want = cola.CodeNotActive
		}
		if _, _, err := w.ConfirmDestination(t.Context(), c, made.UUID, enter(fmt.Sprintf("AAAAAAA%c", 'C'+n))); code(err) != want {
			t.Errorf("try %d: %v, want %s", n+1, err, want)
		}
	}
	if _, _, err := w.ConfirmDestination(t.Context(), c, made.UUID, enter(right)); code(err) != cola.CodeNotActive {
		t.Errorf("the right code, too late: %v", err)
	}
	delivery, _, err := w.ResendConfirmation(t.Context(), c, made.UUID)
	if err != nil || delivery.Event != cola.EventConfirm || delivery.Kind != cola.KindWebhook {
		t.Fatalf("%+v, %v", delivery, err)
	}
	if _, _, err := w.ConfirmDestination(t.Context(), c, made.UUID, enter(right)); code(err) != cola.CodeValidation {
		t.Errorf("the code of the challenge before: %v", err)
	}
	if got, _, err := w.ConfirmDestination(t.Context(), c, made.UUID, enter(w.code(t, c, made.UUID))); err != nil || got.State != cola.DestinationActive {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestDailyChallengeLimit checks that an account cannot exceed the daily challenge limit of a host.
func TestDailyChallengeLimit(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "flood@example.com", cola.TierPro)
	made := 0
	for n := range 12 {
		d, _, err := w.CreateDestination(t.Context(), c, webhookTo(fmt.Sprintf("https://victim.example:%d/%d", 8000+n, n)))
		var refusal *cola.Error
		switch {
		case err == nil:
			made++
			if _, err := w.DeleteDestination(t.Context(), c, d.UUID); err != nil { // does not restore a challenge
				t.Fatal(err)
			}
		case !errors.As(err, &refusal) || refusal.Code != cola.CodeQuotaExceeded || refusal.Details["reason"] != "confirmations" || refusal.RetryAfter <= 0:
			t.Fatal(err)
		}
	}
	if made != 5 {
		t.Errorf("%d challenges in an hour, want 5", made)
	}
	w.advance(time.Hour)
	for n := range 5 {
		w.mustAdd(t, c, webhookTo(fmt.Sprintf("https://victim.example/again/%d", n)))
	}
	w.advance(time.Hour)
	if _, _, err := w.CreateDestination(t.Context(), c, webhookTo("https://other.example/")); code(err) != cola.CodeQuotaExceeded {
		t.Errorf("the eleventh challenge in a day: %v", err)
	}
}

// TestSharedHosts checks that accounts that exhaust a host's challenges for the day leave other accounts their first one, and as
// many as they need once it is confirmed.
func TestSharedHosts(t *testing.T) {
	w := mustWorld(t, 0)
	ask := func(c cola.Caller, n int) error {
		_, _, err := w.CreateDestination(t.Context(), c, webhookTo(fmt.Sprintf("https://hooks.example.com/%d/%d", c.Account, n)))
		return err
	}
	for n := range 10 {
		c := w.mustWriter(t, fmt.Sprintf("flood%d@example.com", n), cola.TierFree)
		for k := range 5 {
			if err := ask(c, k); err != nil {
				t.Fatal(err)
			}
		}
	}
	customer := w.mustWriter(t, "customer@example.com", cola.TierFree)
	if err := ask(customer, 1); err != nil {
		t.Fatalf("the first challenge: %v", err)
	}
	if err := ask(customer, 2); code(err) != cola.CodeQuotaExceeded {
		t.Errorf("the second, without a confirmed endpoint: %v", err)
	}
	w.mustHook(t, customer, "https://hooks.example.com/confirmed")
	if err := ask(customer, 2); err != nil {
		t.Errorf("the second, with a confirmed endpoint: %v", err)
	}
}

// TestTestMessageLimit checks that a destination gets at most ten test messages a minute, and that each has its own limit.
func TestTestMessageLimit(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "flood@example.com", cola.TierPro)
	first, second := w.mustHook(t, c, hook), w.mustHook(t, c, hook+"/2")
	for range 10 {
		if _, _, err := w.TestDestination(t.Context(), c, first.UUID); err != nil {
			t.Fatal(err)
		}
	}
	_, state, err := w.TestDestination(t.Context(), c, first.UUID)
	var refusal *cola.Error
	if !errors.As(err, &refusal) || refusal.Code != cola.CodeQuotaExceeded || refusal.RetryAfter != 6*time.Second ||
		refusal.Details["reason"] != registry.ReasonTests || !state.Known() {
		t.Errorf("the eleventh: %+v", err)
	}
	if _, _, err := w.TestDestination(t.Context(), c, second.UUID); err != nil {
		t.Errorf("another destination: %v", err)
	}
	w.advance(6 * time.Second)
	if _, _, err := w.TestDestination(t.Context(), c, first.UUID); err != nil {
		t.Errorf("six seconds later: %v", err)
	}
	if _, _, err := w.TestDestination(t.Context(), c, first.UUID); code(err) != cola.CodeQuotaExceeded {
		t.Errorf("immediately again: %v", err)
	}
}

// reaches reports whether values of one type can contain values of another.
func reaches(from, to reflect.Type) bool {
	if from == to {
		return true
	}
	switch from.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return reaches(from.Elem(), to)
	case reflect.Struct:
		for i := range from.NumField() {
			if reaches(from.Field(i).Type, to) {
				return true
			}
		}
	}
	return false
}

// TestRedactedDestinations covers every operation that returns destinations or deliveries. An app
// without the write scope is refused or sees no address. Add new operations here.
func TestRedactedDestinations(t *testing.T) {
	w := mustWorld(t, 0)
	writer := w.mustWriter(t, "holder@example.com", cola.TierPro)
	made := w.mustHook(t, writer, "https://user:password@hooks.example.com/TEAM-PATH/B0/secret?key=1")
	w.mustAdd(t, writer, mailTo("stranger@example.com"))
	d, _, err := w.TestDestination(t.Context(), writer, made.UUID)
	if err != nil {
		t.Fatal(err)
	}
	c := writer
	c.Scopes = nil
	id, number, ctx := made.UUID, fmt.Sprint(d.ID), t.Context()
	results := map[string][]any{}
	note := func(name string, value any, err error) { results[name] = []any{value, err} }
	list, _, err := w.Destinations(ctx, c, cola.SavedSearchListParams{})
	note("Destinations", list, err)
	one, _, err := w.Destination(ctx, c, id, "")
	note("Destination", one, err)
	deliveries, _, err := w.Deliveries(ctx, c, cola.DeliveryListParams{})
	note("Deliveries", deliveries, err)
	delivery, _, err := w.Delivery(ctx, c, number, "")
	note("Delivery", delivery, err)
	created, _, err := w.CreateDestination(ctx, c, webhookTo(hook))
	note("CreateDestination", created, err)
	changed, _, err := w.ChangeDestination(ctx, c, id, cola.DestinationChangeParams{Active: cola.Some(true)})
	note("ChangeDestination", changed, err)
	rotated, _, err := w.RotateSecret(ctx, c, id)
	note("RotateSecret", rotated, err)
	confirmed, _, err := w.ConfirmDestination(ctx, c, id, enter("KX7Q-2MFA"))
	note("ConfirmDestination", confirmed, err)
	tested, _, err := w.TestDestination(ctx, c, id)
	note("TestDestination", tested, err)
	asked, _, err := w.ResendConfirmation(ctx, c, id)
	note("ResendConfirmation", asked, err)
	replayed, _, err := w.ReplayDelivery(ctx, c, number)
	note("ReplayDelivery", replayed, err)

	reads := 0
	for name, r := range results {
		if err, _ := r[1].(error); err != nil {
			if code(err) != cola.CodeInsufficientScope {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		reads++
		shown := fmt.Sprintf("%+v", r[0])
		for _, hidden := range []string{"secret", "password", "TEAM-PATH", "key=1", "stranger@", "holder@"} {
			if strings.Contains(shown, hidden) {
				t.Errorf("%s shows %s: %s", name, hidden, shown)
			}
		}
	}
	if reads != 4 {
		t.Errorf("%d operations may be read, want 4", reads)
	}
	if want := "https://hooks.example.com"; one.Value.Address != cola.Some(want) {
		t.Errorf("a webhook is shown as %v, want %s", one.Value.Address, want)
	}
	if again, _, err := w.Destination(ctx, writer, id, one.ETag); err != nil || again.NotModified {
		t.Errorf("what is redacted has the ETag of what is not: %+v, %v", again, err)
	}
	service := reflect.TypeFor[*registry.Service]()
	for i := range service.NumMethod() {
		m := service.Method(i)
		for j := range m.Type.NumOut() {
			for _, of := range []reflect.Type{reflect.TypeFor[cola.Destination](), reflect.TypeFor[cola.Delivery]()} {
				if _, known := results[m.Name]; !known && reaches(m.Type.Out(j), of) {
					t.Errorf("%s returns a %s, and is not tried here", m.Name, of)
				}
			}
		}
	}
}

// TestEarlierLinks checks that links in emails sent by an earlier version still work.
func TestEarlierLinks(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "holder@example.com", cola.TierPro)
	made := w.mustAdd(t, c, mailTo("stranger@example.com"))
	const token = "3f6c1f1f0a9b4c52a52e84b60a1f4c2d07be8365"
	if _, err := w.Subscription(t.Context(), token); code(err) != cola.CodeNotFound {
		t.Errorf("before there is one: %v", err)
	}
	hash := sha256.Sum256([]byte(token))
	w.earlier = func(asked []byte) (store.Destination, error) {
		if !cmp.Equal(asked, hash[:]) {
			return store.Destination{}, store.ErrNotFound
		}
		return w.store.Destination(t.Context(), c.Account, made.UUID)
	}
	if s, err := w.Confirm(t.Context(), token); err != nil || s.State != cola.DestinationActive {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := w.Unsubscribe(t.Context(), token); err != nil || !s.Ended() {
		t.Errorf("%+v, %v", s, err)
	}
}
