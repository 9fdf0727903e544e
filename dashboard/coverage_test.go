package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/registrytest"
	"github.com/colaregistry/colaregistry/registry"
)

// covering is a service that returns fixed coverage data.
type covering struct {
	*registry.Service
	coverage cola.Coverage
}

func (c covering) Coverage(context.Context, cola.Caller) (cola.Coverage, cola.QuotaState, error) {
	return c.coverage, cola.QuotaState{}, nil
}

// setCoverage makes the site show the given coverage.
func (s *site) setCoverage(c cola.Coverage) {
	s.handler = New(covering{s.registry.Service, c}, s.browsers,
		Options{PublicURL: registrytest.PublicURL, Logger: slog.New(slog.DiscardHandler), Now: s.registry.Now})
}

func TestCoverage(t *testing.T) {
	s := mustSite(t)
	a := s.get("/coverage")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, "By year of approval", "No imports recorded", "https://registry.example/api/v1/coverage")
	if to := s.by("").get("/coverage").redirects(t); to != "/sign-in?return=%2Fcoverage" {
		t.Errorf("signed out: redirect to %s", to)
	}

	s.setCoverage(cola.Coverage{})
	a = s.get("/coverage")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, "no labels yet")

	undated := cola.Coverage{Undated: 3, CoverageCounts: cola.CoverageCounts{Labels: 3}}
	s.setCoverage(undated)
	a = s.get("/coverage")
	a.checkHTML(t)
	a.shows(t, http.StatusOK, "3 labels.")

	at := cola.TimestampOf(time.Date(2026, 11, 20, 6, 0, 41, 0, time.UTC))
	counts := cola.CoverageCounts{Labels: 1200, WithDetail: 1199, WithImages: 1, KnownDates: 1100, EstimatedDates: 100}
	s.setCoverage(cola.Coverage{
		DataAsOf: cola.NewDate(2026, 11, 19), CoverageCounts: counts,
		Years:         []cola.YearCoverage{{Year: 2026, CoverageCounts: counts}},
		EstimateError: &cola.EstimateError{Labels: 100, MedianDays: 1, Within25: 0.57, WorstDays: 115},
		LastImports: []cola.LastImport{
			{Import: cola.Import{Kind: "colas", FinishedAt: at, Read: 1234}, SucceededAt: cola.Some(at)},
			{Import: cola.Import{Kind: "processing-times", FinishedAt: at, Failed: true}},
		},
	})
	a = s.get("/coverage")
	a.checkHTML(t)
	// A share is 100% only if no label lacks the data, and 0% only if all do.
	a.shows(t, http.StatusOK, "Nov 19, 2026", "1,199", ">99%", "<1%", "1,100", "92%", "8%", "1 day", "115 days", "57%",
		"Processing times", "Nov 20, 2026, 06:00 UTC", "1,234", "failed", "complete")
}
