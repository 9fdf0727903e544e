package store

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

// KeptImports is how many imports of each kind are kept.
const KeptImports = 100

// Imports records imports, so that operators can see when data was last updated.
type Imports interface {
	// RecordImport records a finished import and deletes old ones of its kind, except the latest
	// KeptImports.
	RecordImport(ctx context.Context, i cola.Import) error
	// LastImports returns the most recently recorded import of each kind, ordered by kind.
	LastImports(ctx context.Context) ([]cola.LastImport, error)
}
