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
	return cola.Challenge(w.mustStored(t, c, id).Challenge.Sealed).Code()
}

func enter(code string) cola.DestinationConfirmParams {
	return cola.DestinationConfirmParams{Code: code}
}

// TestConfirmEndpoint checks that a pending endpoint gets no messages until its code is entered.
func TestConfirmEndpoint(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "endpoint@example.com", cola.TierPro), w.mustWriter(t, "other@example.com", cola.TierPro)
	created := w.mustAdd(t, c, webhookTo(hook))
	_, _, tested := w.TestDestination(t.Context(), c, created.UUID)
	_, _, resumed := w.ChangeDestination(t.Context(), c, created.UUID, cola.DestinationChangeParams{Active: cola.Some(true)})
	_, _, replayed := w.ReplayDestination(t.Context(), c, created.UUID)
	for what, err := range map[string]error{"tested": tested, "made active": resumed, "replayed": replayed} {
		if code(err) != cola.CodeNotActive {
			t.Errorf("%s: error = %v, want not_active", what, err)
		}
	}
	right := w.code(t, c, created.UUID)
	mailbox := w.mustAdd(t, c, mailTo("stranger@example.com"))
	for _, k := range []struct {
		what   string
		caller cola.Caller
		id     string
		code   string
		want   cola.Code
	}{
		{"another account", other, created.UUID, right, cola.CodeNotFound},
		{"a mailbox", c, mailbox.UUID, right, cola.CodeValidation},
		{"no code", c, created.UUID, "", cola.CodeValidation},
		{"a wrong code", c, created.UUID, "AAAA-AAAA", cola.CodeValidation},
	} {
		if _, state, err := w.ConfirmDestination(t.Context(), k.caller, k.id, enter(k.code)); code(err) != k.want || !state.Known() {
			t.Errorf("%s: error = %v, want %s", k.what, err, k.want)
		}
	}
	for range 2 { // confirming is idempotent
		got, state, err := w.ConfirmDestination(t.Context(), c, created.UUID, enter(strings.ToLower(right)))
		if err != nil || got.State != cola.DestinationActive || !state.Known() {
			t.Errorf("ConfirmDestination = %+v, %v, want active", got, err)
		}
	}
	if stored := w.mustStored(t, c, created.UUID); !stored.VerifiedAt.Equal(w.now()) {
		t.Errorf("verified at %v, want now", stored.VerifiedAt)
	}
	if _, _, err := w.TestDestination(t.Context(), c, created.UUID); err != nil {
		t.Errorf("TestDestination after confirmation: %v", err)
	}
	if _, _, err := w.ResendConfirmation(t.Context(), c, created.UUID); code(err) != cola.CodeValidation {
		t.Errorf("ResendConfirmation after confirmation: error = %v, want validation_error", err)
	}
}

// TestChallengeLimit checks that after ten wrong codes for a challenge, even the right one is
// rejected.
func TestChallengeLimit(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "guess@example.com", cola.TierPro)
	created := w.mustAdd(t, c, webhookTo(hook))
	right := w.code(t, c, created.UUID)
	for n := range cola.MaxCodeTries {
		want := cola.CodeValidation
		if n == cola.MaxCodeTries-1 {
			want = cola.CodeNotActive
		}
		if _, _, err := w.ConfirmDestination(t.Context(), c, created.UUID, enter(fmt.Sprintf("AAAAAAA%c", 'C'+n))); code(err) != want {
			t.Errorf("attempt %d: error = %v, want %s", n+1, err, want)
		}
	}
	if _, _, err := w.ConfirmDestination(t.Context(), c, created.UUID, enter(right)); code(err) != cola.CodeNotActive {
		t.Errorf("correct code after too many attempts: error = %v, want not_active", err)
	}
	delivery, _, err := w.ResendConfirmation(t.Context(), c, created.UUID)
	if err != nil || delivery.Event != cola.EventConfirm || delivery.Kind != cola.KindWebhook {
		t.Fatalf("ResendConfirmation = %+v, %v", delivery, err)
	}
	if _, _, err := w.ConfirmDestination(t.Context(), c, created.UUID, enter(right)); code(err) != cola.CodeValidation {
		t.Errorf("code of the previous challenge: error = %v, want validation_error", err)
	}
	if got, _, err := w.ConfirmDestination(t.Context(), c, created.UUID, enter(w.code(t, c, created.UUID))); err != nil || got.State != cola.DestinationActive {
		t.Errorf("ConfirmDestination = %+v, %v, want active", got, err)
	}
}

// TestDailyChallengeLimit checks that an account cannot exceed the hourly limit on challenges to
// one host, or the daily limit on all of its challenges.
func TestDailyChallengeLimit(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "flood@example.com", cola.TierPro)
	created := 0
	for n := range 12 {
		d, _, err := w.CreateDestination(t.Context(), c, webhookTo(fmt.Sprintf("https://victim.example:%d/%d", 8000+n, n)))
		var refusal *cola.Error
		switch {
		case err == nil:
			created++
			if _, err := w.DeleteDestination(t.Context(), c, d.UUID); err != nil { // does not reset the limit
				t.Fatal(err)
			}
		case !errors.As(err, &refusal) || refusal.Code != cola.CodeQuotaExceeded || refusal.Details["reason"] != "confirmations" || refusal.RetryAfter <= 0:
			t.Fatal(err)
		}
	}
	if created != 5 {
		t.Errorf("%d challenges in an hour, want 5", created)
	}
	w.advance(time.Hour)
	for n := range 5 {
		w.mustAdd(t, c, webhookTo(fmt.Sprintf("https://victim.example/again/%d", n)))
	}
	w.advance(time.Hour)
	if _, _, err := w.CreateDestination(t.Context(), c, webhookTo("https://other.example/")); code(err) != cola.CodeQuotaExceeded {
		t.Errorf("11th challenge in a day: error = %v, want quota_exceeded", err)
	}
}

// TestSharedHosts checks that after some accounts exhaust a host's daily challenges, another
// account can still send its first one, and more once it has a confirmed endpoint on the host.
func TestSharedHosts(t *testing.T) {
	w := mustWorld(t, 0)
	request := func(c cola.Caller, n int) error {
		_, _, err := w.CreateDestination(t.Context(), c, webhookTo(fmt.Sprintf("https://hooks.example.com/%d/%d", c.Account, n)))
		return err
	}
	for n := range 10 {
		c := w.mustWriter(t, fmt.Sprintf("flood%d@example.com", n), cola.TierFree)
		for k := range 5 {
			if err := request(c, k); err != nil {
				t.Fatal(err)
			}
		}
	}
	customer := w.mustWriter(t, "customer@example.com", cola.TierFree)
	if err := request(customer, 1); err != nil {
		t.Fatalf("first challenge: error = %v", err)
	}
	if err := request(customer, 2); code(err) != cola.CodeQuotaExceeded {
		t.Errorf("second challenge without a confirmed endpoint: error = %v, want quota_exceeded", err)
	}
	w.mustHook(t, customer, "https://hooks.example.com/confirmed")
	if err := request(customer, 2); err != nil {
		t.Errorf("second challenge with a confirmed endpoint: error = %v", err)
	}
}

// TestTestMessageLimit checks that a destination gets at most ten test messages a minute, and that
// each destination has its own limit.
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
		t.Errorf("11th test message: error = %+v, want quota_exceeded", err)
	}
	if _, _, err := w.TestDestination(t.Context(), c, second.UUID); err != nil {
		t.Errorf("other destination: error = %v", err)
	}
	w.advance(6 * time.Second)
	if _, _, err := w.TestDestination(t.Context(), c, first.UUID); err != nil {
		t.Errorf("after six seconds: error = %v", err)
	}
	if _, _, err := w.TestDestination(t.Context(), c, first.UUID); code(err) != cola.CodeQuotaExceeded {
		t.Errorf("second message after six seconds: error = %v, want quota_exceeded", err)
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

// TestRedactedDestinations checks every operation that returns destinations or deliveries: a key
// without the write scope is rejected or sees only redacted addresses. Add new operations here.
func TestRedactedDestinations(t *testing.T) {
	w := mustWorld(t, 0)
	writer := w.mustWriter(t, "holder@example.com", cola.TierPro)
	made := w.mustHook(t, writer, "https://user:password@hooks.example.com/TEAM-PATH/B0/secret?key=1")
	w.mustAdd(t, writer, mailTo("stranger@example.com"))
	d, _, err := w.TestDestination(t.Context(), writer, made.UUID)
	if err != nil {
		t.Fatal(err)
	}
	c := w.mustReader(t, writer)
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
	alerted, _, err := w.CreateAlert(ctx, c, alert("oaks"), registry.AlertDestinations{Address: hook})
	note("CreateAlert", alerted, err)
	changed, _, err := w.ChangeDestination(ctx, c, id, cola.DestinationChangeParams{Active: cola.Some(true)})
	note("ChangeDestination", changed, err)
	rotated, _, err := w.RotateSecret(ctx, c, id)
	note("RotateSecret", rotated, err)
	confirmed, _, err := w.ConfirmDestination(ctx, c, id, enter("KX7Q-2MFA"))
	note("ConfirmDestination", confirmed, err)
	tested, _, err := w.TestDestination(ctx, c, id)
	note("TestDestination", tested, err)
	resent, _, err := w.ResendConfirmation(ctx, c, id)
	note("ResendConfirmation", resent, err)
	replayed, _, err := w.ReplayDelivery(ctx, c, number)
	note("ReplayDelivery", replayed, err)

	reads := 0
	for name, r := range results {
		if err, _ := r[1].(error); err != nil {
			if code(err) != cola.CodeInsufficientScope {
				t.Errorf("%s: error = %v, want insufficient_scope", name, err)
			}
			continue
		}
		reads++
		got := fmt.Sprintf("%+v", r[0])
		for _, hidden := range []string{"secret", "password", "TEAM-PATH", "key=1", "stranger@", "holder@"} {
			if strings.Contains(got, hidden) {
				t.Errorf("%s contains %s: %s", name, hidden, got)
			}
		}
	}
	if reads != 4 {
		t.Errorf("%d read operations, want 4", reads)
	}
	if want := "https://hooks.example.com"; one.Value.Address != cola.Some(want) {
		t.Errorf("redacted address = %v, want %s", one.Value.Address, want)
	}
	if got, _, err := w.Destination(ctx, writer, id, one.ETag); err != nil || got.NotModified {
		t.Errorf("ETag of the redacted destination is accepted for the full one: %+v, %v", got, err)
	}
	service := reflect.TypeFor[*registry.Service]()
	for i := range service.NumMethod() {
		m := service.Method(i)
		for j := range m.Type.NumOut() {
			for _, typ := range []reflect.Type{reflect.TypeFor[cola.Destination](), reflect.TypeFor[cola.Delivery]()} {
				if _, known := results[m.Name]; !known && reaches(m.Type.Out(j), typ) {
					t.Errorf("%s returns a %s, but has no test case", m.Name, typ)
				}
			}
		}
	}
}

// TestEarlierLinks checks that links in emails sent by an earlier version still work.
func TestEarlierLinks(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "holder@example.com", cola.TierPro)
	created := w.mustAdd(t, c, mailTo("stranger@example.com"))
	const token = "3f6c1f1f0a9b4c52a52e84b60a1f4c2d07be8365"
	if _, err := w.Subscription(t.Context(), token); code(err) != cola.CodeNotFound {
		t.Errorf("unknown token: error = %v, want not_found", err)
	}
	hash := sha256.Sum256([]byte(token))
	w.earlier = func(h []byte) (store.Destination, error) {
		if !cmp.Equal(h, hash[:]) {
			return store.Destination{}, store.ErrNotFound
		}
		return w.store.Destination(t.Context(), c.Account, created.UUID)
	}
	if s, err := w.Confirm(t.Context(), token); err != nil || s.State != cola.DestinationActive {
		t.Errorf("Confirm = %+v, %v, want active", s, err)
	}
	if s, err := w.Unsubscribe(t.Context(), token); err != nil || !s.Ended() {
		t.Errorf("Unsubscribe = %+v, %v, want ended", s, err)
	}
}
