package dashboard

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// collectionService contains the operations on the collectors. Only operators may use them.
type collectionService interface {
	Collection(context.Context, cola.Caller) (registry.Collection, cola.QuotaState, error)
	ResumeCollection(context.Context, cola.Caller) (cola.QuotaState, error)
	RetryFailedLabels(context.Context, cola.Caller) (cola.QuotaState, error)
	RetryIncompleteDays(context.Context, cola.Caller) (cola.QuotaState, error)
}

func collectionRoutes() []route {
	return []route{
		get(collectionPath, operator((*request).collection)),
		get(collectionPath+"/resume", operator((*request).confirmResume)),
		post(collectionPath+"/resume", operator((*request).resumeCollection)),
		post(collectionPath+"/retry-labels", operator((*request).retryLabels)),
		post(collectionPath+"/retry-days", operator((*request).retryDays)),
	}
}

// operator serves a page to operators. To others, the page doesn't exist.
func operator(serve func(*request) error) func(*request) error {
	return func(req *request) error {
		if !req.account.Operator {
			return req.notFoundPage()
		}
		return serve(req)
	}
}

const (
	updateSeconds = 15
	// maxUpdates is how many times an open page updates itself: enough for half an hour. Each
	// update keeps the session alive, and an unattended session must expire.
	maxUpdates = 30 * 60 / updateSeconds
)

// collectionPage shows the state of the collectors.
type collectionPage struct {
	registry.Collection
	Now           time.Time
	Holder        cola.AccountID
	UpdateSeconds int
	UpdatesLeft   int // automatic updates left while the page is open
	Stored        []share
	Imports       []importRow
	Start         copied // command that starts a collector
}

// startCollector is the command that starts a collector.
const startCollector = "colaregistry fetch ttb --follow --contact you@example.com"

func (req *request) collection() error {
	c, err := req.readCollection()
	if err != nil {
		return err
	}
	p := collectionPage{
		Collection: c, Now: req.now(), Holder: req.caller.Account, UpdateSeconds: updateSeconds, UpdatesLeft: maxUpdates,
		Imports: importRows(c.Imports), Start: copied{"command", startCollector},
	}
	if n := c.Coverage.Labels; n > 0 {
		p.Stored = []share{
			{"With details", c.Coverage.WithDetail, n}, {"With images", c.Coverage.WithImages, n},
			{"With barcodes", c.Coverage.WithBarcodes, n},
		}
	}
	if req.isUpdate() {
		p.UpdatesLeft = req.updatesLeft(maxUpdates)
		return req.showPart("collection", "live", p)
	}
	return req.show(http.StatusOK, "collection", page{Title: "Data collection", Data: p})
}

func (req *request) readCollection() (registry.Collection, error) {
	c, state, err := req.svc.Collection(req.ctx(), req.caller)
	req.recordQuota(state)
	return c, err
}

// Days counts the planned days.
func (p collectionPage) Days() int { return p.DaysComplete + p.DaysPending + p.DaysIncomplete }

// Rate returns the latest collector's limit in requests per second, or "".
func (p collectionPage) Rate() string {
	if p.Interval <= 0 {
		return ""
	}
	const thousandths = 1000
	return formatDecimal(math.Round(thousandths/p.Interval.Seconds()) / thousandths)
}

// TimeLeft returns the estimated time left in words.
func (p collectionPage) TimeLeft() string { return aboutDuration(p.Left) }

// aboutDuration formats a duration, rounded for display.
func aboutDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return plural(int64((d+day/2)/day), "day", "days")
	case d >= 2*time.Hour:
		return plural(int64((d+time.Hour/2)/time.Hour), "hour", "hours")
	case d >= 2*time.Minute:
		return plural(int64((d+time.Minute/2)/time.Minute), "minute", "minutes")
	}
	return "a minute"
}

// incompleteDay is a day, or a range of classes on a day, that could not be completed.
type incompleteDay struct {
	Day     cola.Date
	Classes string // empty for the whole day
	Failure string
}

// IncompleteDays lists the latest incomplete days and parts of days.
func (p collectionPage) IncompleteDays() (days []incompleteDay) {
	for _, w := range p.Incomplete {
		d := incompleteDay{Day: w.Day, Failure: singleLine(w.Failure)}
		if w.Class.From != "" {
			d.Classes = w.Class.From + " to " + w.Class.To
		}
		days = append(days, d)
	}
	return days
}

// failedLabel is a label that could not be fetched.
type failedLabel struct {
	TTBID   cola.TTBID
	Failure string
}

// FailedLabels lists the latest failed labels.
func (p collectionPage) FailedLabels() (labels []failedLabel) {
	for _, l := range p.Failed {
		labels = append(labels, failedLabel{l.TTBID, singleLine(l.Failure)})
	}
	return labels
}

// sourceRow is a source of reference data.
type sourceRow struct {
	Name                  string
	CheckedAt, ImportedAt time.Time
	Failure               string // reason the latest fetch failed, or empty
}

// ReferenceSources lists the sources of reference data.
func (p collectionPage) ReferenceSources() (rows []sourceRow) {
	for _, s := range p.Sources {
		rows = append(rows, sourceRow{importTitle(s.Source), s.CheckedAt, s.ImportedAt, singleLine(s.Failure)})
	}
	return rows
}

// CompleteShare returns the share of the planned days that are complete.
func (p collectionPage) CompleteShare() share { return share{"Complete", p.DaysComplete, p.Days()} }

// BlockedText and FailureText return responses from TTB's site, on one line.
func (p collectionPage) BlockedText() string { return singleLine(p.Blocked) }
func (p collectionPage) FailureText() string { return singleLine(p.LastFailure) }

func (req *request) confirmResume() error {
	c, err := req.readCollection()
	if err != nil {
		return err
	}
	if c.Blocked == "" {
		return req.redirect(collectionPath, "Requests aren’t blocked.")
	}
	return req.show(http.StatusOK, "collection_resume",
		page{Title: "Resume collection", Data: collectionPage{Collection: c, Holder: req.caller.Account}})
}

func (req *request) resumeCollection() error {
	return req.changeCollection(req.svc.ResumeCollection,
		"Block cleared. Running collectors will resume within a minute.")
}

func (req *request) retryLabels() error {
	return req.changeCollection(req.svc.RetryFailedLabels, "Failed labels requeued.")
}

func (req *request) retryDays() error {
	return req.changeCollection(req.svc.RetryIncompleteDays, "Incomplete days requeued.")
}

// changeCollection makes a change and redirects to the page.
func (req *request) changeCollection(
	change func(context.Context, cola.Caller) (cola.QuotaState, error), notice string,
) error {
	if _, err := req.form(); err != nil {
		return err
	}
	state, err := change(req.ctx(), req.caller)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	return req.redirect(collectionPath, notice)
}
