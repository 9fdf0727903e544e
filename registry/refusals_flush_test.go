package registry_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// refused writes all pending refusals and returns the account holder's view of them, sorted.
func (w *world) refused(t *testing.T, holder cola.Caller) []string {
	t.Helper()
	w.Close()
	r := w.mustReport(t, holder, registry.Last7Days)
	got := []string{}
	for _, n := range r.Refusals {
		got = append(got, fmt.Sprintf("%s %s %q: %d %s", n.Channel, n.Credential.Kind, n.Name, n.Count, n.Reason))
	}
	slices.Sort(got)
	return got
}

// TestRejectedRequests checks that account holders see each rejected request once, with its reason,
// by key and app. Refusals reported elsewhere and requests that failed for other reasons are
// excluded.
func TestRejectedRequests(t *testing.T) {
	w := mustWorld(t, 300)
	holder, stranger := w.mustHolder(t, "told@example.com", cola.TierFree), w.mustHolder(t, "stranger@example.com", cola.TierFree)
	ci, old := w.mustCreateKey(t, holder, registry.KeyParams{Name: "CI"}), w.mustCreateKey(t, holder, registry.KeyParams{Name: "old"})
	key := keyCaller(holder.Account, ci.ID)
	_, app := w.mustConnect(t, holder.Account, "Assistant")
	app.Scopes = nil
	ended := w.mustSignIn(t, holder.Account, "Lynx")

	for range 2 { // the app lacks the write scope
		if _, _, err := w.CreateSavedSearch(t.Context(), app, alert("n")); code(err) != cola.CodeInsufficientScope {
			t.Fatal(err)
		}
	}
	if _, err := w.RevokeKey(t.Context(), holder, old.ID); err != nil {
		t.Fatal(err)
	}
	w.Admit(t.Context(), keyCaller(holder.Account, old.ID))
	w.Standing(t.Context(), keyCaller(holder.Account, old.ID))
	w.Cola(t.Context(), key, "nothing", "")
	w.SearchColas(t.Context(), key, cola.SearchParams{PerPage: cola.Some(10_000)})

	if _, err := w.EndSignIn(t.Context(), ended, ended.Credential.ID); err != nil {
		t.Fatal(err)
	}
	w.SearchColas(t.Context(), ended, cola.SearchParams{}) // reported on the page instead
	if err := w.store.Suspend(t.Context(), holder.Account, "Bills"); err != nil {
		t.Fatal(err)
	}
	w.Usage(t.Context(), key)
	w.Usage(t.Context(), holder)
	if err := w.store.Restore(t.Context(), holder.Account); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // a rejection is cached
	w.advance(time.Hour)
	for range 10 + 3 { // exhausts the rate limit of ten
		w.Admit(t.Context(), key)
	}
	for range 2 { // rejected before processing
		w.SearchColas(t.Context(), key, cola.SearchParams{})
	}
	w.SearchColas(t.Context(), holder, cola.SearchParams{}) // the dashboard is exempt
	tryIt := holder
	tryIt.Channel = cola.ChannelREST
	w.SearchColas(t.Context(), tryIt, cola.SearchParams{})
	want := []string{
		`mcp link "Assistant": 2 insufficient_scope`,
		`rest key "CI": 1 account_suspended`, `rest key "CI": 5 burst`, `rest key "old": 2 credential_ended`,
		`rest sign_in "": 1 burst`,
	}
	if diff := cmp.Diff(want, w.refused(t, holder)); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{}, w.refused(t, stranger)); diff != "" {
		t.Errorf("refusals for another account (-want +got):\n%s", diff)
	}
	recorded, dropped := w.measured(t, "refusals_recorded_total")[""], w.measured(t, "refusals_dropped_total")[""]
	if recorded != 11 || dropped != 0 {
		t.Errorf("recorded = %v, dropped = %v, want 11, 0", recorded, dropped)
	}
}

// TestExhaustedQuota checks that exhausting each of the two quotas is reported with its own reason.
func TestExhaustedQuota(t *testing.T) {
	w := mustWorld(t, 300)
	holder := w.mustHolder(t, "usedup@example.com", cola.TierPro)
	key := keyCaller(holder.Account, w.mustCreateKey(t, holder, registry.KeyParams{Name: "CI"}).ID)
	labels := w.newest(t, key, cola.SearchParams{PerPage: cola.Some(100), ApprovalDateFrom: cola.NewDate(2005, 1, 1)})
	for n := range cola.TierFree.Limits().ListRecords / 100 {
		w.newest(t, key, cola.SearchParams{PerPage: cola.Some(100), ApprovalDateFrom: cola.NewDate(2005, 1, 1)})
		for range 2 {
			if _, _, err := w.Cola(t.Context(), key, labels[n].TTBID.String(), ""); err != nil {
				t.Fatal(err)
			}
		}
		w.advance(time.Minute)
	}
	if err := w.store.SetTier(t.Context(), holder.Account, cola.TierFree); err != nil {
		t.Fatal(err)
	}
	w.advance(30*time.Second - time.Duration(w.now().Second())*time.Second) // all refusals fall in one minute
	for range 3 {
		w.SearchColas(t.Context(), key, cola.SearchParams{})
		w.Cola(t.Context(), holder, labels[0].TTBID.String(), "")
	}
	want := []string{`dashboard sign_in "": 3 detail_views`, `rest key "CI": 3 list_records`}
	if diff := cmp.Diff(want, w.refused(t, holder)); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}

// TestLatestRejections checks that the report lists at most 50 refusals, the latest ones, with
// their times.
func TestLatestRejections(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "latest@example.com", cola.TierFree)
	key := w.mustCreateKey(t, holder, registry.KeyParams{Name: "CI"})
	if _, err := w.RevokeKey(t.Context(), holder, key.ID); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		w.advance(time.Minute)
		w.Admit(t.Context(), keyCaller(holder.Account, key.ID))
	}
	w.Close()
	got := w.mustReport(t, holder, registry.Last7Days).Refusals
	if len(got) != 50 || !got[0].LastAt.Equal(w.now()) || !got[49].LastAt.Equal(w.now().Add(-49*time.Minute)) {
		t.Errorf("%d refusals, first at %v, want 50, the first at the current time", len(got), got[0].LastAt)
	}
}

// TestRejectionsWithoutAccount checks that refusals for an unknown account are dropped and do not
// block those for other accounts.
func TestRejectionsWithoutAccount(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "somebody@example.com", cola.TierFree)
	key := w.mustCreateKey(t, holder, registry.KeyParams{Name: "CI"})
	if err := w.store.Suspend(t.Context(), holder.Account, "Bills"); err != nil {
		t.Fatal(err)
	}
	w.Admit(t.Context(), keyCaller(holder.Account+100, key.ID))
	w.Admit(t.Context(), keyCaller(holder.Account, key.ID))
	w.Close()
	got, err := w.store.Refusals(t.Context(), holder.Account, 10)
	want := []store.Refusal{{
		Minute: testNow, Channel: cola.ChannelREST, Credential: cola.Credential{Kind: cola.CredentialKey, ID: key.ID},
		Reason: registry.RefusedSuspended, Count: 1, LastAt: testNow,
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("refusals: %v (-want +got):\n%s", err, diff)
	}
}
