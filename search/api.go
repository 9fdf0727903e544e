package search

import (
	"log/slog"

	"github.com/colaregistry/colaregistry/cola"
)

// Options configures an Index. The zero Options are good.
type Options struct {
	Logger *slog.Logger // where folds are logged; nil discards
	// ManualFold leaves folding to calls of Fold. Unless it is set the index folds by itself, in the background.
	ManualFold bool
}

// Marks are the revisions of a store that an index has been brought up to.
type Marks struct {
	Labels, Permittees, References cola.Revision
}

// Page is one page of labels.
type Page struct {
	Rows    []cola.ColaSummary
	Total   int           // labels that match, over all pages; exact
	HasMore bool          // whether labels follow this page
	Next    cola.Position // of the last row; zero when the page is empty
}

// PermitteePage is one page of permittees.
type PermitteePage struct {
	Rows    []cola.PermitteeSummary
	Total   int  // permittees that match, over all pages; exact
	HasMore bool // whether permittees follow this page
}

// Stats describes a view.
type Stats struct {
	Labels     int   // labels that can be found
	Undated    int   // of these, without an approval date
	Permittees int   // permittees that can be found
	Segments   int   // immutable parts that a search visits
	Dead       int   // labels replaced since and still held until a fold
	Bytes      int64 // held by the segments
}
