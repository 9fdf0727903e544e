package registry_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// mustAttempt claims the only due webhook delivery and records an attempt.
func (w *world) mustAttempt(t *testing.T, at time.Time, a store.Attempt) {
	t.Helper()
	due, err := w.store.ClaimDeliveries(t.Context(), at, []string{cola.KindWebhook}, 10, time.Minute)
	if err != nil || len(due) != 1 {
		t.Fatalf("%d deliveries are due, %v, want 1", len(due), err)
	}
	a.Due, a.At, a.Took = due[0], at, 184*time.Millisecond
	if recorded, err := w.store.RecordAttempt(t.Context(), a); err != nil || !recorded {
		t.Fatalf("RecordAttempt = %t, %v, want true", recorded, err)
	}
}

// TestDeliveries checks that each run's result is listed as one delivery per destination, with its
// outcome.
func TestDeliveries(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "deliveries@example.com", cola.TierPro), w.mustWriter(t, "other@example.com", cola.TierPro)
	reader := w.mustReader(t, c) // any of the account's credentials may read
	search := w.mustSave(t, c, alert("oaks")).Search.UUID
	created := w.mustHook(t, c, hook)
	w.mustRun(t, 2, 0, 1) // the second run has no matches, and no destination has empty runs enabled
	list, state, err := w.Deliveries(t.Context(), reader, cola.DeliveryListParams{Destination: created.UUID, SavedSearch: strings.ToUpper(search), PerPage: cola.Some(1)})
	if err != nil || !state.Known() || state.Used != (cola.Used{}) || len(list.Rows) != 1 || list.Meta != (cola.PageMeta{Total: 2, Page: 1, PerPage: 1, HasMore: true}) {
		t.Fatalf("Deliveries = %+v, %+v, %v", list, state, err)
	}
	latest := list.Rows[0]
	if latest.Event != cola.EventRan || latest.Kind != cola.KindWebhook || latest.State != cola.DeliveryPending || latest.SavedSearch != cola.Some(search) || !latest.RunID.OK || !strings.HasPrefix(latest.MessageID, "msg_") {
		t.Errorf("delivery = %+v, want a pending delivery of the run", latest)
	}
	for _, tt := range []struct {
		caller cola.Caller
		params cola.DeliveryListParams
		want   int
	}{
		{c, cola.DeliveryListParams{}, 4}, // the account's own email address gets them too
		{c, cola.DeliveryListParams{State: "PENDING", Destination: w.mustOwn(t, c).UUID}, 2},
		{c, cola.DeliveryListParams{State: cola.DeliveryFailed}, 0},
		{c, cola.DeliveryListParams{SavedSearch: created.UUID}, 0},
		{other, cola.DeliveryListParams{}, 0},
		{other, cola.DeliveryListParams{Destination: created.UUID}, 0},
	} {
		if list, _, err := w.Deliveries(t.Context(), tt.caller, tt.params); err != nil || len(list.Rows) != tt.want || list.Meta.Total != tt.want {
			t.Errorf("Deliveries(%+v) = %d of %d rows, %v, want %d", tt.params, len(list.Rows), list.Meta.Total, err, tt.want)
		}
	}
	if _, state, err := w.Deliveries(t.Context(), c, cola.DeliveryListParams{State: "lost"}); code(err) != cola.CodeValidation || !state.Known() {
		t.Errorf("invalid state: error = %v, want validation_error", err)
	}
}

// TestDeliveryAndReplay checks that a failed delivery can be read and is replayed under the same
// ID.
func TestDeliveryAndReplay(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "replay@example.com", cola.TierPro), w.mustWriter(t, "other@example.com", cola.TierPro)
	w.mustSave(t, c, alert("oaks"))
	created := w.mustHook(t, c, hook)
	w.mustRun(t, 2)
	w.advance(7 * 24 * time.Hour)
	w.mustAttempt(t, w.now(), store.Attempt{Status: 503, Error: "The receiver responded with status 503.", State: cola.DeliveryFailed, Pause: cola.ReasonFailing})
	list, _, err := w.Deliveries(t.Context(), c, cola.DeliveryListParams{State: cola.DeliveryFailed})
	if err != nil || len(list.Rows) != 1 {
		t.Fatalf("Deliveries = %+v, %v", list, err)
	}
	failed := list.Rows[0]
	id := fmt.Sprint(failed.ID)
	read, state, err := w.Delivery(t.Context(), c, id, "")
	want := cola.DeliveryDetail{Delivery: failed, Attempts: []cola.DeliveryAttempt{{
		At: cola.TimestampOf(w.now()), DurationMS: 184, Status: cola.Some(503), Error: cola.Some("The receiver responded with status 503."),
	}}}
	if diff := cmp.Diff(want, read.Value); err != nil || diff != "" || !state.Known() || failed.Error != cola.Some("The receiver responded with status 503.") {
		t.Errorf("Delivery: %v (-want +got):\n%s", err, diff)
	}
	if got, _, err := w.Delivery(t.Context(), c, id, read.ETag); err != nil || !got.NotModified {
		t.Errorf("Delivery with its ETag = %+v, %v, want not modified", got, err)
	}
	if _, _, err := w.ReplayDelivery(t.Context(), c, id); code(err) != cola.CodeNotActive || !strings.Contains(err.Error(), "PATCH") {
		t.Errorf("replay to a paused destination: error = %v, want not_active", err)
	}
	resumed, _, err := w.ChangeDestination(t.Context(), c, created.UUID, cola.DestinationChangeParams{Active: cola.Some(true)})
	if err != nil || resumed.State != cola.DestinationActive || resumed.FailingSince.OK {
		t.Fatalf("resume: %+v, %v", resumed, err)
	}
	replayed, state, err := w.ReplayDelivery(t.Context(), c, id)
	if err != nil || replayed.State != cola.DeliveryPending || replayed.MessageID != failed.MessageID || replayed.NextAttemptAt != cola.Some(cola.TimestampOf(w.now())) || !state.Known() {
		t.Errorf("ReplayDelivery = %+v, %v", replayed, err)
	}
	reader := w.mustReader(t, c)
	for name, err := range map[string]error{
		"another account's, read":   third(w.Delivery(t.Context(), other, id, "")),
		"another account's, replay": third(w.ReplayDelivery(t.Context(), other, id)),
		"unknown ID":                third(w.Delivery(t.Context(), c, "999999", "")),
		"leading zero":              third(w.Delivery(t.Context(), c, "0"+id, "")),
		"negative ID":               third(w.ReplayDelivery(t.Context(), c, "-1")),
		"overlong ID":               third(w.ReplayDelivery(t.Context(), c, strings.Repeat("9", 500))),
	} {
		if code(err) != cola.CodeNotFound || len(err.Error()) > 250 {
			t.Errorf("%s: error = %v, want not_found", name, err)
		}
	}
	if _, _, err := w.ReplayDelivery(t.Context(), reader, id); code(err) != cola.CodeInsufficientScope {
		t.Errorf("without the scope: error = %v, want insufficient_scope", err)
	}
}

// third returns the last of three results.
func third[A, B any](_ A, _ B, err error) error { return err }

// TestReplayAll checks that deliveries skipped while a destination was paused are sent once on
// replay.
func TestReplayAll(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "all@example.com", cola.TierPro)
	w.mustSave(t, c, alert("oaks"))
	created := w.mustHook(t, c, hook)
	change := func(active bool) {
		if _, _, err := w.ChangeDestination(t.Context(), c, created.UUID, cola.DestinationChangeParams{Active: cola.Some(active)}); err != nil {
			t.Fatal(err)
		}
	}
	change(false)
	w.mustRun(t, 2, 1)
	if diff := cmp.Diff([]string{"saved_search.ran skipped", "saved_search.ran skipped"}, w.sent(t, c, created.UUID)); diff != "" {
		t.Errorf("deliveries while paused (-want +got):\n%s", diff)
	}
	if _, _, err := w.ReplayDestination(t.Context(), c, created.UUID); code(err) != cola.CodeNotActive {
		t.Errorf("ReplayDestination while paused: error = %v, want not_active", err)
	}
	change(true)
	for _, want := range []int{2, 0} {
		if got, state, err := w.ReplayDestination(t.Context(), c, created.UUID); err != nil || got.Count != want || !state.Known() {
			t.Errorf("ReplayDestination = %+v, %v, want %d", got, err, want)
		}
	}
	if diff := cmp.Diff([]string{"saved_search.ran pending", "saved_search.ran pending"}, w.sent(t, c, created.UUID)); diff != "" {
		t.Errorf("deliveries after the replay (-want +got):\n%s", diff)
	}
}

// TestSecretRotation checks that the previous secret stays valid for a day after rotation and
// earlier ones do not.
func TestSecretRotation(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "secret@example.com", cola.TierPro)
	created := w.mustHook(t, c, hook)
	before := created.Secret.V
	for range 2 {
		got, state, err := w.RotateSecret(t.Context(), c, created.UUID)
		if err != nil || !got.Secret.OK || got.Secret.V == before || !cmp.Equal(got.Destination, created.Destination) || !state.Known() {
			t.Fatalf("RotateSecret = %+v, %v", got, err)
		}
		stored := w.mustStored(t, c, created.UUID)
		if want := (store.Secrets{Current: got.Secret.V, Old: before, OldUntil: testNow.Add(24 * time.Hour)}); stored.Secrets != want {
			t.Errorf("stored secrets = %+v, want %+v", stored.Secrets, want)
		}
		before = got.Secret.V
	}
	if _, _, err := w.RotateSecret(t.Context(), c, w.mustOwn(t, c).UUID); code(err) != cola.CodeValidation {
		t.Errorf("RotateSecret for an email destination: error = %v, want validation_error", err)
	}
}

// TestDeletedDestination checks who may read and change a destination, and that deleting it deletes
// its past and pending deliveries.
func TestDeletedDestination(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "delete@example.com", cola.TierPro), w.mustWriter(t, "other@example.com", cola.TierPro)
	created := w.mustHook(t, c, hook)
	if _, _, err := w.TestDestination(t.Context(), c, created.UUID); err != nil {
		t.Fatal(err)
	}
	reader := w.mustReader(t, c)
	for name, err := range w.everyDestinationCall(t.Context(), other, created.UUID) {
		switch name {
		case "list", "deliveries", "create a webhook", "create an email destination":
		default:
			if code(err) != cola.CodeNotFound {
				t.Errorf("%s by another account: error = %v, want not_found", name, err)
			}
		}
	}
	for name, err := range w.everyDestinationCall(t.Context(), reader, created.UUID) {
		switch name {
		case "list", "read", "deliveries", "delivery":
			if err != nil {
				t.Errorf("%s without the scope: error = %v", name, err)
			}
		default:
			if code(err) != cola.CodeInsufficientScope {
				t.Errorf("%s without the scope: error = %v", name, err)
			}
		}
	}
	if state, err := w.DeleteDestination(t.Context(), c, strings.ToUpper(created.UUID)); err != nil || !state.Known() {
		t.Fatal(err)
	}
	if _, err := w.DeleteDestination(t.Context(), c, created.UUID); code(err) != cola.CodeNotFound {
		t.Errorf("second deletion: error = %v, want not_found", err)
	}
	if list, _, err := w.Deliveries(t.Context(), c, cola.DeliveryListParams{}); err != nil || len(list.Rows) != 0 {
		t.Errorf("Deliveries = %+v, %v, want none", list.Rows, err)
	}
	for _, id := range []string{"", "x", strings.ReplaceAll(created.UUID, "-", ""), created.UUID + "\x00"} {
		if _, _, err := w.Destination(t.Context(), c, id, ""); code(err) != cola.CodeNotFound || !strings.Contains(err.Error(), "UUID") {
			t.Errorf("Destination(%q): error = %v, want not_found", id, err)
		}
	}
}

// TestExchanges checks that the exchanges of a delivery are shown only to its account, and only in
// the dashboard.
func TestExchanges(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "exchange@example.com", cola.TierPro)
	other := w.mustWriter(t, "exchange-other@example.com", cola.TierPro)
	w.mustSave(t, c, alert("oaks"))
	w.mustRun(t, 1, 1)
	list, _, err := w.Deliveries(t.Context(), c, cola.DeliveryListParams{})
	if err != nil || len(list.Rows) == 0 {
		t.Fatalf("Deliveries = %+v, %v", list, err)
	}
	id := fmt.Sprint(list.Rows[0].ID)
	holder := func(account cola.AccountID) cola.Caller { return w.mustSignIn(t, account, "Firefox") }
	for name, tt := range map[string]struct {
		as   cola.Caller
		id   string
		want cola.Code
	}{
		"a key":           {c, id, cola.CodeForbidden},
		"another account": {holder(other.Account), id, cola.CodeNotFound},
		"unknown":         {holder(c.Account), "999999", cola.CodeNotFound},
		"malformed":       {holder(c.Account), "x", cola.CodeNotFound},
	} {
		if got, _, err := w.DeliveryExchanges(t.Context(), tt.as, tt.id); code(err) != tt.want {
			t.Errorf("%s: DeliveryExchanges = %+v, %v, want %s", name, got, err, tt.want)
		}
	}
}
