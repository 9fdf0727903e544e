package sqlite

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// planned are the statements that are not to go through a whole table, by what they do.
func planned() map[string]string {
	statements := map[string]string{
		"owner of a sign-in":    ownerOfSignIn,
		"labels by id":          selectColas,
		"images by label":       selectImages,
		"barcodes by label":     selectBarcodes,
		"permittees by number":  selectPermittees,
		"changed labels":        changedColas,
		"changed barcodes":      changedBarcodes,
		"changed permittees":    selectChangedPermittees,
		"recording of a run":    recordRun,
		"keeping of matches":    insertMatches,
		"counting of matches":   countMatches,
		"arrivals":              selectArrivals,
		"arrived labels":        arrivedColas,
		"arrived barcodes":      arrivedBarcodes,
		"arrived permittees":    arrivedPermittees,
		"owner of a key":        ownerOfKey,
		"owner of a link":       ownerOfLink,
		"state of an account":   selectState,
		"grants of an account":  selectGrants,
		"batch by id":           selectBatch,
		"forgetting of batches": forgetBatches,
		"dropping of grants":    dropGrants,
		"dropping of revisions": forgetRevisions,
	}
	maps.Copy(statements, sqlstore.Statements())
	return statements
}

// TestQueryPlans: no query but the reading of everything goes through a whole table, or sorts whole rows.
func TestQueryPlans(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet()})
	for name, query := range planned() {
		query = rewritten(query)
		numbered := slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`\?\d+`).FindAllString(query, -1))))
		if len(numbered) == 0 {
			numbered = make([]string, strings.Count(query, "?"))
		}
		rows, err := s.read.db.Query(`EXPLAIN QUERY PLAN `+query, make([]any, len(numbered))...)
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
// the searches, the destinations and the sign-ins of an account. Statements that only lock rows are not run here.
func isCostly(name, step string) bool {
	small := []string{"SCAN json_each", "SCAN changed", "SCAN arrived", "SCAN CONSTANT ROW"}
	switch name {
	case "forgetting of batches":
		small = append(small, "SCAN ledger_batches", "SCAN (subquery-1)")
	case "dropping of revisions":
		small = append(small, "SCAN revisions")
	case "settling of pauses": // the searches of one account
		small = append(small, "SCAN r", "SCAN (subquery-")
	case "keeping of an account": // planned for a new account's foreign keys, and run for none
		small = append(small, "SCAN sign_ins", "SCAN sign_in_links")
	}
	if strings.HasPrefix(step, "SCAN") {
		return !slices.ContainsFunc(small, func(s string) bool { return strings.HasPrefix(step, s) })
	}
	few := []string{"settling of pauses", "sign-ins of an account", "destinations", "holding of claimed searches"}
	return strings.Contains(step, "TEMP B-TREE") && !strings.HasPrefix(name, "changed") && !strings.HasPrefix(name, "arrived") && !slices.Contains(few, name)
}
