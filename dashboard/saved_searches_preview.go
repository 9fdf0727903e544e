package dashboard

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/registry"
)

var previewReader = params.New[cola.PreviewParams]("this form")

// preview shows the recent labels that match the filters of a form.
type preview struct {
	registry.PreviewPage
	Empty        bool // no filter is set
	Invalid      bool // the filters are invalid, so there are no counts
	Problem      string
	Bars         []previewBar
	MaxCount     int
	NamedLabels  []namedLabel
	UnknownWords []string // notes on a search without matches, with suggestions
}

// namedLabel is a label with its brand and product.
type namedLabel struct {
	cola.ColaSummary
	Name string
}

// previewBar is one day of the chart.
type previewBar struct {
	cola.PreviewDay
	X, Y, Height int
}

// The height of the chart and the width of a day, in view box units.
const (
	previewHeight   = 60
	previewDayWidth = 10
)

// previewSearch returns the preview fragment for a form that is being filled in.
func (req *request) previewSearch() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	words, err := req.svc.Vocabulary(req.ctx())
	if err != nil {
		return err
	}
	_, preview, err := req.preview(form, words)
	if err != nil {
		return err
	}
	return req.showPart("saved_search_form", "preview", preview)
}

// preview counts the matches of a form's filters. words is the vocabulary of labels. For invalid
// filters it returns the first problem; saving the form lists them all.
func (req *request) preview(
	form url.Values, words registry.Vocabulary,
) (filters cola.SavedSearchFilters, shown preview, err error) {
	fields := url.Values{}
	for name, values := range form {
		if strings.HasPrefix(name, "filters.") {
			fields[name] = values
		}
	}
	p := previewReader.Read(previewReader.Fields(fields), nil)
	if p.Filters == nil {
		p.Filters = &cola.SavedSearchFilters{}
	}
	names, empty := cola.MaxPreviewLabels, noFilters(fields)
	if empty {
		names = 0 // an empty form shows no labels, because shown labels count toward a daily limit
	}
	found, state, err := req.svc.PreviewLabels(req.ctx(), req.caller, p, names)
	req.recordQuota(state)
	if cola.CodeOf(err) == cola.CodeValidation {
		return filters, preview{Invalid: true, Problem: firstProblem(err)}, nil
	}
	if err != nil {
		return filters, shown, err
	}
	shown = preview{PreviewPage: found, Empty: empty}
	if found.Total == 0 {
		shown.UnknownWords = words.UnknownWords(*p.Filters)
	}
	for i := range found.Labels {
		shown.NamedLabels = append(shown.NamedLabels, namedLabel{found.Labels[i], labelName(&found.Labels[i])})
	}
	shown.layoutBars()
	return *p.Filters, shown, nil
}

// firstProblem returns the first problem with invalid filters, prefixed with the label of its
// field.
func firstProblem(err error) string {
	problems := (&searchForm{Problems: fieldProblems(err)}).ProblemList()
	if len(problems) == 0 {
		return "Invalid filters."
	}
	return problems[0].Label + ": " + problems[0].Message
}

// noFilters reports whether no filter is set. A unit without a bound is not a filter.
func noFilters(fields url.Values) bool {
	for name, values := range fields {
		if name != "filters.volume_unit" && strings.TrimSpace(strings.Join(values, "")) != "" {
			return false
		}
	}
	return true
}

// layoutBars computes the bars of the chart.
func (p *preview) layoutBars() {
	for _, d := range p.Days {
		p.MaxCount = max(p.MaxCount, d.Count)
	}
	for i, d := range slices.Backward(p.Days) {
		bar := previewBar{PreviewDay: d, X: (len(p.Days) - 1 - i) * previewDayWidth}
		if d.Count > 0 {
			bar.Height = max(2, d.Count*previewHeight/p.MaxCount)
		}
		bar.Y = previewHeight - bar.Height
		p.Bars = append(p.Bars, bar)
	}
}

// Summary returns the preview in one sentence.
func (p preview) Summary() string {
	switch {
	case p.Invalid:
		return p.Problem
	case p.Empty:
		return "Add a filter to see recent matches."
	case len(p.UnknownWords) > 0:
		return strings.Join(p.UnknownWords, " ")
	case p.Total == 0:
		return "No labels in the last 30 days."
	}
	return plural(p.Total, "label", "labels") + " in the last 30 days."
}

// Withheld explains why labels are missing; it is empty if none are.
func (p preview) Withheld() string {
	switch p.PreviewPage.Withheld {
	case registry.WithheldDailyLimit:
		return "You’ve reached the daily limit of " + strconv.Itoa(cola.MaxDailyPreviewLabels) +
			" previewed labels. It resets at 00:00 UTC. Until then, use Explore."
	case registry.WithheldUnavailable:
		return "Labels can’t be shown right now, but the counts are accurate."
	}
	return ""
}

// Width returns the width of the chart.
func (p preview) Width() int { return len(p.Days) * previewDayWidth }

// First returns the oldest day of the chart.
func (p preview) First() string { return p.Days[len(p.Days)-1].Date.Time().Format("Jan 2") }

// Last returns the latest day of the chart.
func (p preview) Last() string { return p.Days[0].Date.Time().Format("Jan 2") }
