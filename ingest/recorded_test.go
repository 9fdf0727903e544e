package ingest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
)

// TestRecordedImport checks which imports are recorded, and with which outcome.
func TestRecordedImport(t *testing.T) {
	broken := errors.New("disk full")
	for _, tt := range []struct {
		name    string
		text    string
		opts    Options
		prepare func(st *fakeStore, cancel func())
		want    *cola.Import // without times; nil if it is not recorded
	}{
		{
			name: "complete", text: labelRows(3),
			want: &cola.Import{Kind: "colas", Read: 3, Added: 3},
		},
		{
			name: "rejected row", text: labelRows(2) + "oops\n",
			want: &cola.Import{Kind: "colas", Read: 3, Added: 2, Rejected: 1},
		},
		{
			name: "rejected row that is skipped", text: labelRows(2) + "oops\n", opts: Options{SkipInvalid: true},
			want: &cola.Import{Kind: "colas", Read: 3, Added: 2, Rejected: 1},
		},
		{
			name: "truncated source", text: "[" + labelRow(1) + `,{"ttb_id":`,
			want: &cola.Import{Kind: "colas", Read: 1, Added: 1, Failed: true},
		},
		{
			name: "truncated source with a rejected row", text: "[7," + labelRow(1) + `,{"ttb_id":`,
			want: &cola.Import{Kind: "colas", Read: 2, Added: 1, Rejected: 1, Failed: true},
		},
		{
			name: "store error", text: labelRows(4 * batchRows),
			prepare: func(st *fakeStore, _ func()) { st.failAt, st.err = 1, broken },
			want:    &cola.Import{Kind: "colas", Read: batchRows / 2, Added: batchRows / 2, Failed: true},
		},
		{
			name: "canceled", text: labelRows(20 * batchRows),
			prepare: func(st *fakeStore, cancel func()) { st.onBatch = func(int, int) { cancel() } },
			want:    &cola.Import{Kind: "colas", Failed: true},
		},
		{name: "dry run", text: labelRows(3), opts: Options{DryRun: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			st := newFakeStore()
			if tt.prepare != nil {
				tt.prepare(st, cancel)
			}
			at := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
			tt.opts.Now = func() time.Time {
				at = at.Add(time.Minute)
				return at
			}
			report, err := Import(ctx, st, Colas, texts(tt.text), tt.opts)
			var want []cola.Import
			if tt.want != nil {
				tt.want.StartedAt, tt.want.FinishedAt = cola.TimestampOf(at.Add(-time.Minute)), cola.TimestampOf(at)
				if tt.name == "canceled" { // stops after the batches in progress
					tt.want.Read, tt.want.Added = report.Read, report.Added
				}
				want = append(want, *tt.want)
			}
			if diff := cmp.Diff(want, st.imports); diff != "" {
				t.Errorf("recorded (-want +got):\n%s\nerror: %v", diff, err)
			}
		})
	}
}

// TestRecordedImportFails checks that an import reports a failure to record its outcome.
func TestRecordedImportFails(t *testing.T) {
	st := newFakeStore()
	st.recErr = errors.New("disk full")
	report, err := Import(t.Context(), st, Colas, texts(labelRows(2)), Options{})
	if !errors.Is(err, st.recErr) || report.Added != 2 {
		t.Errorf("error = %v, report = %s; want the error and the rows", err, report.Summary())
	}
}
