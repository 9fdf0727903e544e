package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// permitteeWork imports permittees.
type permitteeWork struct{ pipeline[cola.Permittee] }

func newPermitteeWork(r *run, st Target) *permitteeWork {
	reason := func(*cola.Patch[cola.Permittee]) string { return "rejected by the database" }
	return &permitteeWork{pipeline[cola.Permittee]{
		run: r, detect: detectPermittees, write: upsert(r, st.UpsertPermittees, reason),
	}}
}

func (w *permitteeWork) finish(context.Context) error { return nil }

// permitteeRow is a row in a permittee file.
type permitteeRow struct {
	cola.Permittee
	IsActive cola.Opt[bool] `json:"is_active"`
}

// permitteeSchema has the API field names and the columns of TTB's lists, old and new.
var permitteeSchema = newSchema[permitteeRow](
	"active_reason", "colas", "colas_approved", "last_cola_application_date", "recent_colas",
	"street", "city", "zip4", "county", "prem_county", "new_permit_flag").
	form(textForm{zip: true}, "company_zip_code").
	alias("permit_registry_number", "permit_number").
	alias("owner_name", "company_name").
	alias("state", "company_state").
	alias("zip", "company_zip_code").
	alias("prem_zip", "company_zip_code").
	alias("industry_type", "permittee_type")

// isTTBList reports whether a header belongs to one of TTB's lists.
func isTTBList(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == "owner_name" || name == "prem_zip" || name == "industry_type" || name == "new_permit_flag"
	})
}

// checkTTBList checks that a list has the columns that every permittee needs.
func checkTTBList(names []string) error {
	return requireColumns(permitteeSchema.missing(names, "Permit_Number", "Owner_Name"), "TTB's permit list",
		"Permit_Number,Owner_Name,Operating_Name,Street,City,State,Prem_Zip,Prem_County,Industry_Type,New_Permit_Flag")
}

func detectPermittees(in *input) (format[cola.Permittee], error) {
	json, err := isJSON(in)
	switch {
	case err != nil:
		return format[cola.Permittee]{}, err
	case json:
		rows := newJSONRows(in)
		rows.table = &jsonTable{rows: "Permit Data", columns: "Definitions", check: checkTTBList}
		return format[cola.Permittee]{rows: rows, decoder: jsonDecoder(permitteeSchema, normalizePermittee)}, nil
	}
	header, err := readHeader(in, func(names []string) bool {
		_, ok := permitteeSchema.column(names, "permit_number")
		return ok || isTTBList(names)
	})
	switch {
	case err != nil:
		return format[cola.Permittee]{}, fmt.Errorf("%w; expected JSON, or CSV with a permit_number column", err)
	case isTTBList(header.names):
		if err := checkTTBList(header.names); err != nil {
			return format[cola.Permittee]{}, err
		}
		return ttbList(in, header), nil
	}
	return csvFormat(in, permitteeSchema, header, normalizePermittee), nil
}

// normalizePermittee converts a permittee to its stored form and checks it. Listed is true unless
// is_active is false.
func normalizePermittee(r *recordReader, row *permitteeRow, present cola.Fields, patch *cola.Patch[cola.Permittee]) {
	if !r.problems.empty() {
		return
	}
	p := &row.Permittee
	p.PermitNumber = vocabulary.NormalizePermit(p.PermitNumber)
	if kind, ok := vocabulary.NormalizePermitteeType(string(p.PermitteeType)); ok {
		p.PermitteeType = cola.Text(kind)
	}
	p.CompanyState = cola.Text(strings.ToUpper(string(p.CompanyState)))
	p.Listed = row.IsActive.Or(true)
	if p.PermitNumber == "" {
		r.problems.add("", errors.New("missing required field: permit_number"))
	}
	checkTexts(r, permitteeSchema, row)
	patch.Record, patch.Fields = *p, present&permitteeFields
}

// permitteeFields are the fields of a permittee. They are also the first fields of permitteeRow.
var permitteeFields = cola.Fields(1)<<len(cola.FieldsOf[cola.Permittee]()) - 1

// ttbList reads TTB's lists of permittees. Without Industry_Type, the permit number implies the
// type. The total in the last line is checked against the number of permits.
func ttbList(in *input, header csvHeader) format[cola.Permittee] {
	list := &permitList{permits: map[string]struct{}{}}
	finish := func(r *recordReader, row *permitteeRow, present cola.Fields, patch *cola.Patch[cola.Permittee]) {
		if kind := vocabulary.PermitteeTypeOf(row.PermitNumber); kind != "" && row.PermitteeType == "" {
			row.PermitteeType = cola.Text(kind)
			present = present.With(permitteeType)
		}
		normalizePermittee(r, row, present, patch)
		if r.problems.empty() {
			list.read(patch.Record.PermitNumber)
		}
	}
	f := csvFormat(in, permitteeSchema, header, finish)
	warnings := f.done
	skip := func(line []byte) bool { return header.matches(line) || list.total(line) }
	f.rows = &csvRows{in: in, delimiter: header.delimiter, skip: skip}
	f.done = func() []string { return append(warnings(), list.warnings()...) }
	return f
}

var permitteeType = cola.FieldIndex[cola.Permittee]("permittee_type")

// permitList counts the permits of a list to compare them with its stated total. It is safe for
// concurrent use.
type permitList struct {
	mu          sync.Mutex
	permits     map[string]struct{}
	statedTotal int // sum of the totals in the file, or zero
}

func (l *permitList) read(permit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.permits[permit] = struct{}{}
}

// total reports whether a line is the total of a list. If so, it adds the number to statedTotal.
func (l *permitList) total(line []byte) bool {
	text := strings.Trim(string(bytes.TrimRight(line, ",;| \t")), `" `)
	if len(text) > 80 || !strings.HasPrefix(strings.ToUpper(text), "TOTAL") {
		return false
	}
	_, figure, ok := strings.Cut(text, ":")
	n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(figure), ",", ""))
	if !ok || err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statedTotal += n
	return true
}

func (l *permitList) warnings() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.statedTotal == 0 || l.statedTotal == len(l.permits) {
		return nil
	}
	return []string{fmt.Sprintf("the file states a total of %d permits, but contains %d", l.statedTotal, len(l.permits))}
}
