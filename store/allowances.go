package store

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

// Allowance is something that an account gets for free, up to a limit on each UTC day.
//
// Counts are exact under concurrency, across processes. They outlive what they were used for: deleting a search or a run
// gives nothing back. Days before yesterday are forgotten.
type Allowance string

// The allowances.
const (
	AllowManualRuns    Allowance = "manual_runs"    // counted by Runs.AskRun
	AllowMessageLabels Allowance = "message_labels" // counted by Runs.RecordRuns
	AllowPreviewLabels Allowance = "preview_labels" // counted by Allowances.NamePreviewLabels
)

// Allowances counts what previews of saved searches name.
type Allowances interface {
	// NamePreviewLabels returns the labels, of those given and in their order, that a preview may name to an account on a
	// day: labels that were named to the account that day already, and new ones while fewer than limit distinct labels were
	// named. It records the new ones. It writes nothing when there are none.
	NamePreviewLabels(ctx context.Context, account cola.AccountID, day cola.Date, labels []cola.TTBID, limit int) ([]cola.TTBID, error)
}
