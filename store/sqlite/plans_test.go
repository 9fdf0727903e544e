package sqlite

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// statementLog collects the statements that stores prepare. It is safe for concurrent use.
type statementLog struct{ queries sync.Map }

// add adds the statements of a store. Every statement goes through one of the store's caches.
func (l *statementLog) add(s *Store) {
	for query := range s.ledger.stmts {
		l.queries.Store(query, nil)
	}
	for query := range s.records.stmts {
		l.queries.Store(query, nil)
	}
	s.read.stmts.Range(func(query, _ any) bool {
		l.queries.Store(query, nil)
		return true
	})
}

// checkPlans fails for each statement that reads a whole table, or sorts more than a few rows.
// Statements without parameters or a limit read everything by design: lists for the operator,
// counts and copies.
func (l *statementLog) checkPlans(t *testing.T, s *Store) {
	selective := regexp.MustCompile(`[$?]|LIMIT`)
	count := 0
	for key := range l.queries.Range {
		query := key.(string)
		if !selective.MatchString(query) {
			continue
		}
		count++
		for _, step := range explain(t, s, query) {
			if isCostly(query, step) {
				t.Errorf("costly step %s: %s", step, query)
			}
		}
	}
	if count < 150 && !t.Failed() {
		t.Errorf("%d statements were run, want at least 150", count)
	}
}

// explain returns the plan of a statement.
func explain(t *testing.T, s *Store, query string) (steps []string) {
	t.Helper()
	query = rewritten(query)
	numbered := slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`\?\d+`).FindAllString(query, -1))))
	if len(numbered) == 0 {
		numbered = make([]string, strings.Count(query, "?"))
	}
	rows, err := s.read.db.Query(`EXPLAIN QUERY PLAN `+query, make([]any, len(numbered))...)
	if err != nil {
		t.Errorf("explain: %v: %s", err, query)
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, detail)
	}
	return steps
}

// cheapScans lists the steps that may scan or sort rows, by the start of their statement. They read
// a small table, or a few rows of a large one. The entry "" applies to all statements.
var cheapScans = map[string][]string{
	"": {
		"SCAN json_each", "SCAN old", "SCAN due", "SCAN changed", "SCAN arrived",
		"SCAN new", "SCAN 4-ROW VALUES", "SCAN 16-ROW VALUES", "SCAN 64-ROW VALUES", "SCAN CONSTANT ROW", "SCAN meta", "SCAN avas", "SCAN category_aliases",
		"SCAN processing_times", "SCAN formula_processing_times", "SCAN registration_processing_times",
	},
	"DELETE FROM ledger_batches": {"SCAN ledger_batches", "SCAN (subquery-"}, // the oldest few
	"DELETE FROM revisions":      {"SCAN revisions"},                         // the oldest few
	// SQLite plans these scans for the foreign key checks of an INSERT.
	"INSERT INTO accounts": {"SCAN sign_ins", "SCAN sign_in_links"},
	// The searches, destinations, links and sign-ins of one account.
	"UPDATE saved_searches AS s SET paused_because": {"SCAN r", "SCAN (subquery-", "USE TEMP B-TREE"},
	"SELECT d.uuid":              {"USE TEMP B-TREE"},
	"SELECT l.id, l.account_id":  {"USE TEMP B-TREE"},
	"SELECT id, account_id, via": {"USE TEMP B-TREE"},
	// The IDs and barcodes of changed labels.
	"WITH changed": {"USE TEMP B-TREE"},
	"WITH arrived": {"USE TEMP B-TREE"},
}

// isCostly reports whether a step of a plan scans or sorts many rows.
func isCostly(query, step string) bool {
	if !strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "TEMP B-TREE") {
		return false
	}
	for start, cheap := range cheapScans {
		if strings.HasPrefix(query, start) &&
			slices.ContainsFunc(cheap, func(s string) bool { return strings.HasPrefix(step, s) }) {
			return false
		}
	}
	return true
}
