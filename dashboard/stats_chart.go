package dashboard

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// trend is a table of counts and, if its rows are dates or ranges, a chart of them. The columns are
// the values of the second dimension, if there is one.
type trend struct {
	Title   string
	Head    string // heading of the first column
	Columns []series
	Rows    []trendRow
	Shown   int    // number of labels in the table
	Chart   *chart // nil for a ranking
}

// trendRow is a row of the table.
type trendRow struct {
	Label, Detail string
	full          string // untruncated label, for the CSV file
	Href          string // page of a permittee; may be empty
	Counts        []int  // by column; empty without a second dimension
	Total         int
	Bar           []barPart // of a ranking
}

// barPart is one part of a bar, in percent of the longest bar.
type barPart struct {
	Class       string
	From, Width float64
}

// X returns the left edge of the part as an attribute.
func (b barPart) X() string { return strconv.FormatFloat(b.From, 'f', 1, 64) }

// W returns the width of the part as an attribute. A part with labels is always visible.
func (b barPart) W() string { return strconv.FormatFloat(max(b.Width, .3), 'f', 1, 64) }

// Limits that keep a trend readable.
const (
	maxSeries   = 6
	maxBars     = 40 // more periods are drawn as lines
	unknownName = "Unknown"
	otherName   = "Other"
)

// labelCounts holds the number of labels by one or two dimensions.
type labelCounts struct {
	axis, split string // dimensions of the rows and columns; split may be empty
	rows, names []cola.LabelGroup
	cells       map[[2]string]int // by value of axis and split
}

// newTrend builds the table and chart of groups counted by the dimensions. If only the second
// dimension is a date or range, it becomes the rows. If neither is, the table is a ranking with up
// to the given number of rows. cut reports whether groups are missing at the end.
func newTrend(groups []cola.LabelGroup, dimensions []string, rows int, cut bool) trend {
	c := labelCounts{axis: dimensions[0], cells: map[[2]string]int{}}
	t := trend{Title: "Labels by " + dimensionName(dimensions[0]), Head: capitalize(dimensionName(c.axis))}
	if len(dimensions) == 2 {
		c.split = dimensions[1]
		t.Title += " and " + dimensionName(c.split)
		if cola.HasOwnOrder(c.split) && !cola.HasOwnOrder(c.axis) {
			c.axis, c.split = c.split, c.axis
			t.Head = capitalize(dimensionName(c.axis))
		}
		if cut {
			groups = withoutLast(groups, c.sortedFirst())
		}
	}
	c.add(groups)
	if cola.HasOwnOrder(c.axis) {
		c.sortAxis()
	}
	columns := c.columns(!cut)
	for i := range c.rows {
		t.Rows = append(t.Rows, c.row(&c.rows[i], columns))
	}
	t.addColumns(columns)
	if !cola.HasOwnOrder(c.axis) {
		t.Rows = t.Rows[:min(len(t.Rows), rows)]
		t.addBars()
	} else {
		t.addChart(c.axis)
	}
	for _, r := range t.Rows {
		t.Shown += r.Total
	}
	return t
}

// sortedFirst returns the dimension by which the service sorts groups first; see limitGroups.
func (c *labelCounts) sortedFirst() string {
	if cola.HasOwnOrder(c.axis) && !cola.HasOwnOrder(c.split) {
		return c.split
	}
	return c.axis
}

// withoutLast removes the groups with the last value of a dimension, because some of that value's
// groups may be missing. It keeps the groups if it is the only value.
func withoutLast(groups []cola.LabelGroup, dimension string) []cola.LabelGroup {
	if len(groups) == 0 {
		return nil
	}
	last := groups[len(groups)-1].Get(dimension)
	whole := slices.IndexFunc(groups, func(g cola.LabelGroup) bool { return g.Get(dimension) == last })
	if whole == 0 {
		return groups
	}
	return groups[:whole]
}

// add adds groups. Rows and columns are in the order of their first group.
func (c *labelCounts) add(groups []cola.LabelGroup) {
	rows, names := map[string]bool{}, map[string]bool{}
	for _, g := range groups {
		row, name := string(g.Get(c.axis)), ""
		if c.split != "" {
			name = string(g.Get(c.split))
		}
		if !rows[row] {
			rows[row], c.rows = true, append(c.rows, g)
		}
		if !names[name] {
			names[name], c.names = true, append(c.names, g)
		}
		c.cells[[2]string{row, name}] += g.Count
	}
}

// sortAxis sorts the rows by date or range, with unknown ones last, and adds periods without labels.
func (c *labelCounts) sortAxis() {
	value := func(g cola.LabelGroup) string { return string(g.Get(c.axis)) }
	unknown := slices.IndexFunc(c.rows, func(g cola.LabelGroup) bool { return value(g) == "" })
	var last []cola.LabelGroup
	if unknown >= 0 {
		last = []cola.LabelGroup{c.rows[unknown]}
		c.rows = slices.Delete(c.rows, unknown, unknown+1)
	}
	if isRange(c.axis) {
		slices.SortFunc(c.rows, func(a, b cola.LabelGroup) int {
			return cmp.Compare(lowerBound(value(a)), lowerBound(value(b)))
		})
	} else if len(c.rows) > 0 {
		slices.SortFunc(c.rows, func(a, b cola.LabelGroup) int { return strings.Compare(value(a), value(b)) })
		periods := periodsBetween(c.axis, value(c.rows[0]), value(c.rows[len(c.rows)-1]))
		c.rows = c.rows[:0]
		for _, period := range periods {
			var g cola.LabelGroup
			g.Set(c.axis, cola.Text(period))
			c.rows = append(c.rows, g)
		}
	}
	c.rows = append(c.rows, last...)
}

// isRange reports whether a dimension has ranges of numbers.
func isRange(dimension string) bool { return dimension == cola.ByABV || dimension == cola.ByVolume }

// lowerBound returns the lower bound of a range, such as 12 of "12-14" and 50 of "50+".
func lowerBound(text string) float64 {
	low, _, _ := strings.Cut(strings.TrimSuffix(text, "+"), "-")
	n, _ := strconv.ParseFloat(low, 64) // ranges come from the index
	return n
}

// periodsBetween returns all years, quarters or months from one to another, in the API's format.
func periodsBetween(dimension, first, last string) (all []string) {
	months, name := 12, func(at time.Time) string { return at.Format("2006") }
	switch dimension {
	case cola.ByQuarter:
		months, name = 3, func(at time.Time) string { return fmt.Sprintf("%d-Q%d", at.Year(), (at.Month()+2)/3) }
	case cola.ByMonth:
		months, name = 1, func(at time.Time) string { return at.Format("2006-01") }
	}
	year, _ := strconv.Atoi(first[:4])
	for at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); name(at) <= last; at = at.AddDate(0, months, 0) {
		if name(at) >= first {
			all = append(all, name(at))
		}
	}
	return all
}

// column is one column of the table: values of the second dimension.
type column struct {
	name   string
	values []string
}

// columns returns a column for each of the second dimension's values with the most labels. The other
// values share one column, which is left out if groups are missing.
func (c *labelCounts) columns(complete bool) []column {
	if c.split == "" {
		return []column{{values: []string{""}}}
	}
	totals := map[string]int{}
	for cell, n := range c.cells {
		totals[cell[1]] += n
	}
	slices.SortStableFunc(c.names, func(a, b cola.LabelGroup) int {
		return cmp.Compare(totals[string(b.Get(c.split))], totals[string(a.Get(c.split))])
	})
	named, rest := c.names, []cola.LabelGroup(nil)
	if len(named) > maxSeries && complete {
		named, rest = named[:maxSeries-1], named[maxSeries-1:]
	}
	var all []column
	for i := range named[:min(len(named), maxSeries)] {
		label, _ := groupLabel(&named[i], c.split)
		all = append(all, column{label, []string{string(named[i].Get(c.split))}})
	}
	if rest != nil {
		other := column{name: otherName}
		for _, g := range rest {
			other.values = append(other.values, string(g.Get(c.split)))
		}
		all = append(all, other)
	}
	return all
}

// row returns the row of a group.
func (c *labelCounts) row(g *cola.LabelGroup, columns []column) trendRow {
	r := trendRow{}
	r.full, r.Detail = groupLabel(g, c.axis)
	r.Label = truncate(r.full, maxShownName)
	if c.axis == cola.ByPermit && r.Detail != "" {
		r.Href = permitHref(string(g.Permit.V))
	}
	for _, one := range columns {
		n := 0
		for _, name := range one.values {
			n += c.cells[[2]string{string(g.Get(c.axis)), name}]
		}
		if r.Total += n; c.split != "" {
			r.Counts = append(r.Counts, n)
		}
	}
	return r
}

// groupLabel returns the display name of a group's value, and the permit number of a permittee.
func groupLabel(g *cola.LabelGroup, dimension string) (label, detail string) {
	value := singleLine(string(g.Get(dimension)))
	switch {
	case value == "":
		return unknownName, ""
	case dimension == cola.ByPermit:
		return cmp.Or(singleLine(string(g.CompanyName.V)), value), value
	case dimension == cola.ByQuarter:
		return strings.Replace(value, "-", " ", 1), ""
	case dimension == cola.ByMonth:
		if at, err := time.Parse("2006-01", value); err == nil {
			return at.Format("Jan 2006"), ""
		}
	case isRange(dimension):
		return strings.Replace(value, "-", "–", 1), ""
	}
	return value, ""
}

// addColumns adds the columns that have names, with their styles.
func (t *trend) addColumns(columns []column) {
	for i, one := range columns {
		s := series{Name: truncate(one.name, maxShownName), Class: seriesClasses()[i]}
		for _, r := range t.Rows {
			if r.Counts == nil {
				s.Values = append(s.Values, r.Total)
			} else {
				s.Values = append(s.Values, r.Counts[i])
			}
		}
		t.Columns = append(t.Columns, s)
	}
}

// Split reports whether the table has a column for each value of a second dimension.
func (t *trend) Split() bool { return len(t.Columns) > 0 && t.Columns[0].Name != "" }

// addBars adds the bars of a ranking.
func (t *trend) addBars() {
	highest := 1
	for _, r := range t.Rows {
		highest = max(highest, r.Total)
	}
	for i := range t.Rows {
		r, from := &t.Rows[i], 0.0
		counts := r.Counts
		if counts == nil {
			counts = []int{r.Total}
		}
		for n, one := range counts {
			width := float64(one) * 100 / float64(highest)
			if one > 0 {
				r.Bar = append(r.Bar, barPart{seriesClasses()[n], from, width})
			}
			from += width
		}
	}
}

// addChart adds a chart of the rows with known dates or ranges: bars, or lines for many dates.
func (t *trend) addChart(axis string) {
	var steps []chartStep
	for _, r := range t.Rows {
		if r.Label != unknownName {
			steps = append(steps, chartStep{Label: r.Label})
		}
	}
	var all []series
	for _, s := range t.Columns {
		s.Values = s.Values[:len(steps)]
		all = append(all, s)
	}
	labelSteps(steps)
	draw := newChart
	if len(steps) > maxBars {
		draw = newLineChart
	}
	c := draw("trend", t.Title, t.Head, "labels", steps, all)
	if !c.Empty() {
		t.Chart = &c
	}
}

// CSVName returns the file name of the table.
func (t *trend) CSVName() string {
	return strings.ReplaceAll(strings.ToLower(strings.Map(func(r rune) rune {
		if r == ' ' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return -1
	}, t.Title)), " ", "-") + ".csv"
}

// CSV returns the table as a data URL, so that downloading it needs no request and costs nothing.
func (t *trend) CSV() template.URL {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	permits := slices.ContainsFunc(t.Rows, func(r trendRow) bool { return r.Detail != "" })
	line := func(label, detail string, counts []string, total string) {
		cells := []string{web.InertCell(label)}
		if permits {
			cells = append(cells, web.InertCell(detail))
		}
		_ = w.Write(append(append(cells, counts...), total)) // cannot fail: writes to memory
	}
	var heads []string
	if t.Split() {
		for _, s := range t.Columns {
			heads = append(heads, web.InertCell(s.Name))
		}
	}
	line(t.Head, "Permit number", heads, "Labels")
	for _, r := range t.Rows {
		var counts []string
		for _, n := range r.Counts {
			counts = append(counts, strconv.Itoa(n))
		}
		line(r.full, r.Detail, counts, strconv.Itoa(r.Total))
	}
	w.Flush()
	text := strings.ReplaceAll(url.PathEscape(b.String()), "%2C", ",")
	return template.URL("data:text/csv;charset=utf-8," + text) // #nosec: escaped
}
