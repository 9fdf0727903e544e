package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// planned are the statements that are not to go through a whole table, by what they do.
func planned() map[string]string {
	keysOfOne, _ := ofAccount(selectKeys, `k.account_id`, 1)
	linksOfOne, _ := ofAccount(selectLinks, `l.account_id`, 1)
	identitiesOfOne, _ := ofAccount(selectIdentities, `i.account_id`, 1)
	return map[string]string{
		"account by id":            accountByID,
		"keys that hold":           countKeys,
		"end of a key":             endKeyBy,
		"revoking of a key":        revokeKey,
		"revoking of a link":       revokeLink,
		"restoring of a link":      restoreLink,
		"keeping of a sign-in":     insertSignIn,
		"sign-ins of an account":   selectSignIns,
		"end of a sign-in":         endSignIn,
		"end of other sign-ins":    endOtherSignIns,
		"keeping of a link":        insertSignInLink,
		"link to sign in with":     signInLink,
		"use of a link":            useSignInLink,
		"forgetting of links":      forgetSignInLinks,
		"session":                  selectSession,
		"dropping of a session":    dropSession,
		"forgetting of sessions":   forgetSessions,
		"refusals of an account":   selectRefusals,
		"forgetting of refusals":   forgetRefusals,
		"months of an account":     usedMonths,
		"resubmissions":            resubmissions,
		"keys of an account":       keysOfOne,
		"links of an account":      linksOfOne,
		"identities of an account": identitiesOfOne,
		"key of an account":        keyOfAccount,
		"owner of a sign-in":       ownerOfSignIn,
		"change of a session":      updateSession,
		"accounts refused":         refusedAccounts,
		"counting of refusals":     addRefusals,
		"labels by id":             selectColas,
		"images by label":          selectImages,
		"barcodes by label":        selectBarcodes,
		"permittees by number":     selectPermittees,
		"changed labels":           changedColas,
		"changed barcodes":         changedBarcodes,
		"changed permittees":       selectChangedPermittees,
		"account by email":         accountByEmail,
		"known keys":               knownKeys,
		"known sessions":           knownSessions,
		"known links":              knownSignInLinks,
		"known feeds":              knownFeeds,
		"known destinations":       knownDestinations,
		"key by hash":              selectKeys + ` WHERE k.hash = ?`,
		"account of identity":      accountOfIdentity,
		"app by client":            appByClient,
		"link by its ends":         linkByEnds,
		"searches of an account":   selectSearches + ` ORDER BY id`,
		"search by UUID":           selectSearch,
		"active searches":          countActive,
		"settling of pauses":       settlePauses,
		"creation by key":          selectCreation,
		"destination by UUID":      destinationByUUID,
		"destination by link":      destinationByLink,
		"number of destinations":   countDestinations,
		"destinations alike":       sameDestination,
		"change of destination":    updateDestination,
		"skipping of deliveries":   skipPending,
		"forgetting of creations":  forgetCreations,
		"claiming of searches":     claimDue,
		"recording of a run":       recordRun,
		"keeping of matches":       insertMatches,
		"counting of matches":      countMatches,
		"letting go of a search":   letGo,
		"search that is due next":  selectDue,
		"id of a search":           searchID,
		"run of a search":          runOfSearch,
		"number of runs":           countRuns,
		"runs":                     selectRuns,
		"number of matches":        countFound,
		"matches":                  selectFound,
		"number of a run's":        countFoundBy,
		"matches of a run":         selectFoundBy,
		"arrivals":                 selectArrivals,
		"arrived labels":           arrivedColas,
		"arrived barcodes":         arrivedBarcodes,
		"arrived permittees":       arrivedPermittees,
		"due deliveries":           dueDeliveries,
		"holding of deliveries":    holdDeliveries,
		"claimed deliveries":       claimedDelivery,
		"letting a delivery go":    letDeliveryGo,
		"oldest delivery":          oldestPending,
		"held delivery":            heldDelivery,
		"noting of a delivery":     noteDelivery,
		"noting of a destination":  noteDestination,
		"telling of a pause":       tellPaused,
		"delivery by id":           deliveryByID,
		"attempts":                 selectAttempts,
		"adding of a message":      insertMessage,
		"destination of a replay":  destinationOf,
		"replay":                   replayOne,
		"replay of a destination":  replayUndelivered,
		"forgetting of deliveries": forgetDeliveries,
		"search by feed":           searchByFeed,
		"search by id":             searchByID,
		"run by id":                runByID,
		"runs of a feed":           runsThatFound,
		"labels of a run":          labelsThatAre,
		"search that is traced":    searchWithMark,
		"match of a label":         matchOfLabel,
		"arrival of a label":       arrivalOf,
		"run that saw a label":     firstRunFrom,
		"search that is asked for": isPaused,
		"asking for a run":         askRun,
		"owner of a key":           ownerOfKey,
		"owner of a link":          ownerOfLink,
		"state of an account":      selectState,
		"grants of an account":     selectGrants,
		"days of an account":       selectDays,
		"batch by id":              selectBatch,
		"forgetting of batches":    forgetBatches,
		"dropping of grants":       dropGrants,
		"revision by number":       hasRevision,
		"dropping of revisions":    forgetRevisions,
	}
}

// TestQueryPlans: no query but the reading of everything goes through a whole table, or sorts whole rows.
func TestQueryPlans(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet()})
	for name, query := range planned() {
		rows, err := s.read.db.Query(`EXPLAIN QUERY PLAN `+query, make([]any, strings.Count(query, "?"))...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if isCostly(name, detail) {
				t.Errorf("%s: %s", name, detail)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// isCostly tells whether a step of a plan goes through what may be large. The oldest batches and revisions are read up to a
// limit; ids of changed labels and of those that have arrived are sorted, and their few barcodes, and
// the searches and the sign-ins of an account.
func isCostly(name, step string) bool {
	small := []string{"SCAN json_each", "SCAN changed", "SCAN arrived", "SCAN CONSTANT ROW"}
	switch name {
	case "forgetting of batches":
		small = append(small, "SCAN ledger_batches", "SCAN (subquery-1)")
	case "dropping of revisions":
		small = append(small, "SCAN revisions")
	case "settling of pauses": // the searches of one account
		small = append(small, "SCAN r", "SCAN (subquery-")
	}
	if strings.HasPrefix(step, "SCAN") {
		return !slices.ContainsFunc(small, func(s string) bool { return strings.HasPrefix(step, s) })
	}
	few := []string{"settling of pauses", "sign-ins of an account"}
	return strings.Contains(step, "TEMP B-TREE") && !strings.HasPrefix(name, "changed") && !strings.HasPrefix(name, "arrived") && !slices.Contains(few, name)
}
