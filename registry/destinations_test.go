package registry_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

const hook = "https://hooks.example.com/labels"

// webhookTo returns the parameters of a webhook.
func webhookTo(address string) cola.DestinationParams {
	return cola.DestinationParams{Kind: cola.KindWebhook, Address: address}
}

func mailTo(address string) cola.DestinationParams {
	return cola.DestinationParams{Kind: cola.KindEmail, Address: address}
}

func (w *world) mustAdd(t *testing.T, c cola.Caller, p cola.DestinationParams) cola.DestinationWithSecret {
	t.Helper()
	created, state, err := w.CreateDestination(t.Context(), c, p)
	if err != nil || !state.Known() || state.Used != (cola.Used{}) {
		t.Fatalf("CreateDestination(%s) = %+v, %v", p.Address, state, err)
	}
	return created
}

// mustOwn returns the account's own email destination.
func (w *world) mustOwn(t *testing.T, c cola.Caller) cola.Destination {
	t.Helper()
	list, _, err := w.Destinations(t.Context(), c, cola.SavedSearchListParams{})
	if err != nil || len(list.Rows) == 0 {
		t.Fatalf("Destinations = %+v, %v", list, err)
	}
	return list.Rows[0]
}

// mustFind returns the UUID of the destination with the given address.
func (w *world) mustFind(t *testing.T, c cola.Caller, address string) string {
	t.Helper()
	list, _, err := w.Destinations(t.Context(), c, cola.SavedSearchListParams{PerPage: cola.Some(100)})
	for _, d := range list.Rows {
		if d.Address.V == address {
			return d.UUID
		}
	}
	t.Fatalf("destination %s not found in %+v, %v", address, list.Rows, err)
	return ""
}

// box encrypts destination secrets.
var box = newVault()

func newVault() *vault.Vault {
	keys, err := keyring.Parse([]byte(keyring.NewKey()))
	if err != nil {
		panic(err)
	}
	return vault.New(vault.Options{Keys: keys})
}

// token returns the token from the link in an email about a destination.
func (w *world) token(t *testing.T, c cola.Caller, uuid string) string {
	t.Helper()
	token, err := box.Link(c.Account, uuid)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// mustStored returns a stored destination with its secrets decrypted.
func (w *world) mustStored(t *testing.T, c cola.Caller, uuid string) store.Destination {
	t.Helper()
	d, err := w.store.Destination(t.Context(), c.Account, uuid)
	for text, p := range map[*string]vault.Purpose{&d.Secrets.Current: vault.Secret, &d.Secrets.Old: vault.Secret, &d.Challenge.Sealed: vault.Challenge} {
		if err == nil && *text != "" && !vault.IsSealed(*text) {
			t.Errorf("secret is stored in plaintext: %s", *text)
		}
		if err == nil {
			*text, err = box.Open(p, uuid, *text)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// mustHook stores an active webhook, without a challenge.
func (w *world) mustHook(t *testing.T, c cola.Caller, address string) cola.DestinationWithSecret {
	t.Helper()
	secret, id := cola.NewWebhookSecret(), uuid.NewString()
	created, err := w.store.CreateDestination(t.Context(), store.NewDestination{
		UUID: id, Account: c.Account, Kind: cola.KindWebhook, Address: address, State: cola.DestinationActive, MaxDestinations: cola.MaxDestinations,
		Secret: box.Seal(vault.Secret, id, secret),
	})
	if err != nil {
		t.Fatal(err)
	}
	return cola.DestinationWithSecret{Destination: created.Destination, Secret: cola.Some(secret)}
}

// sent returns the event types and states of an account's deliveries to a destination, newest
// first.
func (w *world) sent(t *testing.T, c cola.Caller, uuid string) (events []string) {
	t.Helper()
	list, _, err := w.Deliveries(t.Context(), c, cola.DeliveryListParams{Destination: uuid})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Rows {
		events = append(events, d.Event+" "+d.State)
	}
	return events
}

func TestAddWebhook(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "hook@example.com", cola.TierPro)
	search := w.mustSave(t, c, alert("oaks")).Search.UUID
	p := webhookTo("https://Hooks.Example.com/labels")
	p.SavedSearch, p.SendEmpty = strings.ToUpper(search), cola.Some(true)
	created := w.mustAdd(t, c, p)
	want := cola.Destination{
		UUID: created.UUID, Kind: cola.KindWebhook, Address: cola.Some(hook), SavedSearch: cola.Some(search), SendEmpty: true,
		State: cola.DestinationPending, CreatedAt: cola.TimestampOf(testNow),
	}
	if diff := cmp.Diff(want, created.Destination); diff != "" || !uuidPattern.MatchString(created.UUID) {
		t.Errorf("created destination (-want +got):\n%s", diff)
	}
	if stored := w.mustStored(t, c, created.UUID); !strings.HasPrefix(created.Secret.V, "whsec_") || stored.Secrets != (store.Secrets{Current: created.Secret.V}) {
		t.Errorf("secret = %v, stored secrets = %+v", created.Secret, stored.Secrets)
	}
	read, state, err := w.Destination(t.Context(), c, strings.ToUpper(created.UUID), "")
	if diff := cmp.Diff(want, read.Value); err != nil || diff != "" || !state.Known() {
		t.Errorf("Destination: %v (-want +got):\n%s", err, diff)
	}
	if got, _, err := w.Destination(t.Context(), c, created.UUID, read.ETag); err != nil || !got.NotModified {
		t.Errorf("Destination with its ETag = %+v, %v, want not modified", got, err)
	}
	list, state, err := w.Destinations(t.Context(), c, cola.SavedSearchListParams{PerPage: cola.Some(1), Page: cola.Some(2)})
	if diff := cmp.Diff([]cola.Destination{want}, list.Rows); err != nil || diff != "" || list.Meta != (cola.PageMeta{Total: 2, Page: 2, PerPage: 1}) || !state.Known() {
		t.Errorf("Destinations = %+v, %v (-want +got):\n%s", list.Meta, err, diff)
	}
	if diff := cmp.Diff([]string{"destination.confirm pending"}, w.sent(t, c, created.UUID)); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

// TestOwnAddress checks that every account has its own address as a destination, which needs no
// confirmation and cannot be deleted.
func TestOwnAddress(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "Own@example.com", cola.TierPro)
	own := w.mustOwn(t, c)
	if own.Address != cola.Some("Own@example.com") || own.State != cola.DestinationActive || own.SavedSearch.OK {
		t.Errorf("own address = %+v, want active", own)
	}
	if _, _, err := w.CreateDestination(t.Context(), c, mailTo("OWN@EXAMPLE.COM")); code(err) != cola.CodeDestinationExists {
		t.Errorf("own address in upper case: error = %v, want destination_exists", err)
	}
	p := mailTo("own@Example.com")
	p.SavedSearch = w.mustSave(t, c, alert("oaks")).Search.UUID
	if created := w.mustAdd(t, c, p); created.State != cola.DestinationActive || created.Secret.OK || w.sent(t, c, created.UUID) != nil {
		t.Errorf("own address for one search: %+v, want active without a secret or messages", created)
	}
	state, err := w.DeleteDestination(t.Context(), c, own.UUID)
	if code(err) != cola.CodeValidation || !state.Known() || !strings.Contains(fmt.Sprint(err.(*cola.Error).Details["uuid"]), `{"active": false}`) {
		t.Errorf("deleting the account's own address: error = %v, want validation_error", err)
	}
	if _, err := w.Unsubscribe(t.Context(), w.token(t, c, own.UUID)); err != nil {
		t.Fatal(err)
	}
	changed, _, err := w.ChangeDestination(t.Context(), c, own.UUID, cola.DestinationChangeParams{Active: cola.Some(true)})
	if err != nil || changed.State != cola.DestinationActive || changed.Reason.OK {
		t.Errorf("resume after unsubscribing = %+v, %v", changed, err)
	}
}

// TestOtherAddresses checks that an address other than the account's own gets only a confirmation
// request until its owner confirms it.
func TestOtherAddresses(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "asker@example.com", cola.TierPro)
	created := w.mustAdd(t, c, mailTo("stranger@example.com"))
	if created.State != cola.DestinationUnconfirmed || created.Secret.OK {
		t.Errorf("created %+v, want unconfirmed without a secret", created)
	}
	if diff := cmp.Diff([]string{"destination.confirm pending"}, w.sent(t, c, created.UUID)); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	resume := cola.DestinationChangeParams{Active: cola.Some(true)}
	if _, _, err := w.ChangeDestination(t.Context(), c, created.UUID, resume); code(err) != cola.CodeNotActive {
		t.Errorf("resume before confirmation: error = %v, want not_active", err)
	}
	if _, _, err := w.TestDestination(t.Context(), c, created.UUID); code(err) != cola.CodeNotActive {
		t.Errorf("test message before confirmation: error = %v, want not_active", err)
	}
	token := w.token(t, c, created.UUID)
	if s, err := w.Confirm(t.Context(), token); err != nil || s.State != cola.DestinationActive {
		t.Fatalf("Confirm = %+v, %v, want active", s, err)
	}
	delivery, _, err := w.TestDestination(t.Context(), c, created.UUID)
	if err != nil || delivery.Event != cola.EventTest || delivery.State != cola.DeliveryPending || delivery.Destination != created.UUID || delivery.NextAttemptAt != cola.Some(cola.TimestampOf(testNow)) {
		t.Errorf("test message after confirmation = %+v, %v", delivery, err)
	}
	if s, err := w.Unsubscribe(t.Context(), token); err != nil || !s.Ended() {
		t.Fatalf("Unsubscribe = %+v, %v, want ended", s, err)
	}
	if diff := cmp.Diff([]string{"destination.test skipped", "destination.confirm skipped"}, w.sent(t, c, created.UUID)); diff != "" {
		t.Errorf("deliveries after unsubscribing (-want +got):\n%s", diff)
	}
	for _, p := range []cola.DestinationChangeParams{{Active: cola.Some(false)}, resume} { // pausing it first does not bypass the confirmation
		got, _, err := w.ChangeDestination(t.Context(), c, created.UUID, p)
		if p.Active.V && code(err) != cola.CodeNotActive || !p.Active.V && (err != nil || got.Reason != cola.Some(cola.ReasonUnsubscribed)) {
			t.Errorf("ChangeDestination(%+v) = %+v, %v", p, got, err)
		}
	}
}

func TestResendConfirmation(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "again@example.com", cola.TierPro)
	created := w.mustAdd(t, c, mailTo("stranger@example.com"))
	w.advance(59 * time.Minute)
	_, state, err := w.ResendConfirmation(t.Context(), c, created.UUID)
	var refusal *cola.Error
	if !errors.As(err, &refusal) || refusal.Code != cola.CodeQuotaExceeded || refusal.RetryAfter != time.Minute || refusal.Details["reason"] != "confirmations" || !state.Known() {
		t.Errorf("resend within an hour: error = %+v, want quota_exceeded with a minute to wait", err)
	}
	w.advance(time.Minute)
	delivery, _, err := w.ResendConfirmation(t.Context(), c, created.UUID)
	if err != nil || delivery.Event != cola.EventConfirm || delivery.State != cola.DeliveryPending {
		t.Errorf("resend after an hour = %+v, %v", delivery, err)
	}
	token := w.token(t, c, created.UUID)
	if _, err := w.Unsubscribe(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Hour)
	if _, _, err := w.ResendConfirmation(t.Context(), c, created.UUID); err != nil {
		t.Fatal(err)
	}
	read, _, err := w.Destination(t.Context(), c, created.UUID, "")
	if err != nil || read.Value.State != cola.DestinationUnconfirmed || read.Value.Reason.OK {
		t.Errorf("resend after unsubscribing: %+v, %v", read.Value, err)
	}
	if _, err := w.Confirm(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Hour)
	webhook := w.mustHook(t, c, hook)
	for what, id := range map[string]string{"confirmed": created.UUID, "own": w.mustOwn(t, c).UUID, "webhook": webhook.UUID} {
		if _, _, err := w.ResendConfirmation(t.Context(), c, id); code(err) != cola.CodeValidation {
			t.Errorf("%s: error = %v, want validation_error", what, err)
		}
	}
}

// TestDailyConfirmationLimit checks that an account cannot exceed the daily limit on confirmation
// emails with concurrent requests, and that an address has a daily limit across accounts.
func TestDailyConfirmationLimit(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "few@example.com", cola.TierPro)
	var created, rejected atomic.Int64
	var wg sync.WaitGroup
	for i := range 15 {
		wg.Go(func() {
			d, _, err := w.CreateDestination(t.Context(), c, mailTo(fmt.Sprintf("stranger%d@example.com", i)))
			switch {
			case err == nil:
				created.Add(1)
				_, err = w.DeleteDestination(t.Context(), c, d.UUID) // deleting a destination does not reset the limit
				if err != nil {
					t.Error(err)
				}
			case code(err) == cola.CodeQuotaExceeded:
				rejected.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if created.Load() != 10 || rejected.Load() != 5 {
		t.Errorf("created %d, rejected %d, want 10 and 5", created.Load(), rejected.Load())
	}
	other := w.mustWriter(t, "other@example.com", cola.TierPro)
	first := w.mustAdd(t, other, mailTo("stranger@example.com"))
	for range 12 { // requests rejected for another reason do not count
		if _, _, err := w.CreateDestination(t.Context(), other, mailTo("Stranger@example.com")); code(err) != cola.CodeDestinationExists {
			t.Errorf("duplicate address: error = %v, want destination_exists", err)
		}
	}
	for range maxDailyConfirmations - 1 {
		w.advance(time.Hour)
		if _, _, err := w.ResendConfirmation(t.Context(), other, first.UUID); err != nil {
			t.Fatal(err)
		}
	}
	w.advance(time.Hour)
	if _, _, err := w.ResendConfirmation(t.Context(), other, first.UUID); code(err) != cola.CodeQuotaExceeded || !strings.Contains(err.Error(), " 3 ") {
		t.Errorf("fourth request in a day: error = %v, want quota_exceeded", err)
	}
	third := w.mustWriter(t, "third@example.com", cola.TierPro)
	_, _, err := w.CreateDestination(t.Context(), third, mailTo("STRANGER@example.com"))
	var refusal *cola.Error
	if !errors.As(err, &refusal) || refusal.Code != cola.CodeQuotaExceeded || refusal.RetryAfter != 21*time.Hour || refusal.Details["reason"] != "confirmations" {
		t.Errorf("request from another account: error = %+v, want quota_exceeded", err)
	}
	if list, _, err := w.Destinations(t.Context(), third, cola.SavedSearchListParams{}); err != nil || len(list.Rows) != 1 {
		t.Errorf("rejected destination was created: %+v, %v", list.Rows, err)
	}
	w.advance(21 * time.Hour)
	w.mustAdd(t, third, mailTo("STRANGER@example.com"))
}

// TestConfirmationLimitAfterDeletion checks that deleting and re-adding an address does not bypass
// the hourly limit.
func TestConfirmationLimitAfterDeletion(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "around@example.com", cola.TierPro)
	created := w.mustAdd(t, c, mailTo("stranger@example.com"))
	if _, err := w.DeleteDestination(t.Context(), c, created.UUID); err != nil {
		t.Fatal(err)
	}
	w.advance(18 * time.Minute)
	_, _, err := w.CreateDestination(t.Context(), c, mailTo("stranger@example.com"))
	var refusal *cola.Error
	if !errors.As(err, &refusal) || refusal.Code != cola.CodeQuotaExceeded || refusal.RetryAfter != 42*time.Minute || !strings.HasSuffix(refusal.Message, "within the last hour. Try again in 42 minutes.") {
		t.Errorf("address added again: error = %+v, want quota_exceeded with 42 minutes to wait", err)
	}
}

// TestRejectedDestinations checks that each rejected request counts toward the rate limit, is free
// and creates no destination.
func TestRejectedDestinations(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "refused@example.com", cola.TierPro), w.mustWriter(t, "else@example.com", cola.TierPro)
	reader := w.mustReader(t, c)
	theirs := w.mustSave(t, other, alert("theirs")).Search.UUID
	forSearch := func(p cola.DestinationParams, search string) cola.DestinationParams {
		p.SavedSearch = search
		return p
	}
	w.mustAdd(t, c, webhookTo(hook))
	tests := []struct {
		name   string
		caller cola.Caller
		params cola.DestinationParams
		want   cola.Code
		detail string
	}{
		{"without the scope, and invalid", reader, cola.DestinationParams{}, cola.CodeInsufficientScope, "required_scope"},
		{"invalid", c, cola.DestinationParams{}, cola.CodeValidation, "kind"},
		{"loopback address", c, webhookTo("https://127.0.0.1/"), cola.CodeValidation, "address"},
		{"search of another account", c, forSearch(webhookTo(hook+"/2"), theirs), cola.CodeValidation, "saved_search"},
		{"unknown search", c, forSearch(mailTo("stranger@example.com"), "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"), cola.CodeValidation, "saved_search"},
		{"duplicate", c, webhookTo("https://HOOKS.example.com/labels"), cola.CodeDestinationExists, ""},
	}
	for _, tt := range tests {
		created, state, err := w.CreateDestination(t.Context(), tt.caller, tt.params)
		var refusal *cola.Error
		if !errors.As(err, &refusal) || refusal.Code != tt.want || !cmp.Equal(created, cola.DestinationWithSecret{}) || !state.Known() {
			t.Errorf("%s: CreateDestination = %+v, %+v, %v, want %s", tt.name, created, state, err, tt.want)
			continue
		}
		if _, has := refusal.Details[tt.detail]; tt.detail != "" && !has {
			t.Errorf("%s: details = %v, want %s", tt.name, refusal.Details, tt.detail)
		}
	}
	for i := range cola.MaxDestinations - 2 {
		w.mustHook(t, c, fmt.Sprintf("%s/%d", hook, i))
	}
	_, _, err := w.CreateDestination(t.Context(), c, webhookTo(hook+"/one-more"))
	if code(err) != cola.CodeDestinationLimit || err.(*cola.Error).Details["limit"] != cola.MaxDestinations {
		t.Errorf("beyond the limit: error = %v, want destination_limit", err)
	}
	list, _, err := w.Destinations(t.Context(), c, cola.SavedSearchListParams{})
	if err != nil || list.Meta.Total != cola.MaxDestinations {
		t.Errorf("%d destinations, %v", list.Meta.Total, err)
	}
	days, err := w.store.DailyUsage(t.Context(), c.Account, cola.DateOf(testNow), cola.DateOf(testNow))
	if want := 1 + len(tests) + 1 + 1; err != nil || requestsOf(days) != want || unitsOf(days) != 0 {
		t.Errorf("today's usage = %+v, %v, want %d free requests", days, err, want)
	}
}

// TestMailDisabled checks that a server without email says so and still accepts webhooks, including
// webhooks to its own network if allowed.
func TestMailDisabled(t *testing.T) {
	w := mustWorldOf(t, 0, func(o *registry.Options) { o.SendsMail, o.PrivateWebhooks = false, true })
	c := w.mustWriter(t, "nomail@example.com", cola.TierPro)
	_, _, err := w.CreateDestination(t.Context(), c, mailTo("stranger@example.com"))
	if code(err) != cola.CodeValidation || !strings.Contains(fmt.Sprint(err.(*cola.Error).Details["kind"]), "webhook") {
		t.Errorf("email destination: error = %v, want validation_error", err)
	}
	own := w.mustOwn(t, c)
	if _, _, err := w.TestDestination(t.Context(), c, own.UUID); code(err) != cola.CodeNotActive || !strings.Contains(err.Error(), "webhook") {
		t.Errorf("test message to the account's own address: error = %v, want not_active", err)
	}
	w.mustSave(t, c, alert("oaks"))
	w.mustRun(t, 1, 1)
	list, _, err := w.Deliveries(t.Context(), c, cola.DeliveryListParams{})
	if err != nil || len(list.Rows) == 0 {
		t.Fatalf("Deliveries = %+v, %v, want some", list, err)
	}
	for _, d := range list.Rows {
		if _, _, err := w.ReplayDelivery(t.Context(), c, fmt.Sprint(d.ID)); d.Kind != cola.KindEmail || code(err) != cola.CodeNotActive {
			t.Errorf("replay of a %s delivery: error = %v, want not_active", d.Kind, err)
		}
	}
	created := w.mustHook(t, c, "http://127.0.0.1:9090/labels")
	if _, _, err := w.TestDestination(t.Context(), c, created.UUID); err != nil {
		t.Errorf("test message to a webhook: %v", err)
	}
}
