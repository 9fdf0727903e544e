package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// homeService contains the operations that only the overview uses.
type homeService interface {
	LatestMatches(ctx context.Context, c cola.Caller, limit int) ([]registry.MatchedRun, cola.QuotaState, error)
	Samples(context.Context) (*registry.Samples, error)
}

// homeMatches is the maximum number of saved searches for which the overview shows the latest
// matches.
const homeMatches = 5

// homePage is the overview.
type homePage struct {
	Steps   []firstStep // empty once all are done
	Months  []monthChart
	Reset   time.Time
	Failing []destinationRow
	Matches []matchRow
	Saved   int // total number of saved searches
	// NoAlerts is set if Steps, Failing and Saved are unknown: the index is being built, or the
	// database didn't respond in time.
	NoAlerts bool
	Labels   []registry.SampleLabel
}

// firstStep is a step that a new account should take, with a link to the page for it.
type firstStep struct {
	Text, Link, Href string
	Done             bool
}

// monthChart is a forecast with the month's usage by day.
type monthChart struct {
	forecast
	Spark chart
}

// matchRow is a run with matches.
type matchRow struct {
	registry.MatchedRun
	Href string
}

// home shows the overview. It is free, so it shows the landing page's labels, which are the same
// for everyone and change once an hour.
func (req *request) home() error {
	report, state, err := req.svc.UsageReport(req.ctx(), req.caller, registry.Last7Days)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	p := homePage{Months: monthCharts(report), Reset: report.State.Period.End(), Labels: req.newestLabels()}
	matches, _, err := req.svc.LatestMatches(req.ctx(), req.caller, homeMatches)
	if err != nil {
		return err
	}
	for _, m := range matches {
		p.Matches = append(p.Matches, matchRow{m, runPath(m.Search, strconv.FormatInt(m.ID, 10))})
	}
	called := slices.ContainsFunc(report.Rows, func(r registry.UsageRow) bool {
		return r.Credential.Kind == cola.CredentialKey || r.Credential.Kind == cola.CredentialLink
	})
	if err := req.addAlerts(&p, called); cola.CodeOf(err) == cola.CodeUnavailable {
		p.NoAlerts = true
	} else if err != nil {
		return err
	}
	return req.show(http.StatusOK, "home", page{
		Title: "Overview",
		Data:  p,
		Call:  req.call("GET", "/usage", freeCost).forTool("get_usage", nil),
	})
}

// addAlerts adds failing destinations, the number of saved searches and the first steps; called
// says whether a key or app was used in the last 7 days. On a server without email, it leaves out
// the account's own address, because the user can't fix that.
func (req *request) addAlerts(p *homePage, called bool) error {
	names, searches, err := req.loadNames()
	if err != nil {
		return err
	}
	for _, d := range names.all {
		row := req.destinationRow(d, names.searches)
		if row.Class == "bad" && (!row.Own || row.Unserved == "") {
			p.Failing = append(p.Failing, row)
		}
	}
	p.Saved = len(searches.Names)
	if p.Saved == 0 || !called {
		p.Steps, err = req.firstSteps(p.Saved > 0)
	}
	return err
}

// firstSteps returns an account's first steps, or none if all are done.
func (req *request) firstSteps(saved bool) ([]firstStep, error) {
	keys, _, err := req.svc.Keys(req.ctx(), req.caller)
	if err != nil {
		return nil, err
	}
	apps, _, err := req.svc.Connections(req.ctx(), req.caller)
	if err != nil {
		return nil, err
	}
	called := false
	for _, k := range keys {
		called = called || !k.LastUsedAt.IsZero()
	}
	for _, a := range apps {
		called = called || !a.LastUsedAt.IsZero()
	}
	if called && saved {
		return nil, nil
	}
	return []firstStep{
		{"Create an API key for your script, or connect an app.", "Create key", keysPath + "/new", len(keys)+len(apps) > 0},
		{"Make your first call with curl, code or an assistant.", "Open setup", setupPath, called},
		{"Save a search to get alerts about new labels.", "New saved search", searchesPath + "/new", saved},
	}, nil
}

// newestLabels returns the landing page's labels, or none while the index is being built.
func (req *request) newestLabels() []registry.SampleLabel {
	samples, err := req.svc.Samples(req.ctx())
	if err != nil {
		if cola.CodeOf(err) != cola.CodeUnavailable {
			req.opts.Logger.Warn("could not read samples; showing the overview without labels", "error", err)
		}
		return nil
	}
	return samples.Labels
}

// monthCharts returns the forecasts of a month with its usage by day.
func monthCharts(r registry.UsageReport) []monthChart {
	steps := make([]chartStep, r.State.Period.End().Sub(r.State.Period.Start())/(24*time.Hour))
	for i := range steps {
		steps[i].Label = r.State.Period.Start().AddDate(0, 0, i).Format("Jan 2")
	}
	var months []monthChart
	for _, f := range forecasts(r) {
		s := series{Class: seriesClasses()[0]}
		for _, day := range r.Days {
			s.Values = append(s.Values, f.unit.count(day))
		}
		spark := newChart(f.unit.id, capitalize(f.unit.unit)+" per day", "Day", f.unit.unit, steps, []series{s})
		months = append(months, monthChart{f, spark})
	}
	return months
}
