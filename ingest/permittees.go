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
	never := func(*cola.Patch[cola.Permittee]) string { return "rejected by the database" }
	return &permitteeWork{pipeline[cola.Permittee]{
		run: r, detect: detectPermittees, write: upsert(r, st.UpsertPermittees, never),
	}}
}

func (w *permitteeWork) finish(context.Context) error { return nil }

// permitteeRow is a row of a file of permittees.
type permitteeRow struct {
	cola.Permittee
	IsActive cola.Opt[bool] `json:"is_active"`
}

var (
	permitteeSchema = newSchema[permitteeRow](
		"active_reason", "colas", "colas_approved", "last_cola_application_date", "recent_colas").
		form(textForm{zip: true}, "company_zip_code")

	// ttbPermitteeSchema has the column names of TTB's lists.
	ttbPermitteeSchema = newSchema[permitteeRow]("street", "city", "zip4", "county", "new_permit_flag").
				form(textForm{zip: true}, "company_zip_code").
				alias("owner_name", "company_name").
				alias("state", "company_state").
				alias("zip", "company_zip_code")
)

func detectPermittees(in *input) (format[cola.Permittee], error) {
	json, err := isJSON(in)
	switch {
	case err != nil:
		return format[cola.Permittee]{}, err
	case json:
		return format[cola.Permittee]{rows: newJSONRows(in), decoder: jsonDecoder(permitteeSchema, normalizePermittee)}, nil
	}
	header, err := readHeader(in, func(names []string) bool { return slices.Contains(names, "permit_number") })
	switch {
	case err != nil:
		return format[cola.Permittee]{}, fmt.Errorf("%w; expected JSON, or CSV with a permit_number column", err)
	case slices.Contains(header.names, "owner_name"):
		return ttbList(in, header), nil
	}
	return csvFormat(in, permitteeSchema, header, normalizePermittee), nil
}

// normalizePermittee converts a permittee to its stored form and checks it. Listed is true unless
// is_active is false.
func normalizePermittee(r *recordReader, row *permitteeRow, carried cola.Fields, patch *cola.Patch[cola.Permittee]) {
	if !r.problems.empty() {
		return
	}
	p := &row.Permittee
	p.PermitNumber = vocabulary.NormalizePermit(p.PermitNumber)
	p.CompanyState = cola.Text(strings.ToUpper(string(p.CompanyState)))
	p.Listed = row.IsActive.Or(true)
	if p.PermitNumber == "" {
		r.problems.add("", errors.New("missing required field: permit_number"))
	}
	checkTexts(r, permitteeSchema, row)
	patch.Record, patch.Fields = *p, carried&permitteeFields
}

// permitteeFields are the fields that rows and permittees have in common, which come first in both.
var permitteeFields = cola.Fields(1)<<len(cola.FieldsOf[cola.Permittee]()) - 1

// ttbList reads TTB's lists of permittees. The kind of a permit follows from its number. The total
// in the last line is checked against the number of permits.
func ttbList(in *input, header csvHeader) format[cola.Permittee] {
	list := &permitList{permits: map[string]struct{}{}}
	finish := func(r *recordReader, row *permitteeRow, carried cola.Fields, patch *cola.Patch[cola.Permittee]) {
		if kind := vocabulary.PermitteeTypeOf(row.PermitNumber); kind != "" && row.PermitteeType == "" {
			row.PermitteeType = cola.Text(kind)
			carried = carried.With(permitteeType)
		}
		normalizePermittee(r, row, carried, patch)
		if r.problems.empty() {
			list.read(patch.Record.PermitNumber)
		}
	}
	f := csvFormat(in, ttbPermitteeSchema, header, finish)
	warnings := f.done
	f.rows = &csvRows{in: in, delimiter: header.delimiter, skip: func(line []byte) bool { return header.again(line) || list.total(line) }}
	f.done = func() []string { return append(warnings(), list.warnings()...) }
	return f
}

var permitteeType = cola.FieldIndex[cola.Permittee]("permittee_type")

// permitList counts the permits of a list to compare them with its stated total. It is safe for
// concurrent use.
type permitList struct {
	mu        sync.Mutex
	permits   map[string]struct{}
	announced int // sum of the totals in the file, or zero
}

func (l *permitList) read(permit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.permits[permit] = struct{}{}
}

// total reports whether a line is the total of a list, and adds its number.
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
	l.announced += n
	return true
}

func (l *permitList) warnings() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.announced == 0 || l.announced == len(l.permits) {
		return nil
	}
	return []string{fmt.Sprintf("the file states a total of %d permits, but contains %d", l.announced, len(l.permits))}
}
