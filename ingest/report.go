package ingest

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/colaregistry/colaregistry/store"
)

// maxRejections is the maximum number of rejected rows that a report lists. Additional rows are
// only counted.
const maxRejections = 1000

// maxReason is the maximum length of a reason, in bytes.
const maxReason = 1000

// maxWarnings is the maximum number of warnings in a report.
const maxWarnings = 100

// Counts counts rows by outcome. Read is the sum of the other counts.
type Counts struct {
	Read      int // rows processed
	Added     int // added a record
	Changed   int // changed a stored record
	Unchanged int // equal to the stored record
	Rejected  int // not written
}

// Report is the result of an import.
type Report struct {
	Kind    Kind
	DryRun  bool
	Sources int
	Counts
	// History is true if the labels trigger no alerts. Initial is true if the store had no labels
	// before, which implies History. They are only set for Colas.
	History, Initial bool
	// Undated is the number of labels in the input that have no approval date after the import or,
	// in a dry run, would have none. It is only set for Colas.
	Undated int
	// Estimated is the number of labels in Undated that have an estimated date. The others have an
	// ID without a plausible receipt date.
	Estimated int
	// Rejections lists the first 1,000 rejected rows, in order.
	Rejections []Rejection
	// reasons counts all rejected rows by reason.
	reasons reasonCounts
	// rejects is true if the rejected rows are written to Options.Rejects.
	rejects bool
	// Failures lists the sources that could not be read completely.
	Failures []SourceError
	// Warnings lists problems that did not cause a row to be rejected, such as unknown keys.
	Warnings []Warning
}

// Rejection is one rejected row.
type Rejection struct {
	Source string
	Line   int // first line of the row, from 1
	Reason string
}

// String returns source:line: reason.
func (r Rejection) String() string { return fmt.Sprintf("%s:%d: %s", r.Source, r.Line, r.Reason) }

// Warning is a problem with a source that did not cause a row to be rejected.
type Warning struct {
	Source  string
	Message string
	Rows    int // number of affected rows; zero if it concerns the whole source
}

// String returns source: message.
func (w Warning) String() string {
	if w.Rows == 0 {
		return w.Source + ": " + w.Message
	}
	return fmt.Sprintf("%s: %s (%s)", w.Source, w.Message, counted(w.Rows, "row"))
}

// SourceError is the error for a source that could not be read completely.
type SourceError struct {
	Source string
	Line   int // from 1; zero if it concerns the whole source
	Err    error
}

// Error returns source:line: reason.
func (e *SourceError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Source, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Source, e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *SourceError) Unwrap() error { return e.Err }

// count counts an accepted row by its outcome.
func (r *Report) count(outcome store.Outcome) {
	r.Read++
	switch outcome {
	case store.Added:
		r.Added++
	case store.Changed:
		r.Changed++
	default:
		r.Unchanged++
	}
}

// reject counts a rejected row, and lists it unless the list has maxRejections rows.
func (r *Report) reject(rejection Rejection) {
	r.Read++
	r.Rejected++
	rejection.Reason = truncate(rejection.Reason, maxReason)
	r.reasons.add(rejection)
	if len(r.Rejections) < maxRejections {
		r.Rejections = append(r.Rejections, rejection)
	}
}

// warn adds a warning, or adds its rows to an existing identical one.
func (r *Report) warn(w Warning) {
	for i := range r.Warnings {
		if r.Warnings[i].Source == w.Source && r.Warnings[i].Message == w.Message {
			r.Warnings[i].Rows += w.Rows
			return
		}
	}
	if len(r.Warnings) < maxWarnings {
		r.Warnings = append(r.Warnings, w)
	}
}

// warnRows adds warnings about rows, most frequent first.
func (r *Report) warnRows(source string, rows map[string]int) {
	messages := make([]string, 0, len(rows))
	for m := range rows {
		messages = append(messages, m)
	}
	slices.SortFunc(messages, func(a, b string) int { return cmp.Or(rows[b]-rows[a], cmp.Compare(a, b)) })
	for _, m := range messages {
		r.warn(Warning{Source: source, Message: m, Rows: rows[m]})
	}
}

// Summary returns the report's last line: read=… added=… changed=… unchanged=… rejected=….
func (r Report) Summary() string {
	return fmt.Sprintf("read=%d added=%d changed=%d unchanged=%d rejected=%d",
		r.Read, r.Added, r.Changed, r.Unchanged, r.Rejected)
}

// WriteTo writes the report for humans: the rejected rows by reason, the warnings, whether the
// labels are history, and the Summary. It omits failures, which Import's error includes.
func (r Report) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	if omitted := r.reasons.write(&b); omitted && !r.rejects {
		b.WriteString("to see every rejected row, use --rejects FILE\n")
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	if r.Kind == Colas && r.Read > 0 {
		fmt.Fprintf(&b, "labels without an approval date: %d%s\n", r.Undated, undatedHint(r))
	}
	if r.History && r.Read > 0 {
		fmt.Fprintf(&b, "history: these labels trigger no alerts%s\n", initialHint(r.Initial))
	}
	if r.DryRun {
		b.WriteString("dry run: nothing was written\n")
	}
	b.WriteString(r.Summary())
	b.WriteByte('\n')
	return b.WriteTo(w)
}

func initialHint(initial bool) string {
	if !initial {
		return ""
	}
	return ", because the registry was empty; use --history for the remaining files of this initial load, or to " +
		"resume this import"
}

// undatedHint explains how searches treat undated labels and what to do next.
func undatedHint(r Report) string {
	if r.Undated == 0 {
		return ""
	}
	none := r.Undated - r.Estimated
	hint := fmt.Sprintf(" (%d estimated, %d undated); to get the dates, import the detail pages", r.Estimated, none)
	if none > 0 {
		hint += "; only searches with date_range=all find undated labels"
	}
	return hint
}
