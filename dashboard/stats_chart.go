package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
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
	by      []string // dimensions of the rows
	Head    string   // heading of the first column
	Columns []series
	Rows    []trendRow
	Shown   int    // number of labels in the table
	Partial bool   // some rows are partial periods
	Chart   *chart // nil for a ranking
}

// trendRow is a row of the table.
type trendRow struct {
	Label, Detail string
	full          string // untruncated label, for the CSV file
	group         cola.LabelGroup
	Partial       bool   // the period hasn't ended, or the search covers only part of it
	Href          string // page of a permittee; may be empty
	LabelsURL     string // search for the labels; may be empty
	Counts        []int  // by column; empty without a second dimension
	Total         int
	Bar           []barPart // parts of the bar in a ranking
}

// barPart is one part of a bar. Its position and width are percentages of the longest bar's length.
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
	by          []string // dimensions of the rows: one, or both in a ranking of pairs
	split       string   // dimension of the columns; may be empty
	rows, names []cola.LabelGroup
	cells       map[[2]string]int // number of labels by the values of by and split
	others      map[string]int    // labels in no group, by row
}

// newTrend builds the table and chart of groups counted by one or two dimensions. A dimension with
// dates or ranges becomes the rows. If neither of two dimensions has them, the rows are the values
// of the first, or pairs of values if some groups were left out. Only a ranking, whose rows are not
// dates or ranges, is limited to the given number of rows.
func newTrend(groups []cola.LabelGroup, dimensions []string, rows int, others cola.OtherGroups) trend {
	c := labelCounts{by: dimensions[:1], cells: map[[2]string]int{}, others: map[string]int{}}
	t := trend{Title: "Labels by " + dimensionNames(dimensions)}
	if len(dimensions) == 2 {
		c.split = dimensions[1]
		switch axis, split := cola.HasOwnOrder(dimensions[0]), cola.HasOwnOrder(dimensions[1]); {
		case !axis && split:
			c.by, c.split = dimensions[1:], dimensions[0]
		case others.Labels == 0:
		case axis && split:
			groups = withoutLast(groups, dimensions[0])
		case !axis:
			c.by, c.split = dimensions, ""
		}
	}
	t.by, t.Head = c.by, capitalize(dimensionNames(c.by))
	c.add(groups, others.Breakdown)
	ranking := !cola.HasOwnOrder(c.by[0])
	if !ranking {
		c.sortAxis()
	}
	columns := c.columns()
	for i := range c.rows {
		r := c.row(&c.rows[i], columns)
		t.Rows, t.Partial = append(t.Rows, r), t.Partial || r.Partial
	}
	if ranking {
		slices.SortStableFunc(t.Rows, func(a, b trendRow) int { return cmp.Compare(b.Total, a.Total) })
		t.Rows = t.Rows[:min(len(t.Rows), rows)]
	}
	t.addColumns(columns)
	if ranking {
		t.addBars()
	} else {
		t.addChart(c.by[0])
	}
	for _, r := range t.Rows {
		t.Shown += r.Total
	}
	return t
}

// dimensionNames returns the display names of dimensions, for use in a sentence.
func dimensionNames(dimensions []string) string {
	names := make([]string, len(dimensions))
	for i, d := range dimensions {
		names[i] = dimensionName(d)
	}
	return strings.Join(names, " and ")
}

// withoutLast removes the groups with the last value of a dimension, because some of that value's
// groups may be missing. It keeps them if there is no other value.
func withoutLast(groups []cola.LabelGroup, dimension string) []cola.LabelGroup {
	if len(groups) == 0 {
		return nil
	}
	last := groups[len(groups)-1].Get(dimension)
	end := slices.IndexFunc(groups, func(g cola.LabelGroup) bool { return g.Get(dimension) == last })
	if end == 0 {
		return groups
	}
	return groups[:end]
}

// rowOf returns the values of a group that determine its row.
func (c *labelCounts) rowOf(g *cola.LabelGroup) string {
	row := string(g.Get(c.by[0]))
	if len(c.by) > 1 {
		row += "\x00" + string(g.Get(c.by[1]))
	}
	return row
}

// add adds groups and the labels in no group. Rows and columns are in the order of their first
// group.
func (c *labelCounts) add(groups []cola.LabelGroup, others []cola.OtherLabels) {
	rows, names := map[string]int{}, map[string]bool{} // position of each row, from 1
	addRow := func(g cola.LabelGroup) (row string) {
		if row = c.rowOf(&g); rows[row] == 0 {
			c.rows = append(c.rows, g)
			rows[row] = len(c.rows)
		}
		at := &c.rows[rows[row]-1]
		at.Partial = at.Partial || g.Partial
		return row
	}
	for _, g := range groups {
		row, name := addRow(g), ""
		if c.split != "" {
			name = string(g.Get(c.split))
		}
		if !names[name] {
			names[name], c.names = true, append(c.names, g)
		}
		c.cells[[2]string{row, name}] += g.Count
	}
	for _, o := range others {
		g := cola.LabelGroup{Partial: o.Partial}
		g.Set(c.by[0], o.Value)
		c.others[addRow(g)] = o.Count
	}
}

// sortAxis sorts the rows by date or range, with unknown values last, and adds periods without
// labels.
func (c *labelCounts) sortAxis() {
	axis := c.by[0]
	value := func(g cola.LabelGroup) string { return string(g.Get(axis)) }
	var last []cola.LabelGroup
	if unknown := slices.IndexFunc(c.rows, func(g cola.LabelGroup) bool { return value(g) == "" }); unknown >= 0 {
		last = []cola.LabelGroup{c.rows[unknown]}
		c.rows = slices.Delete(c.rows, unknown, unknown+1)
	}
	if isRange(axis) {
		slices.SortFunc(c.rows, func(a, b cola.LabelGroup) int {
			return cmp.Compare(lowerBound(value(a)), lowerBound(value(b)))
		})
	} else if len(c.rows) > 0 {
		slices.SortFunc(c.rows, func(a, b cola.LabelGroup) int { return strings.Compare(value(a), value(b)) })
		rows := c.rows
		c.rows = nil
		for _, period := range periodsBetween(axis, value(rows[0]), value(rows[len(rows)-1])) {
			var g cola.LabelGroup
			if g.Set(axis, cola.Text(period)); value(rows[0]) == period {
				g, rows = rows[0], rows[1:]
			}
			c.rows = append(c.rows, g)
		}
	}
	c.rows = append(c.rows, last...)
}

// isRange reports whether a dimension's values are ranges of numbers.
func isRange(dimension string) bool { return dimension == cola.ByABV || dimension == cola.ByVolume }

// lowerBound returns the lower bound of a range, such as 12 for "12-14" and 50 for "50+".
func lowerBound(text string) float64 {
	low, _, _ := strings.Cut(strings.TrimSuffix(text, "+"), "-")
	n, _ := strconv.ParseFloat(low, 64) // ranges come from the index
	return n
}

// periodsBetween returns all years, quarters or months from first to last, in the API's format.
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
	others bool // includes the labels in no group
}

// columns returns a column for each of the second dimension's values with the most labels. The
// other values share one column, with the labels in no group.
func (c *labelCounts) columns() []column {
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
	if len(named) > maxSeries || len(named) == maxSeries && len(c.others) > 0 {
		named, rest = named[:maxSeries-1], named[maxSeries-1:]
	}
	var all []column
	for i := range named {
		label, _ := groupLabel(&named[i], c.split)
		all = append(all, column{name: label, values: []string{string(named[i].Get(c.split))}})
	}
	if len(rest) > 0 || len(c.others) > 0 {
		other := column{name: otherName, others: true}
		for _, g := range rest {
			other.values = append(other.values, string(g.Get(c.split)))
		}
		all = append(all, other)
	}
	return all
}

// row returns the row of a group.
func (c *labelCounts) row(g *cola.LabelGroup, columns []column) trendRow {
	r := trendRow{group: *g, Partial: g.Partial}
	var labels []string
	for _, by := range c.by {
		label, detail := groupLabel(g, by)
		labels, r.Detail = append(labels, label), cmp.Or(r.Detail, detail)
	}
	r.full = strings.Join(labels, " · ")
	r.Label = truncate(r.full, maxShownName)
	if r.Detail != "" {
		r.Href = permitHref(string(g.Permit.V))
	}
	row := c.rowOf(g)
	for _, one := range columns {
		n := 0
		for _, name := range one.values {
			n += c.cells[[2]string{row, name}]
		}
		if one.others {
			n += c.others[row]
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

// addColumns adds the columns, with their styles. Without a second dimension, the only column has
// no name.
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

// Split reports whether the columns divide the counts by a second dimension.
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
			steps = append(steps, chartStep{Label: r.Label, Partial: r.Partial})
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

// CSVName returns the name of the table's CSV file.
func (t *trend) CSVName() string {
	return strings.ReplaceAll(strings.ToLower(strings.Map(func(r rune) rune {
		if r == ' ' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return -1
	}, t.Title)), " ", "-") + ".csv"
}

// CSV returns the table as a data URL; see csvURL.
func (t *trend) CSV() template.URL {
	permits := slices.ContainsFunc(t.Rows, func(r trendRow) bool { return r.Detail != "" })
	var lines [][]string
	line := func(label, detail string, counts []string, total string) {
		cells := []string{web.InertCell(label)}
		if permits {
			cells = append(cells, web.InertCell(detail))
		}
		lines = append(lines, append(append(cells, counts...), total))
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
	return csvURL(lines)
}
