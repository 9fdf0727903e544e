package records

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// CompareReports compares the rows that a production report holds with those that are to take their place: an outcome a new
// row, and whether the report is the same, its order included. A row counts as held as many times as the report holds it.
// To the database a report is one record: it is written whole, or not at all when it is the same.
func CompareReports(held, rows []cola.ProductionReport) (outcomes []store.Outcome, same bool) {
	count := make(map[cola.ProductionReport]int, len(held))
	for _, r := range held {
		count[r]++
	}
	for _, r := range rows {
		outcome := store.Added
		switch {
		case count[r] > 0:
			count[r]--
			outcome = store.Unchanged
		case len(held) > 0:
			outcome = store.Changed
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, slices.Equal(held, rows)
}
