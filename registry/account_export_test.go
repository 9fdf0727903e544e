package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// manyDeliveries is a store that has many deliveries for an account. If failAfter is set, reading a
// page that follows this ID or a later one fails.
type manyDeliveries struct {
	registry.ExportStore
	count, failAfter int64
	read             func(after int64)
}

func (m manyDeliveries) DeliveriesAfter(
	_ context.Context, _ cola.AccountID, after int64, limit int,
) (page []store.DeliveryRecord, err error) {
	m.read(after)
	if m.failAfter > 0 && after >= m.failAfter {
		return nil, store.ErrUnavailable
	}
	for id := after + 1; id <= m.count && len(page) < limit; id++ {
		page = append(page, store.DeliveryRecord{
			Delivery: cola.Delivery{ID: id, MessageID: fmt.Sprintf("msg_%032d", id)},
			Attempts: []store.AttemptRecord{{
				DeliveryAttempt: cola.DeliveryAttempt{Error: cola.Some("The receiver responded with status 503.")},
			}},
		})
	}
	return page, nil
}

// parsedExport is the part of an export that tests check.
type parsedExport struct {
	Account struct {
		Email *string `json:"email"`
		Tier  string  `json:"tier"`

		QuotaEmails *bool `json:"quota_emails"`
	} `json:"account"`
	Subscription  map[string]any   `json:"subscription"`
	Identities    []map[string]any `json:"identities"`
	Sessions      []map[string]any `json:"sessions"`
	Keys          []map[string]any `json:"keys"`
	Apps          []map[string]any `json:"apps"`
	SavedSearches []map[string]any `json:"saved_searches"`
	Destinations  []map[string]any `json:"destinations"`
	Usage         []struct {
		Day      string `json:"day"`
		Units    int    `json:"units"`
		Requests int    `json:"requests"`
	} `json:"usage_by_day"`
	Deliveries []struct {
		ID       int64            `json:"id"`
		Kind     string           `json:"kind"`
		Attempts []map[string]any `json:"attempts"`
	} `json:"deliveries"`
	Runs []struct {
		Search string `json:"saved_search"`
		ID     int64  `json:"id"`
	} `json:"runs"`
	Requests []map[string]any `json:"requests"`
	Rejected []map[string]any `json:"rejected_requests"`
	Complete bool             `json:"complete"`
}

// TestExportAccount checks that an export contains the records of one account only and no key
// secrets, and that it requires a session.
func TestExportAccount(t *testing.T) {
	w := mustWorld(t, 1)
	ann, bob := w.mustHolder(t, "ann@example.com", cola.TierPro), w.mustHolder(t, "bob@example.com", cola.TierFree)
	if err := w.store.AddIdentity(t.Context(), ann.Account, store.Identity{Issuer: "https://issuer.example", Subject: "ann"}); err != nil {
		t.Fatal(err)
	}
	sub, err := w.store.AddCustomer(t.Context(), ann.Account, "cus_ann")
	if err != nil {
		t.Fatal(err)
	}
	sub.SubscriptionState = store.SubscriptionState{ID: "sub_ann", Status: "active", Tier: cola.TierPro, Granted: cola.TierPro}
	if err := w.store.SaveSubscription(t.Context(), sub, ""); err != nil {
		t.Fatal(err)
	}
	w.mustConnect(t, ann.Account, "assistant")
	key, _, err := w.CreateKey(t.Context(), ann, registry.KeyParams{Name: "laptop <b>"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.SearchColas(t.Context(), keyCaller(ann.Account, key.ID), cola.SearchParams{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []cola.Caller{ann, bob} {
		for i := range 1 + int(c.Account-ann.Account) { // bob has two
			if _, _, err := w.CreateSavedSearch(t.Context(), c, cola.SavedSearchParams{Name: fmt.Sprint("Search ", i), Filters: &cola.SavedSearchFilters{}}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := w.CreateDestination(t.Context(), c, webhookTo(fmt.Sprintf("https://hooks.example/%d", i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := w.SetQuotaEmails(t.Context(), ann, false); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := w.ExportAccount(t.Context(), ann, &text); err != nil {
		t.Fatal(err)
	}
	var got parsedExport
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatalf("%v:\n%s", err, &text)
	}
	for name, n := range map[string]int{
		"identities": len(got.Identities), "sessions": len(got.Sessions), "keys": len(got.Keys), "apps": len(got.Apps),
		"days of usage": len(got.Usage), "saved searches": len(got.SavedSearches), "destinations besides her own address": len(got.Destinations) - 1,
	} {
		if n != 1 {
			t.Errorf("%d %s, want 1", n, name)
		}
	}
	if !got.Complete || got.Account.Email == nil || *got.Account.Email != "ann@example.com" || got.Keys[0]["name"] != "laptop <b>" {
		t.Errorf("export:\n%s", &text)
	}
	if got.Account.QuotaEmails == nil || *got.Account.QuotaEmails {
		t.Error("export lacks the quota email setting")
	}
	if got.Subscription["subscription_id"] != "sub_ann" || got.Subscription["ends_at"] != nil {
		t.Errorf("exported subscription %v", got.Subscription)
	}
	if bytes.Contains(text.Bytes(), []byte(key.Secret)) || bytes.Contains(text.Bytes(), []byte("bob@")) {
		t.Errorf("export contains a key or another account:\n%s", &text)
	}
	text.Reset()
	if _, err := w.ExportAccount(t.Context(), bob, &text); err != nil || !json.Valid(text.Bytes()) {
		t.Errorf("export of the other account: %v\n%s", err, &text)
	}
	_, err = w.ExportAccount(t.Context(), keyCaller(ann.Account, key.ID), &text)
	if cola.CodeOf(err) != cola.CodeForbidden {
		t.Errorf("with a key: error %v, want %s", err, cola.CodeForbidden)
	}
}

// TestExportedRuns checks that an export has every run, rejected request and logged request of the
// account, even if the logged requests fill several pages, but not the labels that its searches
// found.
func TestExportedRuns(t *testing.T) {
	w := mustWorld(t, 1)
	ann, bob := w.mustHolder(t, "ann@example.com", cola.TierPro), w.mustHolder(t, "bob@example.com", cola.TierPro)
	saved := map[string]bool{}
	for _, c := range []cola.Caller{ann, bob} {
		for i := range 2 {
			saved[w.mustSave(t, c, alert(fmt.Sprint("Search ", i))).Search.UUID] = c.Account == ann.Account
		}
	}
	due, err := w.store.ClaimDue(t.Context(), w.now().AddDate(0, 0, 7), 10, time.Hour)
	if err != nil || len(due) != 4 {
		t.Fatalf("%d searches are due, %v", len(due), err)
	}
	const matches = 1_100 // per search
	var runs []store.RunRecord
	for _, d := range due {
		r := store.RunRecord{Due: d, Mark: d.Mark, From: cola.DateOf(w.now()), To: cola.DateOf(w.now())}
		for i := range matches {
			r.Matches = append(r.Matches, store.RunMatch{TTBID: cola.TTBID(24_001_001_000_001 + i)})
		}
		runs = append(runs, r)
	}
	if _, err := w.store.RecordRuns(t.Context(), runs); err != nil {
		t.Fatal(err)
	}
	for _, c := range []cola.Caller{ann, bob} {
		requests := make([]store.RecordedRequest, 1_001)
		for i := range requests {
			requests[i] = store.RecordedRequest{Account: c.Account, ExpiresAt: w.now().AddDate(0, 0, 7), LoggedRequest: cola.LoggedRequest{
				At: w.now().Add(time.Duration(i/10) * time.Second), RequestID: fmt.Sprint(c.Account, "-", i), Status: 404, Code: cola.CodeNotFound,
				Channel: cola.ChannelREST, Credential: cola.Credential{Kind: cola.CredentialKey, ID: 1}, Answer: `{"error":{}}`,
			}}
		}
		refusal := store.AccountRefusal{Account: c.Account, Refusal: store.Refusal{Minute: w.now().Truncate(time.Minute), Reason: "burst", Count: 1, LastAt: w.now()}}
		err := errors.Join(w.store.RecordRequests(t.Context(), requests, nil), w.store.RecordRefusals(t.Context(), []store.AccountRefusal{refusal}))
		if err != nil {
			t.Fatal(err)
		}
	}
	var text bytes.Buffer
	if err := registry.ExportAccount(t.Context(), &text, w.store, ann.Account, w.now()); err != nil {
		t.Fatal(err)
	}
	var got parsedExport
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	requests := map[any]bool{}
	for _, r := range got.Requests {
		requests[r["request_id"]] = r["code"] == "not_found" && r["response"] != nil
	}
	if len(got.Runs) != 2 || !saved[got.Runs[0].Search] || bytes.Contains(text.Bytes(), []byte("24001001000001")) {
		t.Errorf("runs = %+v, want two of the account's searches, and no labels that they found", got.Runs)
	}
	if len(got.Requests) != 1_001 || len(requests) != 1_001 || !requests[fmt.Sprint(ann.Account, "-", 0)] || len(got.Rejected) != 1 {
		t.Errorf("%d requests, %d distinct, %d rejected; want 1001, 1001 and 1", len(got.Requests), len(requests), len(got.Rejected))
	}
}

// TestExportedAttempts checks that an export has the response to each attempt, but not the message,
// which contains labels.
func TestExportedAttempts(t *testing.T) {
	w := mustWorld(t, 1)
	ann := w.mustWriter(t, "ann@example.com", cola.TierPro)
	w.mustSave(t, ann, alert("oaks"))
	w.mustHook(t, ann, hook)
	w.mustRun(t, 2)
	w.advance(7 * 24 * time.Hour)
	w.mustAttempt(t, w.now(), store.Attempt{Status: 503, Error: "No.", State: cola.DeliveryFailed, Exchange: store.Exchange{
		Subject: "2 new labels", Sent: `{"ttb_id":"24001001000001"}`, Headers: "Server: <x>\nRetry-After: 5", Response: "Busy.",
	}})
	var text bytes.Buffer
	if err := registry.ExportAccount(t.Context(), &text, w.store, ann.Account, w.now()); err != nil {
		t.Fatal(err)
	}
	var got parsedExport
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	attempts := map[string][]map[string]any{}
	for _, d := range got.Deliveries {
		attempts[d.Kind] = d.Attempts
	}
	want := map[string][]map[string]any{
		cola.KindEmail: {}, // no attempts
		cola.KindWebhook: {{
			"at": w.now().UTC().Format("2006-01-02T15:04:05Z"), "duration_ms": 184.0, "status": 503.0, "error": "No.",
			"subject": "2 new labels", "response_headers": "Server: <x>\nRetry-After: 5", "response": "Busy.",
		}},
	}
	if diff := cmp.Diff(want, attempts); diff != "" || bytes.Contains(text.Bytes(), []byte("24001001000001")) {
		t.Errorf("attempts (-want +got):\n%s\nexport:\n%s", diff, &text)
	}
}

// manySearches is a store in which every account has count saved searches.
type manySearches struct {
	registry.ExportStore
	count int
}

func (m manySearches) SavedSearches(_ context.Context, _ cola.AccountID, offset, limit int) (page []cola.SavedSearch, total int, err error) {
	for i := offset; i < min(offset+limit, m.count); i++ {
		page = append(page, cola.SavedSearch{UUID: fmt.Sprint(i)})
	}
	return page, m.count, nil
}

// TestExportedPages checks that an export has each record of a multi-page list exactly once.
func TestExportedPages(t *testing.T) {
	w := mustWorld(t, 1)
	ann := w.mustHolder(t, "ann@example.com", cola.TierPro)
	var text bytes.Buffer
	if err := registry.ExportAccount(t.Context(), &text, manySearches{w.store, 1_201}, ann.Account, time.Now()); err != nil {
		t.Fatal(err)
	}
	var got parsedExport
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for i, s := range got.SavedSearches {
		if s["uuid"] != fmt.Sprint(i) {
			t.Fatalf("saved search %d is %v", i, s["uuid"])
		}
	}
	if n := len(got.SavedSearches); n != 1_201 {
		t.Errorf("%d saved searches, want 1201", n)
	}
}

// TestExportIsStreamed checks that an export of 20,000 deliveries is sent as it is read, and that
// a failed export is not valid JSON.
func TestExportIsStreamed(t *testing.T) {
	const deliveries = 20_000
	w := mustWorld(t, 1)
	ann := w.mustHolder(t, "ann@example.com", cola.TierPro)
	var text bytes.Buffer
	var unsent int
	st := manyDeliveries{ExportStore: w.store, count: deliveries}
	st.read = func(after int64) { unsent = max(unsent, int(after)-bytes.Count(text.Bytes(), []byte(`"message_id"`))) }
	if err := registry.ExportAccount(t.Context(), &text, st, ann.Account, time.Now()); err != nil {
		t.Fatal(err)
	}
	var got parsedExport
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if n := len(got.Deliveries); n != deliveries || got.Deliveries[n-1].ID != deliveries || len(got.Deliveries[n-1].Attempts) != 1 {
		t.Errorf("%d deliveries", n)
	}
	if unsent > 1_000 {
		t.Errorf("up to %d deliveries were read but not yet sent", unsent)
	}
	text.Reset()
	st.failAfter, st.read = 2_000, func(int64) {}
	err := registry.ExportAccount(t.Context(), &text, st, ann.Account, time.Now())
	if !errors.Is(err, store.ErrUnavailable) || json.Valid(text.Bytes()) || bytes.Contains(text.Bytes(), []byte("complete")) {
		t.Errorf("interrupted export: error %v, %d bytes", err, text.Len())
	}
}
