package postgres

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// planned are the statements that are not to go through a whole table, by what they do.
func planned() map[string]string {
	statements := map[string]string{
		"use of sign-ins":          noteSignInUses,
		"labels by id":             selectColas,
		"images by label":          selectImages,
		"barcodes by label":        selectBarcodes,
		"change of a label":        updateCola,
		"touching of labels":       touchColas,
		"deletion of images":       deleteImages,
		"deletion of barcodes":     deleteBarcodes,
		"permittees by number":     selectPermittees,
		"replacing of a permittee": replacePermittee,
		"changed labels":           changedColas,
		"changed permittees":       selectChangedPermittees,
		"locking of accounts":      lockAccounts,
		"states of accounts":       selectStates,
		"credentials of a batch":   selectCredentials,
		"use of keys":              noteKeyUses,
		"use of links":             noteLinkUses,
		"locking of claims":        lockClaimed,
		"revisions of marks":       knownRevisions,
		"keeping of matches":       insertMatches,
		"moving of marks":          moveMarks,
		"noting of arrivals":       insertArrivals,
		"arrivals":                 selectArrivals,
		"arrived labels":           arrivedColas,
		"arrived permittees":       arrivedPermittees,
		"counting of months":       upsertMonths,
		"counting of days":         upsertDays,
		"windows":                  upsertWindows,
		"windows by account":       selectWindows,
		"change of a window":       updateWindow,
		"batch by id":              selectBatch,
		"voiding of a batch":       voidKnown,
		"forgetting of batches":    forgetBatches,
		"forgetting of revisions":  forgetRevisions,
	}
	maps.Copy(statements, sqlstore.Statements())
	return statements
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
