package ingest

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// detectTimes detects the format of label processing times: JSON or CSV with API field names, or
// TTB's XML.
func detectTimes(in *input) (format[cola.ProcessingTime], error) {
	if c, _ := in.peek(); c != '<' {
		return detect(in, timeSchema, "snapshot_date", same(checkTime))
	}
	dec := xml.NewDecoder(io.LimitReader(in, maxRow))
	dec.CharsetReader = func(_ string, text io.Reader) (io.Reader, error) { return text, nil } // already UTF-8
	return format[cola.ProcessingTime]{
		rows: &colaStats{in: in, dec: dec}, decoder: jsonDecoder(timeSchema, same(checkTime)),
	}, nil
}

// colaStats reads TTB's daily file of processing times and returns its rows as JSON:
//
//	<ROWSET><FOR_XML2><commodity>DS</commodity><Turnaround_Time_Median>4</Turnaround_Time_Median>
//	<month>11</month><day>20</day><year>2026</year><now_time>06:00</now_time></FOR_XML2></ROWSET>
//
// The month, day and year are the date of the figures.
type colaStats struct {
	in   *input
	dec  *xml.Decoder
	rows int
}

func (s *colaStats) next(dst []byte) ([]byte, rawRow, error) {
	for {
		token, err := s.dec.Token()
		line, _ := s.dec.InputPos()
		switch {
		case err == io.EOF && s.rows == 0:
			return dst, rawRow{}, errors.New("expected TTB's processing times: the document has no FOR_XML2 elements")
		case err == io.EOF:
			return dst, rawRow{}, io.EOF
		case err != nil:
			return dst, rawRow{}, s.broken(line, err)
		}
		element, ok := token.(xml.StartElement)
		if !ok || element.Name.Local != "FOR_XML2" {
			continue
		}
		var row struct {
			Values []struct {
				XMLName xml.Name
				Text    string `xml:",chardata"`
			} `xml:",any"`
		}
		if err := s.dec.DecodeElement(&row, &element); err != nil {
			return dst, rawRow{}, s.broken(line, err)
		}
		s.rows++
		fields := map[string]string{}
		for _, value := range row.Values {
			fields[foldColumn(value.XMLName.Local)] = strings.TrimSpace(value.Text)
		}
		text, problem := colaStatsRow(fields)
		return append(dst, text...), rawRow{line: line, problem: problem}, nil
	}
}

// broken returns the error for a document that cannot be read any further.
func (s *colaStats) broken(line int, err error) error {
	if failure := s.in.failure(); failure != nil {
		err = failure
	} else if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		line, err = syntax.Line, fmt.Errorf("not valid XML: %s", syntax.Msg)
	}
	return &brokenError{line, err}
}

// colaStatsRow returns a row as JSON with API field names.
func colaStatsRow(fields map[string]string) (row []byte, problem string) {
	date := fmt.Sprintf("%s/%s/%s", fields["month"], fields["day"], fields["year"])
	for _, name := range []string{"month", "day", "year"} {
		if fields[name] == "" {
			problem = "missing element: " + name
		}
		delete(fields, name)
	}
	day, ok := parseDate(date)
	if fields["snapshot_date"] = day.String(); !ok && problem == "" {
		problem = fmt.Sprintf("month, day and year: %s is not a date", quote(date))
	}
	code := fields["commodity"]
	names := map[string]string{"DS": "Distilled Spirits", "MB": "Malt Beverage", "WINE": "Wine"}
	if name, ok := names[strings.ToUpper(code)]; ok {
		fields["commodity"] = name
	} else if problem == "" {
		problem = fmt.Sprintf("commodity: %s is not one of DS, MB, Wine", quote(code))
	}
	row, err := json.Marshal(fields)
	if err != nil {
		problem = err.Error()
	}
	return row, problem
}

// detectFormulaTimes detects the format of formula processing times: JSON or CSV with API field
// names, or TTB's CSV.
func detectFormulaTimes(in *input) (format[cola.FormulaProcessingTime], error) {
	isJSON, err := isJSON(in)
	switch {
	case err != nil:
		return format[cola.FormulaProcessingTime]{}, err
	case isJSON:
		return format[cola.FormulaProcessingTime]{
			rows: newJSONRows(in), decoder: jsonDecoder(formulaSchema, same(checkFormulaTime)),
		}, nil
	}
	header, err := readHeader(in, func(names []string) bool {
		return slices.ContainsFunc([]string{"formula_type", "application_type", "processing_time"}, func(name string) bool {
			return slices.Contains(names, name)
		})
	})
	switch {
	case err != nil:
		return format[cola.FormulaProcessingTime]{},
			fmt.Errorf("%w; expected JSON, or CSV with a formula_type or application_type column", err)
	case slices.Contains(header.names, "formula_type"):
		return csvFormat(in, formulaSchema, header, same(checkFormulaTime)), nil
	}
	columns := formStatsSchema.names()
	missing := formStatsSchema.missing(header.names, columns...)
	if err := requireColumns(missing, "TTB's form_stats.csv", strings.Join(columns, ",")); err != nil {
		return format[cola.FormulaProcessingTime]{}, err
	}
	return csvFormat(in, formStatsSchema, header, formStats), nil
}

// formStatsRow is a row of TTB's daily file of formula processing times. The file's last row
// covers all formulas that need laboratory analysis.
type formStatsRow struct {
	ApplicationType string        `json:"application_type"`
	ProcessingTime  cola.Opt[int] `json:"processing_time"` // median days
	ProcessingNew   string        `json:"processing_new"`  // receipt date of the applications being processed
	CreationDate    string        `json:"creation_date"`   // may include a time
}

var formStatsSchema = newSchema[formStatsRow]()

// formStats is the finishFunc for TTB's formula processing times.
func formStats(r *recordReader, row *formStatsRow, present cola.Fields, patch *cola.Patch[cola.FormulaProcessingTime]) {
	t := cola.FormulaProcessingTime{
		Commodity: row.ApplicationType, FormulaType: "Formula Approval",
		TurnaroundDaysMedian: row.ProcessingTime,
	}
	if strings.HasPrefix(strings.ToLower(t.Commodity), "lab") {
		t.Commodity, t.FormulaType = "All", "Laboratory Analysis"
	}
	for _, date := range []struct {
		name, text string
		day        *cola.Date
	}{{"processing_new", row.ProcessingNew, &t.QueueFrontierDate}, {"creation_date", row.CreationDate, &t.SnapshotDate}} {
		text, _, _ := strings.Cut(date.text, " ")
		var ok bool
		if *date.day, ok = parseDate(text); !ok && text != "" {
			r.problems.add(date.name, fmt.Errorf("%s is not a date; %s", quote(date.text), adviceDate))
		}
	}
	if row.CreationDate == "" {
		r.problems.add("creation_date", errors.New("is required"))
	}
	if depth := int(t.SnapshotDate - t.QueueFrontierDate); t.SnapshotDate != 0 && t.QueueFrontierDate != 0 && depth >= 0 {
		t.QueueDepthDays = cola.Some(depth)
	}
	if r.problems.empty() {
		checkFormulaTime(r, &t, present)
	}
	patch.Record, patch.Fields = t, present
}
