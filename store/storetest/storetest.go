// Package storetest is the conformance suite for backends of package store. Every backend must pass
// Run and also RunProcesses, which tests several processes on one database.
package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// Opener returns an empty store whose clock is the function now. It closes the store when the test
// ends. The store may call now from any goroutine.
type Opener func(t *testing.T, now func() time.Time) store.Store

// Run tests a backend against the contract, each test on its own store.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) store.Store) {
	for _, role := range []struct {
		name  string
		tests func(t *testing.T, open Opener)
	}{
		{"Store", testStore},
		{"Colas", testColas},
		{"Images", testImages},
		{"Resubmissions", testResubmissions},
		{"ColaMerge", testColaMerge},
		{"ColasMissing", testColasMissing},
		{"Permittees", testPermittees},
		{"References", testReferences},
		{"ProductionReports", testProductionReports},
		{"Imports", testImports},
		{"ImageFiles", testImageFiles},
		{"FetchClaims", testFetchClaims},
		{"FetchWindows", testFetchWindows},
		{"FetchParts", testFetchParts},
		{"FetchLabels", testFetchLabels},
		{"FetchSite", testFetchSite},
		{"ReferenceFetches", testReferenceFetches},
		{"Enrichments", testEnrichments},
		{"Changes", testChanges},
		{"Revisions", testRevisions},
		{"Accounts", testAccounts},
		{"Subscriptions", testSubscriptions},
		{"Keys", testKeys},
		{"KeyReplacement", testKeyReplacement},
		{"KeyAccess", testKeyAccess},
		{"Identities", testIdentities},
		{"LinkedIdentities", testLinkedIdentities},
		{"Apps", testApps},
		{"Links", testLinks},
		{"SignIns", testSignIns},
		{"SignInLinks", testSignInLinks},
		{"EmailedLinks", testEmailedLinks},
		{"Sessions", testSessions},
		{"KnownSecrets", testKnownSecrets},
		{"Refusals", testRefusals},
		{"RequestLog", testRequestLog},
		{"SavedSearches", testSavedSearches},
		{"SavedSearchChanges", testSavedSearchChanges},
		{"Suspension", testSuspension},
		{"AccountDeletion", testAccountDeletion},
		{"AccountEmails", testAccountEmails},
		{"Destinations", testDestinations},
		{"Confirmations", testConfirmations},
		{"Endpoints", testEndpoints},
		{"SealedSecrets", testSealedSecrets},
		{"Arrivals", testArrivals},
		{"Estimates", testEstimates},
		{"Runs", testRuns},
		{"RunNotifications", testRunNotifications},
		{"ClaimedDeliveries", testClaimedDeliveries},
		{"Attempts", testAttempts},
		{"Deliveries", testDeliveries},
		{"Feeds", testFeeds},
		{"RunRequests", testRunRequests},
		{"Allowances", testAllowances},
		{"Ledger", testLedger},
		{"Batches", testBatches},
		{"PaidPages", testPaidPages},
		{"BurstWindow", testBurstWindow},
		{"Usage", testUsage},
		{"Copy", testCopy},
	} {
		t.Run(role.name, func(t *testing.T) { role.tests(t, open) })
	}
}

// check is one test on an empty store.
type check struct {
	name string
	run  func(t *testing.T, st store.Store, c *clock)
}

func runChecks(t *testing.T, open Opener, checks []check) {
	t.Helper()
	for _, k := range checks {
		t.Run(k.name, func(t *testing.T) {
			c := &clock{at: epoch}
			k.run(t, open(t, c.now), c)
		})
	}
}

// epoch is the start of test clocks. It is not on a whole second, and is in the middle of a day and
// a month.
var epoch = time.Date(2026, time.November, 20, 13, 14, 15, 123456000, time.UTC)

// clock is a settable clock.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
}

func (c *clock) advance(d time.Duration) { c.set(c.now().Add(d)) }

func testStore(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"ping and unique ID", func(t *testing.T, st store.Store, c *clock) {
			if err := st.Ping(t.Context()); err != nil {
				t.Errorf("Ping: %v", err)
			}
			if st.ID() == "" || st.ID() == open(t, c.now).ID() {
				t.Errorf("ID() = %q, want a unique ID per store", st.ID())
			}
		}},
		{"closed", func(t *testing.T, st store.Store, _ *clock) {
			for range 2 {
				if err := st.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
			for name, err := range afterClose(t.Context(), st) {
				if !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("%s after Close: error = %v, want ErrUnavailable", name, err)
				}
			}
		}},
	})
}

// afterClose calls methods of most roles on a closed store and returns the errors.
func afterClose(ctx context.Context, st store.Store) map[string]error {
	errs := map[string]error{"Ping": st.Ping(ctx)}
	_, errs["UpsertColas"] = st.UpsertColas(ctx, []cola.Patch[cola.Cola]{patchOf(label(1))}, store.Commit)
	_, errs["Cola"] = st.Cola(ctx, 1)
	_, errs["MainImages"] = st.MainImages(ctx, []cola.TTBID{1})
	_, errs["Resubmissions"] = st.Resubmissions(ctx, 1)
	_, errs["UpsertPermittees"] = st.UpsertPermittees(ctx,
		[]cola.Patch[cola.Permittee]{permitteePatch(cola.Permittee{PermitNumber: "CA-I-1"})}, store.Commit)
	_, errs["UpsertCategoryAliases"] = st.UpsertCategoryAliases(ctx,
		[]vocabulary.CategoryAlias{{Alias: "a", Path: "b"}}, store.Commit)
	_, errs["AllReferences"] = st.AllReferences(ctx)
	errs["RecordImport"] = st.RecordImport(ctx, newImport("colas", 1))
	_, errs["LastImports"] = st.LastImports(ctx)
	errs["SaveImageFile"] = st.SaveImageFile(ctx, newImageFile("1", 1))
	_, errs["ImageFile"] = st.ImageFile(ctx, "1")
	errs["FetchedImages"] = st.FetchedImages(ctx, func(store.FetchedImage) error { return nil })
	_, errs["HasDrawnImages"] = st.HasDrawnImages(ctx)
	_, errs["Revision"] = st.Revision(ctx)
	_, errs["HasRevision"] = st.HasRevision(ctx, 0)
	_, errs["ColasSince"] = st.ColasSince(ctx, 0, func(*cola.IndexRecord) error { return nil })
	_, errs["CreateAccount"] = st.CreateAccount(ctx, "a@example.com", cola.TierFree)
	_, errs["Account"] = st.Account(ctx, 1)
	_, errs["Keys"] = st.Keys(ctx, 0)
	_, errs["ReplaceKey"] = st.ReplaceKey(ctx, 1, 1, store.Key{}, keyHash(1), epoch, 0)
	_, errs["AccountOf"] = st.AccountOf(ctx, store.Identity{Issuer: testIssuer, Subject: "1"}, "")
	errs["AddIdentity"] = st.AddIdentity(ctx, 1, store.Identity{Issuer: testIssuer, Subject: "1"})
	_, errs["IdentitiesOf"] = st.IdentitiesOf(ctx, 0)
	_, errs["RegisterApp"] = st.RegisterApp(ctx, store.App{Issuer: testIssuer, ClientID: "app"})
	_, errs["EnsureApp"] = st.EnsureApp(ctx, store.App{Issuer: testIssuer, ClientID: "app"})
	_, errs["Apps"] = st.Apps(ctx)
	errs["DisableApp"] = st.DisableApp(ctx, 1)
	_, errs["Connect"] = st.Connect(ctx, 1, 1, nil)
	_, errs["Links"] = st.Links(ctx, 0)
	errs["RevokeLink"] = st.RevokeLink(ctx, 0, 1)
	afterCloseFetches(ctx, st, errs)
	afterCloseEnrichments(ctx, st, errs)
	afterCloseSearches(ctx, st, errs)
	afterCloseSignIns(ctx, st, errs)
	errs["Settle"] = st.Settle(ctx, store.Batch{}, func(time.Time, []store.AccountState) []store.Entry { return nil })
	_, errs["AccountUsage"] = st.AccountUsage(ctx, 1)
	_, errs["MonthlyUsage"] = st.MonthlyUsage(ctx, 1, 0, 0)
	return errs
}

// afterCloseFetches calls the methods for collectors.
func afterCloseFetches(ctx context.Context, st store.Store, errs map[string]error) {
	_, errs["PlanWindows"] = st.PlanWindows(ctx, fetchDay, fetchDay, epoch, false)
	_, errs["CountWindows"] = st.CountWindows(ctx, fetchDay, fetchDay, epoch)
	_, errs["ClaimWindow"] = st.ClaimWindow(ctx, fetchDay, fetchDay, anHour)
	errs["SplitWindow"] = st.SplitWindow(ctx, store.FetchWindow{}, 1, testParts)
	errs["CompleteWindow"] = st.CompleteWindow(ctx, store.FetchWindow{}, 1)
	errs["FailWindow"] = st.FailWindow(ctx, store.FetchWindow{}, "x", 0)
	errs["ReleaseWindow"] = st.ReleaseWindow(ctx, store.FetchWindow{})
	errs["ExtendWindow"] = st.ExtendWindow(ctx, store.FetchWindow{}, anHour)
	errs["QueueLabels"] = st.QueueLabels(ctx, []store.FetchLabel{queued(1, fetchDay)})
	_, errs["ClaimLabel"] = st.ClaimLabel(ctx, false, anHour)
	errs["PostponeImages"] = st.PostponeImages(ctx, store.FetchLabel{}, time.Hour)
	errs["FinishLabel"] = st.FinishLabel(ctx, store.FetchLabel{})
	errs["FailLabel"] = st.FailLabel(ctx, store.FetchLabel{}, "x", 0)
	errs["ReleaseLabel"] = st.ReleaseLabel(ctx, store.FetchLabel{})
	errs["ExtendLabel"] = st.ExtendLabel(ctx, store.FetchLabel{}, anHour)
	_, errs["ReserveRequest"] = st.ReserveRequest(ctx, time.Second)
	errs["PauseRequests"] = st.PauseRequests(ctx, time.Second)
	errs["BlockSite"] = st.BlockSite(ctx, "x")
	errs["UnblockSite"] = st.UnblockSite(ctx)
	_, errs["FetchStatus"] = st.FetchStatus(ctx)
}

// afterCloseEnrichments calls the methods for enrichments.
func afterCloseEnrichments(ctx context.Context, st store.Store, errs map[string]error) {
	errs["LabelsToEnrich"] = st.LabelsToEnrich(ctx, "m", func(cola.TTBID) error { return nil })
	_, errs["ClaimEnrichment"] = st.ClaimEnrichment(ctx, 1, anHour)
	errs["SaveEnrichment"] = st.SaveEnrichment(ctx, store.Enrichment{})
	errs["ReleaseEnrichment"] = st.ReleaseEnrichment(ctx, store.Enrichment{})
	errs["ReserveEnrichment"] = st.ReserveEnrichment(ctx, store.EnrichmentLimit{Requests: 1})
	errs["CountEnrichmentTokens"] = st.CountEnrichmentTokens(ctx, 1)
}

// afterCloseSignIns calls the methods for sign-ins, sign-in links, sessions, refusals and
// request logs.
func afterCloseSignIns(ctx context.Context, st store.Store, errs map[string]error) {
	_, errs["CreateSignIn"] = st.CreateSignIn(ctx, store.SignIn{Account: 1, ExpiresAt: epoch})
	_, errs["SignIns"] = st.SignIns(ctx, 1)
	errs["EndSignIn"] = st.EndSignIn(ctx, 1, 1)
	_, errs["EndOtherSignIns"] = st.EndOtherSignIns(ctx, 1, 1)
	errs["CreateSignInLink"] = st.CreateSignInLink(ctx, 1, linkHash(1), anHour)
	_, errs["CreateEmailedLink"] = st.CreateEmailedLink(ctx, emailedLink("a@example.com", 1), true, lenient)
	errs["DeleteOldEmailedLinks"] = st.DeleteOldEmailedLinks(ctx)
	_, errs["SignInLink"] = st.SignInLink(ctx, linkHash(1))
	_, errs["UseSignInLink"] = st.UseSignInLink(ctx, linkHash(1), false)
	_, errs["Session"] = st.Session(ctx, "a")
	errs["SaveSession"] = st.SaveSession(ctx, "a", nil, epoch)
	_, errs["DeleteSession"] = st.DeleteSession(ctx, "a")
	errs["RecordRefusals"] = st.RecordRefusals(ctx, []store.AccountRefusal{newRefusal(1, 1, "burst", 1)})
	_, errs["Refusals"] = st.Refusals(ctx, 1, 1)
	errs["RecordRequests"] = st.RecordRequests(ctx, []store.RecordedRequest{newRequest(1, 1)}, nil)
	_, errs["Requests"] = st.Requests(ctx, 1, store.RequestFilter{}, 1)
	_, errs["Request"] = st.Request(ctx, 1, 1)
	_, errs["RequestGaps"] = st.RequestGaps(ctx, 1, epoch, epoch)
	errs["LimitRequestLog"] = st.LimitRequestLog(ctx, anHour)
}

// afterCloseSearches calls the methods for saved searches, destinations, runs, deliveries, feeds
// and secrets, and related methods for accounts and labels.
func afterCloseSearches(ctx context.Context, st store.Store, errs map[string]error) {
	_, _, errs["CreateSavedSearch"] = st.CreateSavedSearch(ctx, newSearch(1, 1))
	_, errs["SavedSearch"] = st.SavedSearch(ctx, 1, "x")
	_, _, errs["SavedSearches"] = st.SavedSearches(ctx, 1, 0, 1)
	_, errs["UpdateSavedSearch"] = st.UpdateSavedSearch(ctx, 1, "x", 1, rename("y"))
	errs["DeleteSavedSearch"] = st.DeleteSavedSearch(ctx, 1, "x")
	_, errs["CreateDestination"] = st.CreateDestination(ctx, newHook(1, hook))
	_, errs["Destination"] = st.Destination(ctx, 1, "x")
	_, errs["DestinationByLink"] = st.DestinationByLink(ctx, nil)
	_, _, errs["Destinations"] = st.Destinations(ctx, 1, store.Slice{})
	_, errs["UpdateDestination"] = st.UpdateDestination(ctx, 1, "x", func(*store.Destination) error { return nil })
	_, errs["RequestConfirmation"] = st.RequestConfirmation(ctx, 1, "x", newConfirmation(epoch),
		func(*store.Destination) error { return nil })
	errs["DeleteDestination"] = st.DeleteDestination(ctx, 1, "x")
	errs["SetFeed"] = st.SetFeed(ctx, 1, "x", nil)
	errs["Suspend"] = st.Suspend(ctx, 1, "x")
	errs["Restore"] = st.Restore(ctx, 1)
	errs["RequestDeletion"] = st.RequestDeletion(ctx, 1, 0)
	errs["CancelDeletion"] = st.CancelDeletion(ctx, 1)
	_, errs["QueueQuotaEmails"] = st.QueueQuotaEmails(ctx)
	errs["SetQuotaEmails"] = st.SetQuotaEmails(ctx, 1, true)
	_, errs["ClaimAccountEmails"] = st.ClaimAccountEmails(ctx, 1, anHour)
	errs["SettleAccountEmail"] = st.SettleAccountEmail(ctx, store.AccountEmail{}, 0)
	_, errs["DueDeletions"] = st.DueDeletions(ctx, 1)
	_, errs["DeleteAccountData"] = st.DeleteAccountData(ctx, 1)
	errs["SetActiveLimit"] = st.SetActiveLimit(ctx, 1, 1)
	_, errs["HasColas"] = st.HasColas(ctx)
	errs["ColasMissing"] = st.ColasMissing(ctx, store.MissingDetail, func(cola.TTBID) error { return nil })
	_, errs["ArrivedSince"] = st.ArrivedSince(ctx, 0, func(store.Arrival) error { return nil })
	_, errs["ClaimDue"] = st.ClaimDue(ctx, epoch, 1, time.Hour)
	_, errs["HasDue"] = st.HasDue(ctx, epoch)
	_, errs["RecordRuns"] = st.RecordRuns(ctx, []store.RunRecord{{}})
	_, errs["Postpone"] = st.Postpone(ctx, store.DueSearch{}, func(int) time.Duration { return 0 })
	errs["ReleaseDue"] = st.ReleaseDue(ctx, []store.DueSearch{{}})
	_, errs["NextDue"] = st.NextDue(ctx)
	_, _, errs["RunsOf"] = st.RunsOf(ctx, 1, "x", store.Slice{})
	_, errs["RunsAfter"] = st.RunsAfter(ctx, 1, "x", 0, 1)
	_, errs["LatestMatches"] = st.LatestMatches(ctx, 1, 1)
	_, _, errs["MatchesOf"] = st.MatchesOf(ctx, 1, "x", 0, store.Slice{})
	_, errs["RequestRun"] = st.RequestRun(ctx, 1, "x", epoch, 1)
	_, errs["RunOf"] = st.RunOf(ctx, 1, "x", 1)
	_, errs["NamePreviewLabels"] = st.NamePreviewLabels(ctx, 1, 0, []cola.TTBID{1}, 1)
	_, errs["Trace"] = st.Trace(ctx, 1, "x", 1)
	_, errs["ClaimDeliveries"] = st.ClaimDeliveries(ctx, epoch, allKinds, 1, time.Hour)
	_, errs["RunContent"] = st.RunContent(ctx, 1)
	_, errs["RecordAttempt"] = st.RecordAttempt(ctx, store.Attempt{})
	errs["ReleaseDeliveries"] = st.ReleaseDeliveries(ctx, []store.DueDelivery{{}})
	_, errs["OldestPending"] = st.OldestPending(ctx, allKinds)
	_, _, errs["DeliveriesOf"] = st.DeliveriesOf(ctx, 1, store.DeliveryFilter{}, store.Slice{})
	_, errs["DeliveryOf"] = st.DeliveryOf(ctx, 1, 1)
	_, errs["Replay"] = st.Replay(ctx, 1, 1, epoch)
	_, errs["ReplayUndelivered"] = st.ReplayUndelivered(ctx, 1, "x", epoch, 1)
	_, errs["AddTest"] = st.AddTest(ctx, 1, "x", epoch)
	_, errs["DeleteOldDeliveries"] = st.DeleteOldDeliveries(ctx, epoch)
	_, errs["Feed"] = st.Feed(ctx, store.FeedHash{}, 1, 1)
	_, errs["KeyCheck"] = st.KeyCheck(ctx, "x")
	errs["ReplaceKeyCheck"] = st.ReplaceKeyCheck(ctx, "x")
	_, errs["SecretKeys"] = st.SecretKeys(ctx)
	_, errs["RewriteSecrets"] = st.RewriteSecrets(ctx, "x", nil)
	_, errs["HashLinks"] = st.HashLinks(ctx)
}

// tb is the common interface of a test and of one run of a property test.
type tb interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// must returns v, or fails the test on an error.
func must[T any](t tb, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// checkEqual compares values. It distinguishes nil slices from empty ones.
func checkEqual(t tb, desc string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s mismatch (-want +got):\n%s", desc, diff)
	}
}
