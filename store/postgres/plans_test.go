package postgres

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// planned are the statements that are not to go through a whole table, by what they do.
func planned() map[string]string {
	keysOfOne, _ := ofAccount(selectKeys, `k.account_id`, 1)
	linksOfOne, _ := ofAccount(selectLinks, `l.account_id`, 1)
	identitiesOfOne, _ := ofAccount(selectIdentities, `i.account_id`, 1)
	return map[string]string{
		"account by id":             accountByID,
		"keys that hold":            countKeys,
		"end of a key":              endKeyBy,
		"revoking of a key":         revokeKey,
		"revoking of a link":        revokeLink,
		"restoring of a link":       restoreLink,
		"keeping of a sign-in":      insertSignIn,
		"sign-ins of an account":    selectSignIns,
		"end of a sign-in":          endSignIn,
		"end of other sign-ins":     endOtherSignIns,
		"making of a link":          insertSignInLink,
		"link to sign in with":      signInLink,
		"use of a link":             useSignInLink,
		"forgetting of links":       forgetSignInLinks,
		"session":                   selectSession,
		"dropping of a session":     dropSession,
		"forgetting of sessions":    forgetSessions,
		"refusals of an account":    selectRefusals,
		"forgetting of refusals":    forgetRefusals,
		"months of an account":      usedMonths,
		"resubmissions":             resubmissions,
		"keys of an account":        keysOfOne,
		"links of an account":       linksOfOne,
		"identities of an account":  identitiesOfOne,
		"key that is held":          holdKey,
		"use of sign-ins":           noteSignInUses,
		"change of a session":       upsertSession,
		"counting of refusals":      upsertRefusals,
		"labels by id":              selectColas,
		"images by label":           selectImages,
		"barcodes by label":         selectBarcodes,
		"change of a label":         updateCola,
		"touching of labels":        touchColas,
		"deletion of images":        deleteImages,
		"deletion of barcodes":      deleteBarcodes,
		"permittees by number":      selectPermittees,
		"replacing of a permittee":  replacePermittee,
		"changed labels":            changedColas,
		"changed permittees":        selectChangedPermittees,
		"account by email":          accountByEmail,
		"known keys":                knownKeys,
		"known sessions":            knownSessions,
		"known links":               knownSignInLinks,
		"known feeds":               knownFeeds,
		"known destinations":        knownDestinations,
		"key by hash":               keyByHash,
		"locking of accounts":       lockAccounts,
		"states of accounts":        selectStates,
		"credentials of a batch":    selectCredentials,
		"use of keys":               noteKeyUses,
		"use of links":              noteLinkUses,
		"account of identity":       accountOfIdentity,
		"keeping of an account":     ensureAccount,
		"keeping of an identity":    ensureIdentity,
		"change of an address":      replaceEmail,
		"app by client":             appByClient,
		"link by its ends":          linkByEnds,
		"keeping of a link":         upsertLink,
		"searches of an account":    selectSearches + ` ORDER BY id`,
		"search by UUID":            selectSearch,
		"active searches":           countActive,
		"holding of searches":       holdAllSearches,
		"holding of active ones":    holdActiveSearches,
		"settling of pauses":        settlePauses,
		"creation by key":           selectCreation,
		"destination by UUID":       destinationByUUID,
		"destination by link":       destinationByLink,
		"destinations":              selectDestinationsPage,
		"number of destinations":    countDestinations,
		"destinations alike":        sameDestination,
		"change of a destination":   updateDestination,
		"skipping of deliveries":    skipPending,
		"keeping of a creation":     upsertCreation,
		"forgetting of creations":   forgetCreations,
		"claiming of searches":      claimDue,
		"locking of claims":         lockClaimed,
		"revisions of marks":        knownRevisions,
		"keeping of matches":        insertMatches,
		"moving of marks":           moveMarks,
		"letting go of searches":    letGo,
		"search that is due next":   selectDue,
		"id of a search":            searchID,
		"run of a search":           runOfSearch,
		"number of runs":            countRuns,
		"runs":                      selectRuns,
		"number of matches":         countFound,
		"matches":                   selectFound,
		"number of a run's":         countFoundBy,
		"matches of a run":          selectFoundBy,
		"noting of arrivals":        insertArrivals,
		"arrivals":                  selectArrivals,
		"arrived labels":            arrivedColas,
		"arrived permittees":        arrivedPermittees,
		"due deliveries":            dueDeliveries,
		"holding of deliveries":     holdDeliveries,
		"letting go of deliveries":  letDeliveriesGo,
		"oldest delivery":           oldestPending,
		"destination of an attempt": holdDestinationOf,
		"held delivery":             heldDelivery,
		"noting of a delivery":      noteDelivery,
		"noting of a destination":   noteDestination,
		"telling of a pause":        tellPaused,
		"delivery by id":            deliveryByID,
		"attempts":                  selectAttempts,
		"adding of a message":       insertMessage,
		"destination of a replay":   destinationOf,
		"replay":                    replayOne,
		"replay of a destination":   replayUndelivered,
		"forgetting of deliveries":  forgetDeliveries,
		"search by feed":            searchByFeed,
		"search by id":              searchByID,
		"run by id":                 runByID,
		"runs of a feed":            runsThatFound,
		"labels of a run":           labelsThatAre,
		"search that is traced":     searchWithMark,
		"match of a label":          matchOfLabel,
		"arrival of a label":        arrivalOf,
		"run that saw a label":      firstRunFrom,
		"search that is asked for":  isPaused,
		"asking for a run":          askRun,
		"days of an account":        selectDays,
		"counting of months":        upsertMonths,
		"counting of days":          upsertDays,
		"windows":                   upsertWindows,
		"windows by account":        selectWindows,
		"change of a window":        updateWindow,
		"batch by id":               selectBatch,
		"voiding of a batch":        voidKnown,
		"forgetting of batches":     forgetBatches,
		"revision by number":        hasRevision,
		"forgetting of revisions":   forgetRevisions,
	}
}

// TestQueryPlans: no statement but the reading of everything goes through a whole table, whatever it is asked for. The
// planner is told to avoid that, as it does by itself once tables are large: what it cannot avoid lacks an index.
func TestQueryPlans(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), migratedDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, setting := range []string{`SET enable_seqscan = off`, `SET plan_cache_mode = force_generic_plan`} {
		if _, err := conn.Exec(t.Context(), setting); err != nil {
			t.Fatal(err)
		}
	}
	for name, query := range planned() {
		for _, step := range explain(t, conn, name, query) {
			if strings.Contains(step, "Seq Scan") {
				t.Errorf("%s: %s", name, step)
			}
		}
	}
	if plan := explain(t, conn, "all labels of a kind", `SELECT count(*) FROM colas WHERE brand_name = $1`); !slices.ContainsFunc(plan, func(step string) bool {
		return strings.Contains(step, "Seq Scan on colas")
	}) {
		t.Errorf("a query without an index is planned as %q, so the others show nothing", plan)
	}
}

var parameter = regexp.MustCompile(`\$(\d+)`)

// explain returns the steps of the plan that a statement is prepared with.
func explain(t *testing.T, conn *pgx.Conn, name, query string) []string {
	t.Helper()
	count := 0
	for _, m := range parameter.FindAllStringSubmatch(query, -1) {
		var n int
		fmt.Sscan(m[1], &n)
		count = max(count, n)
	}
	arguments := ""
	if count > 0 {
		arguments = "(" + strings.TrimSuffix(strings.Repeat("NULL, ", count), ", ") + ")"
	}
	if _, err := conn.Exec(t.Context(), `DEALLOCATE ALL`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.PgConn().Exec(t.Context(), `PREPARE explained AS `+query).ReadAll(); err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	results, err := conn.PgConn().Exec(t.Context(), `EXPLAIN EXECUTE explained `+arguments).ReadAll()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	var steps []string
	for _, row := range results[0].Rows {
		steps = append(steps, string(row[0]))
	}
	return steps
}
