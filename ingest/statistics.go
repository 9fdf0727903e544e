package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/colaregistry/colaregistry/cola"
)

// detectProduction detects the format of production reports: JSON or CSV with API field names, or
// one of the files that TTB publishes. If the title of a report with tables doesn't name the
// commodity, the name of the source must.
func detectProduction(in *input) (format[cola.ProductionReport], error) {
	isJSON, err := isJSON(in)
	switch {
	case err != nil:
		return format[cola.ProductionReport]{}, err
	case isJSON:
		return format[cola.ProductionReport]{
			rows:    &tableReportRows{rows: newJSONRows(in), source: in.name},
			decoder: jsonDecoder(productionSchema, same(normalizeProduction)),
		}, nil
	}
	header, err := readHeader(in, func(names []string) bool {
		return slices.Contains(names, "report_type") || slices.Contains(names, "statistical_group")
	})
	switch {
	case err != nil:
		return format[cola.ProductionReport]{},
			fmt.Errorf("%w; expected JSON, or CSV with a report_type or Statistical_Group column", err)
	case slices.Contains(header.names, "report_type"):
		return csvFormat(in, productionSchema, header, same(normalizeProduction)), nil
	}
	return statistics(in, header)
}

// statistics reads TTB's monthly and yearly statistics. Their columns imply the report type. They
// don't list units, so unitOf derives them from the commodity and the group.
func statistics(in *input, header csvHeader) (format[cola.ProductionReport], error) {
	missing := productionSchema.missing(header.names, "Year", "Statistical_Group", "Value", "commodity")
	if err := requireColumns(missing, "TTB's statistics file", "CY_Month_Number (if monthly),Year,Statistical_Group,"+
		"Statistical_Category,Statistical_Detail,Count_IMs,Value,commodity,Stat_Redaction"); err != nil {
		return format[cola.ProductionReport]{}, err
	}
	reportType := "yearly"
	if _, ok := productionSchema.column(header.names, "month_number"); ok {
		reportType = "monthly"
	}
	type row = cola.ProductionReport
	finish := func(r *recordReader, p *row, present cola.Fields, patch *cola.Patch[row]) {
		p.ReportType = reportType
		if r.problems.empty() {
			normalizeProduction(r, p, present)
		}
		if p.ValueUnit == "" {
			p.ValueUnit = unitOf(p)
		}
		if p.IsRedacted {
			p.Value = cola.Opt[float64]{}
		}
		patch.Record, patch.Fields = *p, present
	}
	return csvFormat(in, productionSchema, header, finish), nil
}

// unitOf returns the unit of a figure in TTB's statistics, or "" if the commodity and the group
// don't imply one. TTB measures beer in barrels, wine in wine gallons and spirits in proof gallons.
// Bottled spirits may be in wine gallons, so groups other than those named here have no unit.
func unitOf(p *cola.ProductionReport) cola.Text {
	group := strings.ToLower(string(p.StatisticalGroup))
	contains := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(group, word) })
	}
	switch {
	case contains("count", "number of"):
		return "industry members"
	case contains("material", "pounds"):
		return "pounds"
	case !contains("production", "produced", "withdrawal", "removal", "stocks"):
		return ""
	}
	return map[string]cola.Text{"Beer": "barrels", "Wine": "wine gallons", "Distilled Spirits": "proof gallons"}[p.Commodity]
}

// tableReportRows reads JSON records. It expands a report that contains tables, such as TTB's
// yearly report on producers, into one record per figure:
//
//	{"Report Header": {"Report Title": "Title"}, "Table 1": {"Data": [{"Year": 2024, "Total": 5}]}}
//
// The group of a figure is the title and the table; its detail is the name of the column. Text in
// other columns of the row, such as a size, is the category.
type tableReportRows struct {
	rows    *jsonRows
	source  string
	pending []cola.ProductionReport // remaining figures of the report at line
	line    int
}

func (t *tableReportRows) next(dst []byte) ([]byte, rawRow, error) {
	if len(t.pending) == 0 {
		text, row, err := t.rows.next(dst)
		if err != nil || row.problem != "" || !bytes.Contains(text[len(dst):], []byte(`"Report Header"`)) {
			return text, row, err
		}
		t.line = row.line
		if t.pending, err = readTables(text[len(dst):], t.source); err != nil {
			return text, rawRow{line: row.line, problem: err.Error()}, nil
		}
	}
	record, err := json.Marshal(t.pending[0])
	t.pending = t.pending[1:]
	if err != nil {
		return dst, rawRow{line: t.line, problem: err.Error()}, nil
	}
	return append(dst, record...), rawRow{line: t.line}, nil
}

// member is a member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of a JSON object in order, or nil for other values.
func members(object []byte) (list []member, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(object), jsonOptions...)
	if dec.PeekKind() != '{' {
		return nil, nil
	}
	_, err = dec.ReadToken()
	for err == nil && dec.PeekKind() == '"' {
		var m member
		token, nameErr := dec.ReadToken()
		m.name = token.String()
		value, valueErr := dec.ReadValue()
		m.value = json.RawMessage(bytes.Clone(value))
		list, err = append(list, m), errors.Join(nameErr, valueErr)
	}
	if err != nil {
		return nil, errSyntax
	}
	return list, nil
}

// readTables returns the figures of a report with tables.
func readTables(report []byte, source string) (rows []cola.ProductionReport, err error) {
	list, err := members(report)
	if err != nil {
		return nil, err
	}
	title := reportTitle(list)
	commodity := commodityIn(title)
	if commodity == "" {
		commodity = commodityIn(filepath.Base(source))
	}
	if commodity == "" {
		return nil, errors.New("the report header or the file name must name exactly one of beer, wine and distilled spirits")
	}
	for _, table := range list {
		var content struct{ Data []json.RawMessage }
		if json.Unmarshal(table.value, &content) != nil {
			continue // not a table
		}
		for _, data := range content.Data {
			figures, err := tableRow(data)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", quote(table.name), err)
			}
			for _, figure := range figures {
				figure.Commodity, figure.ReportType = commodity, "yearly"
				figure.StatisticalGroup = cola.Text(strings.TrimPrefix(title+", "+table.name, ", "))
				rows = append(rows, figure)
			}
		}
	}
	if len(rows) == 0 {
		return nil, errors.New("the report has no tables with Data")
	}
	return rows, nil
}

// reportTitle returns the titles in the report header, joined with commas.
func reportTitle(report []member) string {
	var texts []string
	for _, m := range report {
		if m.name != "Report Header" {
			continue
		}
		header, _ := members(m.value)
		for _, m := range header {
			var text string
			if json.Unmarshal(m.value, &text) == nil && text != "" && strings.Contains(m.name, "Title") {
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, ", ")
}

// commodityIn returns the commodity that a string names, or "" if it names none or several.
func commodityIn(text string) (commodity string) {
	for _, c := range []struct{ word, commodity string }{
		{"distill", "Distilled Spirits"}, {"spirits", "Distilled Spirits"}, {"wine", "Wine"}, {"beer", "Beer"}, {"brew", "Beer"},
	} {
		if !strings.Contains(strings.ToLower(text), c.word) {
			continue
		}
		if commodity != "" && commodity != c.commodity {
			return ""
		}
		commodity = c.commodity
	}
	return commodity
}

// tableRow returns the figures in a row of a table.
func tableRow(data []byte) (figures []cola.ProductionReport, err error) {
	list, err := members(data)
	if err != nil {
		return nil, err
	}
	year, category := 0, []string{}
	for _, m := range list {
		var text string
		switch {
		case foldColumn(m.name) == "year":
			value := strings.Trim(string(m.value), `"`)
			if strings.HasPrefix(strings.ToLower(value), "total") {
				return nil, nil // a total over all years
			}
			if year, err = strconv.Atoi(value); err != nil {
				return nil, fmt.Errorf("%s is not a year", quote(value))
			}
		case json.Unmarshal(m.value, &text) == nil && string(m.value) != "null":
			category = append(category, text)
		default:
			figure := cola.ProductionReport{StatisticalDetail: cola.Text(m.name)}
			if json.Unmarshal(m.value, &figure.Value) != nil {
				return nil, fmt.Errorf("%s must be a number or text", quote(m.name))
			}
			figures = append(figures, figure)
		}
	}
	if year == 0 {
		return nil, errors.New("a row has no Year")
	}
	for i := range figures {
		figures[i].Year, figures[i].StatisticalCategory = year, cola.Text(strings.Join(category, ", "))
	}
	return figures, nil
}
