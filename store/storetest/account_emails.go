package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testAccountEmails(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"changes queue email", changesQueueEmail},
		{"deletion queues email", deletionQueuesEmail},
		{"deletion reminder", remindOfDeletion},
		{"retries and claims", retryAccountEmails},
		{"quota thresholds", quotaThresholds},
		{"concurrent quota email", concurrentQuotaEmails},
		{"copy", func(t *testing.T, st store.Store, c *clock) { copyAccountEmails(t, st, open(t, c.now)) }},
	})
}

// sentEmail is the part of an email that tests check.
type sentEmail struct {
	To    string
	Event store.AccountEvent
	About string
}

// sendAccountEmails claims and settles all email that is due.
func sendAccountEmails(t tb, st store.Store) (sent []sentEmail) {
	t.Helper()
	for {
		claimed, err := st.ClaimAccountEmails(context.Background(), 3, anHour)
		if len(must(t, claimed, err)) == 0 {
			return sent
		}
		for _, e := range claimed {
			sent = append(sent, sentEmail{e.To, e.Event, e.About})
			mustDo(t, st.SettleAccountEmail(context.Background(), e, 0))
		}
	}
}

func changesQueueEmail(t *testing.T, st store.Store, _ *clock) {
	a := mustAccountOf(t, st, testIssuer, "1", "a@example.com") // a new account
	mustAccountOf(t, st, testIssuer, "2", "")                   // has no address
	checkEqual(t, "email about new accounts", []sentEmail(nil), sendAccountEmails(t, st))
	mustAccountOf(t, st, testIssuer+"/other", "1", "a@example.com")
	mustAccountOf(t, st, testIssuer+"/other", "1", "a@example.com")
	mustDo(t, st.AddIdentity(t.Context(), a.ID, identity("3")))
	mustDo(t, st.AddIdentity(t.Context(), a.ID, identity("3"))) // no change
	mustDo(t, st.RemoveIdentity(t.Context(), a.ID, identity("3"), 0))
	app := mustApp(t, st, "app")
	mustConnect(t, st, a.ID, app.ID)
	mustConnect(t, st, a.ID, app.ID, "openid") // new scopes only
	checkEqual(t, "email", []sentEmail{
		{"a@example.com", store.EventIdentityAdded, testIssuer + "/other"},
		{"a@example.com", store.EventIdentityAdded, testIssuer},
		{"a@example.com", store.EventIdentityRemoved, testIssuer},
		{"a@example.com", store.EventAppConnected, app.Name},
	}, sendAccountEmails(t, st))
	checkEqual(t, "email later", []sentEmail(nil), sendAccountEmails(t, st))
}

func deletionQueuesEmail(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	for range 2 { // the second call changes nothing
		mustDo(t, st.RequestDeletion(t.Context(), a.ID, anHour))
	}
	for range 2 {
		mustDo(t, st.CancelDeletion(t.Context(), a.ID))
	}
	mustDo(t, st.RequestDeletion(t.Context(), a.ID, anHour))
	at := epoch.Add(anHour).Format(time.RFC3339)
	checkEqual(t, "email about requests", []sentEmail{
		{"a@example.com", store.EventDeletionRequested, at},
		{"a@example.com", store.EventDeletionCanceled, ""},
		{"a@example.com", store.EventDeletionRequested, at},
	}, sendAccountEmails(t, st))
	c.advance(anHour)
	mustDo(t, st.AddIdentity(t.Context(), a.ID, identity("1")))        // queues email that is never sent
	if _, err := st.DeleteAccountData(t.Context(), a.ID); err != nil { // only the first step
		t.Fatal(err)
	}
	checkEqual(t, "email before the deletion is complete", []sentEmail(nil), sendAccountEmails(t, st))
	mustFinishDeletions(t, st)
	checkEqual(t, "email after the deletion", []sentEmail{{"a@example.com", store.EventDeleted, ""}}, sendAccountEmails(t, st))
}

// remindOfDeletion checks that a reminder is sent once, on time, unless the deletion is canceled.
func remindOfDeletion(t *testing.T, st store.Store, c *clock) {
	a, kept := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "kept@example.com", cola.TierFree)
	for range 2 {
		mustDo(t, st.RequestDeletion(t.Context(), a.ID, store.DeletionDelay))
		mustDo(t, st.RequestDeletion(t.Context(), kept.ID, store.DeletionDelay))
	}
	c.advance(anHour)
	mustDo(t, st.CancelDeletion(t.Context(), kept.ID))
	mustDo(t, st.RequestDeletion(t.Context(), kept.ID, store.DeletionDelay)) // an hour later
	checkEqual(t, "email about requests", 4, len(sendAccountEmails(t, st)))
	remind := func(to string, deletes time.Time) []sentEmail {
		return []sentEmail{{to, store.EventDeletionReminder, deletes.Format(time.RFC3339)}}
	}
	deletes := epoch.Add(store.DeletionDelay)
	for _, step := range []struct {
		at   time.Time
		want []sentEmail
	}{
		{deletes.Add(-store.DeletionReminder - time.Microsecond), nil},
		{deletes.Add(-store.DeletionReminder), remind("a@example.com", deletes)},
		{deletes.Add(anHour - store.DeletionReminder - time.Microsecond), nil},
		{deletes.Add(anHour - store.DeletionReminder), remind("kept@example.com", deletes.Add(anHour))},
		{deletes.Add(-time.Microsecond), nil},
	} {
		c.set(step.at)
		checkEqual(t, "email at "+step.at.String(), step.want, sendAccountEmails(t, st))
	}
	mustDo(t, st.CancelDeletion(t.Context(), kept.ID))
	checkEqual(t, "email about cancellation", 1, len(sendAccountEmails(t, st)))
}

func retryAccountEmails(t *testing.T, st store.Store, c *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	mustDo(t, st.AddIdentity(t.Context(), a.ID, identity("1")))
	claim := func(want int) (e store.AccountEmail) {
		t.Helper()
		claimed, err := st.ClaimAccountEmails(t.Context(), 10, time.Minute)
		if len(must(t, claimed, err)) != want {
			t.Fatalf("ClaimAccountEmails = %+v, want %d", claimed, want)
		}
		if want == 0 {
			return e
		}
		return claimed[0]
	}
	lost := claim(1)
	checkEqual(t, "email", store.AccountEmail{
		ID: lost.ID, Account: a.ID, To: "a@example.com", Event: store.EventIdentityAdded, About: testIssuer, CreatedAt: epoch, Attempts: 1,
	}, lost)
	claim(0)
	c.advance(time.Minute)
	second := claim(1)
	checkEqual(t, "attempts", 2, second.Attempts)
	mustDo(t, st.SettleAccountEmail(t.Context(), lost, 0)) // the claim has expired
	mustDo(t, st.SettleAccountEmail(t.Context(), second, anHour))
	c.advance(anHour - time.Second)
	claim(0)
	c.advance(time.Second)
	third := claim(1)
	mustDo(t, st.SettleAccountEmail(t.Context(), third, 0))
	c.advance(anHour)
	claim(0)
	mustConnect(t, st, a.ID, mustApp(t, st, "app").ID)
	c.advance(store.AccountEmailLifetime)
	claim(0) // too old
}

func mustQueueQuotaEmails(t tb, st store.Store) int {
	t.Helper()
	n, err := st.QueueQuotaEmails(context.Background())
	return must(t, n, err)
}

// useQuota adds usage to an account, ignoring its limits.
func useQuota(t tb, st store.Store, account cola.AccountID, meter cola.Meter, units int) {
	t.Helper()
	settle(t, st, account, charge(account, 0, rest(1, meter, units)))
}

func quotaThresholds(t *testing.T, st store.Store, c *clock) {
	a, b := mustAccount(t, st, "a@example.com", cola.TierFree), mustAccount(t, st, "b@example.com", cola.TierPro)
	optedOut, suspended := mustAccount(t, st, "off@example.com", cola.TierFree), mustAccount(t, st, "stopped@example.com", cola.TierFree)
	named := mustAccountOf(t, st, testIssuer, "1", "")
	limits := cola.TierFree.Limits()
	for _, id := range []cola.AccountID{a.ID, b.ID, optedOut.ID, suspended.ID, named.ID} {
		useQuota(t, st, id, cola.MeterDetailViews, limits.DetailViews*8/10-1)
	}
	mustDo(t, st.SetQuotaEmails(t.Context(), optedOut.ID, false))
	mustDo(t, st.Suspend(t.Context(), suspended.ID, "x"))
	quota := func(meter cola.Meter, percent int) sentEmail {
		return sentEmail{"a@example.com", store.EventQuota, store.QuotaUse{Meter: meter, Percent: percent, Tier: cola.TierFree}.String()}
	}
	expect := func(desc string, want ...sentEmail) {
		t.Helper()
		for range 2 { // the second round finds nothing new
			checkEqual(t, desc+": queued", len(want), mustQueueQuotaEmails(t, st))
			checkEqual(t, desc, want, sendAccountEmails(t, st))
			want = nil
		}
	}
	expect("below 80%")
	for _, id := range []cola.AccountID{a.ID, b.ID, optedOut.ID, suspended.ID, named.ID} {
		useQuota(t, st, id, cola.MeterDetailViews, 1)
	}
	expect("80%", quota(cola.MeterDetailViews, 80))
	useQuota(t, st, a.ID, cola.MeterDetailViews, limits.DetailViews)
	useQuota(t, st, a.ID, cola.MeterListRecords, limits.ListRecords) // both thresholds at once
	expect("100%", quota(cola.MeterDetailViews, 100), quota(cola.MeterListRecords, 100))
	found, err := st.Account(t.Context(), optedOut.ID)
	checkEqual(t, "NoQuotaEmails", true, must(t, found, err).NoQuotaEmails)
	mustDo(t, st.SetQuotaEmails(t.Context(), optedOut.ID, true))
	expect("after turning email on", sentEmail{"off@example.com", store.EventQuota, store.QuotaUse{Meter: cola.MeterDetailViews, Percent: 80, Tier: cola.TierFree}.String()})
	mustDo(t, st.SetTier(t.Context(), a.ID, cola.TierStarter))
	useQuota(t, st, a.ID, cola.MeterDetailViews, cola.TierStarter.Limits().DetailViews*8/10-limits.DetailViews)
	onStarter := quota(cola.MeterDetailViews, 80)
	onStarter.About = store.QuotaUse{Meter: cola.MeterDetailViews, Percent: 80, Tier: cola.TierStarter}.String()
	expect("larger plan", onStarter)
	mustDo(t, st.SetTier(t.Context(), a.ID, cola.TierFree))
	expect("back on the smaller plan")
	c.advance(15 * 24 * time.Hour) // the next month
	useQuota(t, st, a.ID, cola.MeterDetailViews, limits.DetailViews*8/10)
	expect("next month", quota(cola.MeterDetailViews, 80))
	if err := st.SetQuotaEmails(t.Context(), named.ID+100, true); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("SetQuotaEmails(unknown account) error = %v, want ErrNotFound", err)
	}
	use, err := store.ParseQuotaUse(quota(cola.MeterListRecords, 80).About)
	checkEqual(t, "ParseQuotaUse", store.QuotaUse{Meter: cola.MeterListRecords, Percent: 80, Tier: cola.TierFree}, must(t, use, err))
	use, err = store.ParseQuotaUse("list_records 80") // queued by an earlier version
	checkEqual(t, "ParseQuotaUse", store.QuotaUse{Meter: cola.MeterListRecords, Percent: 80}, must(t, use, err))
}

// concurrentQuotaEmails checks that several callers queue and claim each email only once.
func concurrentQuotaEmails(t *testing.T, st store.Store, _ *clock) {
	const accounts = 20
	for i := range accounts {
		a := mustAccount(t, st, string(rune('a'+i))+"@example.com", cola.TierFree)
		useQuota(t, st, a.ID, cola.MeterListRecords, cola.TierFree.Limits().ListRecords)
	}
	var queued, sent atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			queued.Add(int64(mustQueueQuotaEmails(t, st)))
			sent.Add(int64(len(sendAccountEmails(t, st))))
		})
	}
	wg.Wait()
	sent.Add(int64(len(sendAccountEmails(t, st))))
	if queued.Load() != accounts || sent.Load() != accounts {
		t.Errorf("queued %d, sent %d, want %d each", queued.Load(), sent.Load(), accounts)
	}
}

// childEmail queues and sends emails, and prints the running total after each claim.
func childEmail(ctx context.Context, st store.Store, out io.Writer) error {
	for n := 0; ; {
		if _, err := st.QueueQuotaEmails(ctx); err != nil {
			return err
		}
		claimed, err := st.ClaimAccountEmails(ctx, 3, anHour)
		if err != nil || len(claimed) == 0 {
			return err
		}
		for _, e := range claimed {
			if err := st.SettleAccountEmail(ctx, e, 0); err != nil {
				return err
			}
		}
		n += len(claimed)
		fmt.Fprintf(out, "sent %d\n", n)
	}
}

// emailAcrossProcesses checks that several processes queue and send each email once.
func emailAcrossProcesses(t *testing.T, b Backend) {
	dsn := b.New(t)
	db := b.mustOpen(t, dsn)
	const accounts = 25
	for i := range accounts {
		a := mustAccount(t, db, string(rune('a'+i))+"@example.com", cola.TierFree)
		useQuota(t, db, a.ID, cola.MeterListRecords, cola.TierFree.Limits().ListRecords)
	}
	sent := 0
	for _, p := range []*Process{start(t, "email", dsn), start(t, "email", dsn)} {
		sent += p.lastNumber(t, "sent %d")
		p.wait(t)
	}
	sent += len(sendAccountEmails(t, db)) // any that are still queued
	checkEqual(t, "sent", accounts, sent)
}

// copyAccountEmails checks that a copied store sends pending email, but doesn't resend any that was
// already sent.
func copyAccountEmails(t *testing.T, st, to store.Store) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	useQuota(t, st, a.ID, cola.MeterListRecords, cola.TierFree.Limits().ListRecords)
	mustQueueQuotaEmails(t, st)
	sendAccountEmails(t, st)
	mustDo(t, st.AddIdentity(t.Context(), a.ID, identity("1")))
	mustDo(t, to.Fill(t.Context(), store.Items(t.Context(), st)))
	checkEqual(t, "queued in the copy", 0, mustQueueQuotaEmails(t, to))
	checkEqual(t, "sent by the copy", []sentEmail{{"a@example.com", store.EventIdentityAdded, testIssuer}}, sendAccountEmails(t, to))
}
