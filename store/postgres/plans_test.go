package postgres

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// statementLog collects the statements that stores run. It is safe for concurrent use.
type statementLog struct{ queries sync.Map }

// attach starts recording a store's statements.
func (l *statementLog) attach(t *testing.T, s *Store) {
	t.Helper()
	for _, pool := range []**pgxpool.Pool{&s.general, &s.ledger} {
		config := (*pool).Config()
		config.ConnConfig.Tracer = l
		(*pool).Close()
		var err error
		if *pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
}

func (l *statementLog) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	l.queries.Store(q.SQL, nil)
	return ctx
}

func (*statementLog) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (l *statementLog) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	for _, q := range b.Batch.QueuedQueries {
		l.queries.Store(q.SQL, nil)
	}
	return ctx
}

func (*statementLog) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (*statementLog) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// smallTables are tables with one row or a set of reference data.
var smallTables = []string{
	"meta", "avas", "production_reports", "processing_times",
	"formula_processing_times", "registration_processing_times",
	"category_aliases",
}

// checkPlans fails for each statement that scans a whole table. Statements without parameters or a
// limit read everything by design: lists for the operator, counts and copies. The planner avoids
// sequential scans here, as it does for large tables, so a sequential scan means that an index is
// missing.
func (l *statementLog) checkPlans(t *testing.T) {
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
	selective := regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE|WITH)[\s\S]*([$]\d|LIMIT)`)
	count := 0
	for key := range l.queries.Range {
		query := key.(string)
		if !selective.MatchString(query) {
			continue
		}
		count++
		for _, step := range explain(t, conn, query) {
			if isCostly(step) {
				t.Errorf("plan has %q: %s", strings.TrimSpace(step), query)
			}
		}
	}
	if count < 150 && !t.Failed() {
		t.Errorf("checked %d statements, want at least 150", count)
	}
	if plan := explain(t, conn, `SELECT count(*) FROM colas WHERE brand_name = $1`); !slices.ContainsFunc(plan, isCostly) {
		t.Errorf("plan of a query without an index = %q, want a sequential scan", plan)
	}
}

func isCostly(step string) bool {
	_, table, scan := strings.Cut(step, "Seq Scan on ")
	name, _, _ := strings.Cut(table, " ")
	return scan && !slices.Contains(smallTables, name)
}

var parameter = regexp.MustCompile(`\$(\d+)`)

// explain returns the plan nodes of a prepared statement.
func explain(t *testing.T, conn *pgx.Conn, query string) []string {
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
		t.Errorf("explain: %v: %s", err, query)
		return nil
	}
	results, err := conn.PgConn().Exec(t.Context(), `EXPLAIN EXECUTE explained `+arguments).ReadAll()
	if err != nil {
		t.Errorf("explain: %v: %s", err, query)
		return nil
	}
	var steps []string
	for _, row := range results[0].Rows {
		steps = append(steps, string(row[0]))
	}
	return steps
}
