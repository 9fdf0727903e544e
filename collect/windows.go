package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/collect/ttb"
	"github.com/colaregistry/colaregistry/ingest"
	"github.com/colaregistry/colaregistry/store"
)

// maxSearches is how many times a search is sent if its session keeps expiring.
const maxSearches = 3

// window collects a claimed window.
func (c *collector) window(w store.FetchWindow) error {
	completed := false
	failure, err := c.do(claim{
		what: windowName(w), attempts: w.Attempts,
		extend:  func(ctx context.Context, d time.Duration) error { return c.st.ExtendWindow(ctx, w, d) },
		release: func(ctx context.Context) error { return c.st.ReleaseWindow(ctx, w) },
		fail: func(ctx context.Context, failure string, wait time.Duration) error {
			return c.st.FailWindow(ctx, w, failure, wait)
		},
	}, func(ctx context.Context) (err error) {
		completed, err = c.fetchWindow(ctx, w)
		return err
	})
	if completed {
		c.report.Windows++
	}
	if failure != "" {
		c.o.Logger.Error("window incomplete", "window", windowName(w), "failure", failure)
	}
	return err
}

// windowName returns the name of a window for messages, such as "2026-11-20, classes 80 to 89Z".
func windowName(w store.FetchWindow) string {
	if w.Class == (store.ClassRange{}) {
		return w.Day.String()
	}
	return fmt.Sprintf("%s, classes %s to %s", w.Day, w.Class.From, w.Class.To)
}

// fetchWindow searches for a window's labels and imports them, or splits the window.
func (c *collector) fetchWindow(ctx context.Context, w store.FetchWindow) (completed bool, err error) {
	matches, export, parts, err := c.export(ctx, w)
	switch {
	case err != nil:
		return false, err
	case parts != nil:
		c.o.Logger.Info("window split", "window", windowName(w), "labels", matches.Total, "parts", len(parts))
		return false, fatal(c.st.SplitWindow(ctx, w, matches.Total, parts))
	}
	var rows exportRows
	if matches.Total > 0 {
		if rows, err = c.importExport(ctx, w, export); err != nil {
			return false, err
		}
	}
	switch {
	case matches.Total > matches.Listed:
		return false, &permanentError{fmt.Errorf("the site lists only %d of %d labels", matches.Listed, matches.Total)}
	case matches.Total < rows.certain || matches.Total > rows.read:
		return false, fmt.Errorf("the export has %d rows, but the search found %d labels", rows.read, matches.Total)
	}
	c.o.Logger.Debug("window complete", "window", windowName(w), "labels", matches.Total)
	if err := c.st.CompleteWindow(ctx, w, matches.Total); err != nil {
		return false, fatal(err)
	}
	return true, nil
}

// export searches for a window's labels and downloads the export. If the export can't list all
// labels, export returns the parts into which to split the window instead, unless the window is a
// single class.
func (c *collector) export(ctx context.Context, w store.FetchWindow) (
	matches ttb.Matches, export []byte, parts []store.ClassRange, err error,
) {
	search := ttb.Search{First: w.Day, Last: w.Day, ClassFrom: w.Class.From, ClassTo: w.Class.To}
	for range maxSearches {
		if matches, err = c.site.Search(ctx, search); err == nil && matches.Total > matches.Listed {
			parts = splitClasses(w.Class)
		}
		if err == nil && matches.Total > 0 && parts == nil {
			export, err = c.site.Export(ctx)
		}
		if !errors.Is(err, ttb.ErrSessionExpired) {
			break
		}
		c.o.Logger.Debug("session expired", "window", windowName(w))
	}
	return matches, export, parts, siteError(err)
}

// exportRows counts the rows of an export. Names may contain line breaks, and the export doesn't
// quote them, so the rest of a row may look like another row. Rows with an ID are certain to be
// real rows.
type exportRows struct{ read, certain int }

// importExport imports an export. New or changed rows are queued before they are stored. Rejected
// rows with an ID are queued even without Details: their pages can be read, and nothing else
// records them.
func (c *collector) importExport(ctx context.Context, w store.FetchWindow, export []byte) (exportRows, error) {
	known := map[cola.TTBID]bool{}
	to := target{Target: c.st, record: c.records.addExport, before: func(patches []cola.Patch[cola.Cola]) error {
		var listed []store.FetchLabel
		for i := range patches {
			label := &patches[i].Record
			known[label.TTBID] = true
			listed = append(listed, store.FetchLabel{TTBID: label.TTBID, Completed: label.LatestUpdateDate})
		}
		if c.o.Details == None {
			return nil
		}
		return c.queueChanged(ctx, w, listed)
	}}
	source := ingest.ReaderSource("export of "+windowName(w), bytes.NewReader(export))
	report, err := c.importSource(ctx, source, to, c.isHistory(w.Day, w.History))
	rows := exportRows{report.Read, report.Read}
	if err != nil {
		return rows, err
	}
	var listed []store.FetchLabel
	lines := bytes.Split(export, []byte("\n"))
	for _, r := range report.Rejections {
		id, ok := idOfRow(lines, r.Line)
		if !ok {
			rows.certain--
		} else if !known[id] {
			listed = append(listed, store.FetchLabel{TTBID: id, Completed: w.Day})
		}
	}
	return rows, fatal(c.queueChanged(ctx, w, listed))
}

// idOfRow returns the ID at the start of a line. Lines are counted from 1.
func idOfRow(lines [][]byte, line int) (cola.TTBID, bool) {
	if line < 1 || line > len(lines) {
		return 0, false
	}
	first, _, _ := bytes.Cut(lines[line-1], []byte(","))
	return cola.ParseTTBID(string(bytes.Trim(first, " '\"=\ufeff")))
}

// isHistory reports whether labels completed on a day are history: those planned as history, and
// those that alerts ignore because they are old. A label stored as history stays history when its
// page is imported.
func (c *collector) isHistory(completed cola.Date, planned bool) bool {
	old := completed != 0 && completed < cola.DateOf(c.o.Now()).AddDays(-HistoryDays)
	return c.o.History || planned || old
}

// importSource imports labels. Rejected rows are not an error; broken sources are.
func (c *collector) importSource(ctx context.Context, s ingest.Source, to target, history bool) (ingest.Report, error) {
	report, err := ingest.Import(ctx, to, ingest.Colas, []ingest.Source{s}, ingest.Options{
		History: history, SkipInvalid: true, Workers: 1, Now: c.o.Now,
	})
	c.report.add(report)
	for _, r := range report.Rejections {
		c.o.Logger.Warn("row rejected", "source", r.Source, "line", r.Line, "reason", r.Reason)
	}
	if err != nil && len(report.Failures) == 0 {
		return report, fatal(err)
	}
	return report, err
}

// add adds the result of an import.
func (r *Report) add(report ingest.Report) {
	r.Read += report.Read
	r.Added += report.Added
	r.Changed += report.Changed
	r.Unchanged += report.Unchanged
	r.Rejected += report.Rejected
	for _, refusal := range report.Rejections {
		if len(r.Rejections) < maxListed {
			r.Rejections = append(r.Rejections, refusal)
		}
	}
}

// queueChanged queues a window's labels that are not stored or have a new completion date.
func (c *collector) queueChanged(ctx context.Context, w store.FetchWindow, listed []store.FetchLabel) error {
	var wanted []store.FetchLabel
	for _, l := range listed {
		stored, err := c.st.Cola(ctx, l.TTBID)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		case stored.LatestUpdateDate == l.Completed:
			continue
		}
		l.Images, l.History = c.o.Images != None, w.History
		wanted = append(wanted, l)
	}
	if len(wanted) == 0 {
		return nil
	}
	return c.st.QueueLabels(ctx, wanted)
}
