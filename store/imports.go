package store

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

// KeptImports is the number of imports of each kind that are stored.
const KeptImports = 100

// Imports records imports, so that operators can see when data was last updated.
type Imports interface {
	// RecordImport records a finished import, and deletes all but the latest KeptImports of its
	// kind.
	RecordImport(ctx context.Context, i cola.Import) error
	// LastImports returns the most recently recorded import of each kind, ordered by kind.
	LastImports(ctx context.Context) ([]cola.LastImport, error)
}
