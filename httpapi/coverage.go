package httpapi

import (
	"net/http"
	"reflect"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

func coverageOperations(svc Service) []operation {
	fetch := func(r *http.Request, caller cola.Caller) (cola.Coverage, cola.QuotaState, error) {
		return svc.Coverage(r.Context(), caller)
	}
	return []operation{{
		ID: "getCoverage", Path: "/coverage", Tag: tagReference, Summary: "Get data coverage",
		Description: "How complete and current the registry's labels are: counts by year, the error in date estimates, " +
			"and the latest import of each kind of data.",
		Response: reflect.TypeFor[dataOf[cola.Coverage]](),
		Example:  dataOf[cola.Coverage]{exampleCoverage()},
		Cost:     free,
		call: bareCall(svc, fetch, func(c cola.Coverage) result {
			return result{body: jsonBody(dataOf[cola.Coverage]{c})}
		}),
	}}
}

// exampleCoverage is the coverage of a registry with two years of labels.
func exampleCoverage() cola.Coverage {
	thisYear := cola.CoverageCounts{
		Labels: 131_000, WithDetail: 130_400, WithImages: 129_800, WithBarcodes: 84_000,
		KnownDates: 130_400, EstimatedDates: 600,
	}
	lastYear := cola.CoverageCounts{
		Labels: 148_000, WithDetail: 148_000, WithImages: 147_500, WithBarcodes: 96_200, KnownDates: 148_000,
	}
	c := cola.Coverage{
		DataAsOf:      cola.NewDate(2026, 11, 20),
		Years:         []cola.YearCoverage{{Year: 2026, CoverageCounts: thisYear}, {Year: 2025, CoverageCounts: lastYear}},
		EstimateError: &cola.EstimateError{Labels: 278_400, MedianDays: 2, Within25: 0.96, WorstDays: 115},
	}
	c.Add(thisYear)
	c.Add(lastYear)
	finished := cola.TimestampOf(time.Date(2026, 11, 22, 6, 0, 41, 0, time.UTC))
	c.LastImports = []cola.LastImport{{
		Import: cola.Import{
			Kind: "colas", StartedAt: finished - 41_000_000, FinishedAt: finished,
			Read: 427, Added: 425, Changed: 1, Rejected: 1,
		},
		SucceededAt: cola.Some(finished),
	}}
	return c
}
