package dashboard

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// coverageService contains the operation for the coverage page.
type coverageService interface {
	Coverage(context.Context, cola.Caller) (cola.Coverage, cola.QuotaState, error)
}

func coverageRoutes() []route { return []route{get(coveragePath, (*request).coverage)} }

// coveragePage shows how complete and current the data is.
type coveragePage struct {
	cola.Coverage
	Shares  []share // one per kind of data, over all labels
	Years   []yearRow
	Imports []importRow
	// GoodEstimates is the percentage of estimates that are within 25 days of the known date.
	GoodEstimates int
}

func (req *request) coverage() error {
	c, state, err := req.svc.Coverage(req.ctx(), req.caller)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	p := coveragePage{Coverage: c, Shares: sharesOf(c)}
	if e := c.EstimateError; e != nil {
		p.GoodEstimates = percent(int(math.Round(e.Within25*float64(e.Labels))), e.Labels)
	}
	for _, y := range c.Years {
		p.Years = append(p.Years, yearRow{y.Year, y.Labels, []share{
			{"With details", y.WithDetail, y.Labels},
			{"With images", y.WithImages, y.Labels},
			{"With barcodes", y.WithBarcodes, y.Labels},
			{"Known dates", y.KnownDates, y.Labels},
		}})
	}
	p.Imports = importRows(c.LastImports)
	return req.show(http.StatusOK, "coverage",
		page{Title: "Data coverage", Data: p, Call: req.call("GET", "/coverage", freeCost)})
}

// share is the portion of a set of labels that has certain data.
type share struct {
	Name     string
	Count, N int
}

// Percent returns the portion as a rounded percentage. It is 0% or 100% only if that is exact.
func (s share) Percent() string {
	switch p := int(math.Round(float64(s.Count) * 100 / float64(max(s.N, 1)))); {
	case p == 0 && s.Count > 0:
		return "<1%"
	case p == 100 && s.Count < s.N:
		return ">99%"
	default:
		return strconv.Itoa(p) + "%"
	}
}

func sharesOf(c cola.Coverage) []share {
	return []share{
		{"With details", c.WithDetail, c.Labels},
		{"With images", c.WithImages, c.Labels},
		{"With barcodes", c.WithBarcodes, c.Labels},
		{"Known approval date", c.KnownDates, c.Labels},
		{"Estimated approval date", c.EstimatedDates, c.Labels},
		{"Undated", c.Undated, c.Labels},
	}
}

// yearRow is the coverage of one year.
type yearRow struct {
	Year, Labels int
	Shares       []share
}

// importRow is the latest import of one kind of data.
type importRow struct {
	cola.LastImport
	Name string
}

func importRows(imports []cola.LastImport) (rows []importRow) {
	for _, i := range imports {
		rows = append(rows, importRow{i, importTitle(i.Kind)})
	}
	return rows
}

// importTitle returns the display name of a kind of import.
func importTitle(kind string) string {
	switch kind {
	case "colas":
		return "Labels"
	case "avas":
		return "AVAs"
	}
	return capitalize(strings.ReplaceAll(kind, "-", " "))
}
