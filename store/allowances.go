package store

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

// Allowance is a free use of the service with a limit per account and UTC day.
//
// Counts are exact, even across processes. Deleting a search or a run does not reduce them. Counts of
// days before yesterday are deleted.
type Allowance string

// The allowances.
const (
	AllowManualRuns    Allowance = "manual_runs"    // counted by Runs.AskRun
	AllowMessageLabels Allowance = "message_labels" // counted by Runs.RecordRuns
	AllowPreviewLabels Allowance = "preview_labels" // counted by Allowances.NamePreviewLabels
)

// Allowances counts the labels that previews of saved searches name.
type Allowances interface {
	// NamePreviewLabels returns the given labels that a preview may name to an account on a day, in order: labels that
	// were already named to the account that day, and new ones up to limit distinct labels. It records the new ones and
	// does not write if there are none.
	NamePreviewLabels(ctx context.Context, account cola.AccountID, day cola.Date, labels []cola.TTBID, limit int) ([]cola.TTBID, error)
}
