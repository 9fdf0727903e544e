package dashboard

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/colaregistry/colaregistry/internal/web"
)

// chart is a chart of counts over time or by range: stacked bars, or a line for each series. A
// table next to it shows the same numbers; assets/chart.js reads them from there for tooltips.
// Coordinates are in the units of its view box.
type chart struct {
	ID          string // unique on its page
	Title       string
	Unit        string // what is counted: a plural noun
	Description string // text alternative
	TimeUnit    string // heading of the table's first column, such as Day or Month
	Lines       bool
	Steps       []chartStep
	Series      []series
	Totals      []int       // sum of all series, by step
	Levels      []axisLabel // labels of the vertical axis, lowest first
	Below       []axisLabel // labels of the horizontal axis
	Layers      []layer
}

// chartStep is the time span, or the range, of one bar.
type chartStep struct {
	Label string // label in the table
	Exact string // date or month in the CSV file of the chart
	Below string // label below the axis; may be empty
	Wide  bool   // Below fits only on wide screens

	Partial bool // only part of the time span is counted
}

// series is one part of every bar, or one line.
type series struct {
	Name   string // may be empty if the chart has only one series
	Class  string // style class: one of seriesClasses
	Values []int  // by step; future steps are missing
}

// Total returns the sum over all steps.
func (s series) Total() (sum int) {
	for _, v := range s.Values {
		sum += v
	}
	return sum
}

// At returns the value of a step, or 0 for a future step.
func (s series) At(i int) int {
	if i >= len(s.Values) {
		return 0
	}
	return s.Values[i]
}

// axisLabel is a label and its position on an axis.
type axisLabel struct {
	At    int
	Label string
	Wide  bool // fits only on wide screens
}

// layer is the path of a series: its part of every bar, or its line. The bars of partial steps have
// their own path.
type layer struct{ Class, Path, Partial string }

// The view box of a chart and the position of the bars in it. Text is about 13 units high; the
// style sheet enlarges it on small screens.
const (
	boxWidth   = 480
	boxHeight  = 212
	barsLeft   = 50
	barsRight  = 466
	barsTop    = 12
	barsBottom = 180
	maxLevels  = 4 // levels above zero
)

// seriesClasses are the style classes of series, in order. Each has a color and, except for the
// first, a pattern.
func seriesClasses() []string { return []string{"one", "two", "three", "four", "five", "six"} }

// row is the table row for a step: the values of the series and their total.
type row struct {
	Label  string
	Values []int
}

// Rows returns the rows of the table, without future steps.
func (p chart) Rows() []row {
	var rows []row
	for i, s := range p.Steps {
		r := row{Label: s.Label}
		known := false
		for _, part := range p.Series {
			known = known || i < len(part.Values)
			if len(p.Series) > 1 {
				r.Values = append(r.Values, part.At(i))
			}
		}
		if known {
			r.Values = append(r.Values, p.Totals[i])
			rows = append(rows, r)
		}
	}
	return rows
}

// Columns returns the headings of the table's columns, except the first.
func (p chart) Columns() (columns []string) {
	if len(p.Series) < 2 {
		return []string{capitalize(p.Unit)}
	}
	for _, s := range p.Series {
		columns = append(columns, s.Name)
	}
	return append(columns, "Total")
}

// CSV returns the table as a data URL; see csvURL.
func (p chart) CSV() template.URL {
	lines := [][]string{{p.TimeUnit}}
	for _, head := range p.Columns() {
		lines[0] = append(lines[0], web.InertCell(head))
	}
	for i, r := range p.Rows() {
		line := []string{p.Steps[i].Exact}
		for _, n := range r.Values {
			line = append(line, strconv.Itoa(n))
		}
		lines = append(lines, line)
	}
	return csvURL(lines)
}

// csvURL returns a CSV file as a data URL, so that downloading it needs no request and costs
// nothing.
func csvURL(lines [][]string) template.URL {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	_ = w.WriteAll(lines) // cannot fail: writes to memory
	text := strings.ReplaceAll(url.PathEscape(b.String()), "%2C", ",")
	return template.URL("data:text/csv;charset=utf-8," + text) // #nosec: escaped
}

// newChart draws series by step as stacked bars. timeUnit is Day, Month or another step; unit is
// the plural noun for what is counted.
func newChart(id, title, timeUnit, unit string, steps []chartStep, all []series) chart {
	p := newEmptyChart(id, title, timeUnit, unit, steps, all)
	top := p.addLevels(maxValue(p.Totals))
	p.Layers = layersOf(all, steps, top)
	return p
}

// newLineChart is like newChart, but draws a line for each series.
func newLineChart(id, title, timeUnit, unit string, steps []chartStep, all []series) chart {
	p := newEmptyChart(id, title, timeUnit, unit, steps, all)
	p.Lines = true
	highest := 0
	for _, s := range all {
		highest = max(highest, maxValue(s.Values))
	}
	top := p.addLevels(highest)
	for _, s := range all {
		p.Layers = append(p.Layers, layer{Class: s.Class, Path: linePath(s, len(steps), top)})
	}
	return p
}

// newEmptyChart returns a chart without a vertical axis or layers.
func newEmptyChart(id, title, timeUnit, unit string, steps []chartStep, all []series) chart {
	p := chart{
		ID:       id,
		Title:    title,
		Unit:     unit,
		TimeUnit: timeUnit,
		Steps:    steps,
		Series:   all,
		Totals:   totalsOf(len(steps), all),
	}
	for i, s := range steps {
		if s.Below != "" {
			p.Below = append(p.Below, axisLabel{stepCenter(i, len(steps)), s.Below, s.Wide})
		}
	}
	p.Description = p.description()
	return p
}

// addLevels adds a vertical axis for values up to highest, and returns its top level.
func (p *chart) addLevels(highest int) (top int) {
	top, levels := roundLevels(highest)
	for _, level := range levels {
		p.Levels = append(p.Levels, axisLabel{At: barsBottom - barHeight(level, top), Label: shortCount(level)})
	}
	return top
}

// labelSteps chooses the steps whose labels fit below the axis, on wide screens and on phones. The
// letter widths, in units of the view box, are derived from the text sizes in the style sheet.
func labelSteps(steps []chartStep) {
	const wideLetter, phoneLetter, gap = 5, 10, 10
	longest := 0
	for _, s := range steps {
		longest = max(longest, utf8.RuneCountInString(s.Label))
	}
	every := func(letter int) int {
		room := (barsRight - barsLeft) / (longest*letter + gap)
		return max(1, (len(steps)+room-1)/max(1, room))
	}
	wide := every(wideLetter)
	phone := (every(phoneLetter) + wide - 1) / wide * wide
	for i := range steps {
		if i%wide == 0 {
			steps[i].Below, steps[i].Wide = steps[i].Label, i%phone != 0
		}
	}
}

// Box returns the view box of the drawing.
func (p chart) Box() string { return fmt.Sprintf("0 0 %d %d", boxWidth, boxHeight) }

// Inner returns the view box of the bars alone, for a chart without axes.
func (p chart) Inner() string {
	return fmt.Sprintf("%d %d %d %d", barsLeft, barsTop, barsRight-barsLeft, barsBottom-barsTop)
}

// Area returns the left edge, top, right edge and bottom of the bars or lines.
func (p chart) Area() string { return fmt.Sprint(barsLeft, barsTop, barsRight, barsBottom) }

// Line returns the path of a level's grid line.
func (m axisLabel) Line() string { return fmt.Sprintf("M%d %dH%d", barsLeft, m.At, barsRight) }

// Empty reports whether all values are 0.
func (p chart) Empty() bool { return maxValue(p.Totals) == 0 }

// Partial reports whether bars of partial steps are drawn. Lines don't show them.
func (p chart) Partial() bool {
	return slices.ContainsFunc(p.Layers, func(l layer) bool { return l.Partial != "" })
}

// Named reports whether the series have names to show.
func (p chart) Named() bool { return len(p.Series) > 1 || len(p.Series) == 1 && p.Series[0].Name != "" }

// description summarizes the chart in up to two sentences.
func (p chart) description() string {
	sum, busiest := 0, 0
	for i, total := range p.Totals {
		sum += total
		if total > p.Totals[busiest] {
			busiest = i
		}
	}
	if sum == 0 {
		return "No " + p.Unit + "."
	}
	when := "in"
	if p.TimeUnit == "Day" {
		when = "on"
	}
	desc := fmt.Sprintf("%s %s in total; peak of %s %s %s.", web.Thousands(sum), p.Unit, web.Thousands(p.Totals[busiest]), when,
		p.Steps[busiest].Label)
	if p.Named() {
		parts := make([]string, len(p.Series))
		for i, s := range p.Series {
			parts[i] = s.Name + " " + web.Thousands(s.Total())
		}
		desc += " " + strings.Join(parts, ", ") + "."
	}
	return desc
}

func totalsOf(steps int, all []series) []int {
	totals := make([]int, steps)
	for i := range totals {
		for _, s := range all {
			totals[i] += s.At(i)
		}
	}
	return totals
}

func maxValue(values []int) (result int) {
	for _, v := range values {
		result = max(result, v)
	}
	return result
}

// layersOf draws the bars. Each series starts where the one below it ends, so rounding leaves no
// gaps.
func layersOf(all []series, steps []chartStep, top int) []layer {
	below := make([]int, len(steps))
	layers := make([]layer, len(all))
	for n, s := range all {
		var whole, partial strings.Builder
		for i := range below {
			from, to := barHeight(below[i], top), barHeight(below[i]+s.At(i), top)
			below[i] += s.At(i)
			if to > from {
				x := stepX(i, len(steps))
				gap := max(1, (stepX(i+1, len(steps))-x)/6)
				width := stepX(i+1, len(steps)) - x - 2*gap
				path := &whole
				if steps[i].Partial {
					path = &partial
				}
				fmt.Fprintf(path, "M%d %dh%dv-%dh-%dz", x+gap, barsBottom-from, width, to-from, width)
			}
		}
		layers[n] = layer{s.Class, whole.String(), partial.String()}
	}
	return layers
}

// linePath draws a line through the values of a series.
func linePath(s series, steps, top int) string {
	var path strings.Builder
	for i, n := range s.Values {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&path, "%s%d %d", command, stepCenter(i, steps), barsBottom-barHeight(n, top))
	}
	return path.String()
}

// stepCenter returns the middle of a step.
func stepCenter(i, steps int) int { return (stepX(i, steps) + stepX(i+1, steps)) / 2 }

// stepX returns the left edge of a step.
func stepX(i, steps int) int { return barsLeft + i*(barsRight-barsLeft)/steps }

// barHeight returns the height of a count on an axis that ends at top. It rounds up, so that every
// nonzero bar is visible.
func barHeight(n, top int) int { return (n*(barsBottom-barsTop) + top - 1) / top }

// roundLevels returns the levels of an axis that covers 0 to highest, and the top level. The
// distance between levels is 1, 2 or 5 times a power of ten.
func roundLevels(highest int) (top int, levels []int) {
	spacing, power := 1, 1
	for next := 1; spacing*maxLevels < highest; next++ {
		if next%3 == 0 {
			power *= 10
		}
		spacing = []int{1, 2, 5}[next%3] * power
	}
	for top = 0; top < max(1, highest); top += spacing {
		levels = append(levels, top)
	}
	return top, append(levels, top)
}

// shortCount formats a round number in few characters: 500, 20k, 1.5M.
func shortCount(n int) string {
	switch {
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + "M"
	case n >= 1_000:
		return strconv.FormatFloat(float64(n)/1e3, 'f', -1, 64) + "k"
	}
	return strconv.Itoa(n)
}
