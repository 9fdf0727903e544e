package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// noStep is a step that only takes part.
type noStep struct{}

func (noStep) write(context.Context, *writer, cola.Revision) error { return nil }

// TestOvertakenWriteStartsOver: where files cannot be locked, others may change records between a plan and its writing. The
// write then plans anew, from the first record that is not kept, and gives up when it is overtaken every time.
func TestOvertakenWriteStartsOver(t *testing.T) {
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	for _, times := range []int{0, 1, 3, attempts} {
		path := filepath.Join(t.TempDir(), "registry.db")
		s := mustOpen(t, path, Options{Logger: quiet(), Now: func() time.Time { return now }})
		others, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer others.Close()
		plans := 0
		outcomes, err := s.apply(t.Context(), change{plan: func(ctx context.Context, q querier, done int) (*plan, error) {
			plans++
			var rev int
			if err := q.row(ctx, `SELECT revision FROM meta`).Scan(&rev); err != nil { // from here on it sees this state
				return nil, err
			}
			if plans <= times {
				if _, err := others.ExecContext(ctx, `UPDATE meta SET revision = ? + ?`, now.UnixMicro(), plans); err != nil {
					return nil, err
				}
			}
			return &plan{outcomes: []store.Outcome{store.Added}, steps: []step{noStep{}}}, nil
		}})
		if times == attempts {
			if !errors.Is(err, store.ErrUnavailable) || len(outcomes) > 0 {
				t.Errorf("overtaken every time: %v, %v; want no outcome and ErrUnavailable", outcomes, err)
			}
			continue
		}
		if diff := cmp.Diff([]store.Outcome{store.Added}, outcomes); err != nil || diff != "" || plans != times+1 {
			t.Errorf("overtaken %d times: %v after %d plans (-want +got):\n%s", times, err, plans, diff)
		}
		want := cola.Revision(now.UnixMicro())
		if times > 0 {
			want += cola.Revision(times) + 1 // after the others'
		}
		if rev, err := s.Revision(t.Context()); err != nil || rev != want {
			t.Errorf("overtaken %d times: revision %d (%v), want %d", times, rev, err, want)
		}
	}
}
