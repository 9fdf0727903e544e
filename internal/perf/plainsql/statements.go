package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed schema.sql
var schemaSQL string

//go:embed queries.sql
var queriesSQL string

// section is a named part of a file of SQL.
type section struct{ name, text string }

// sections splits a file at its lines "-- name: …". What stands before the first belongs to none.
func sections(file string) (all []section) {
	for line := range strings.Lines(file) {
		if name, ok := strings.CutPrefix(line, "-- name: "); ok {
			all = append(all, section{name: strings.TrimSpace(name)})
		} else if len(all) > 0 {
			all[len(all)-1].text += line
		}
	}
	return all
}

// statement is a query with the names of its parameters, in order.
type statement struct {
	sql    string
	params []string
}

// ways are the statements that answer one class: any of page with any of count, or any of whole.
type ways struct {
	page  []statement // a page
	count []statement // its total
	whole []statement // both; the total is the last column
}

// readWays reads the queries: for each class its own statements and those that the frames make of its condition. A section may
// be for several classes.
func readWays(file string) (map[string]*ways, error) {
	all := sections(file)
	found := map[string]*ways{}
	for _, s := range all {
		names, kind, ok := strings.Cut(s.name, ".")
		if !ok {
			return nil, fmt.Errorf("%q is not the name of a class and a kind", s.name)
		}
		for name := range strings.SplitSeq(names, ", ") {
			if name == "frame" {
				continue
			}
			if found[name] == nil {
				found[name] = &ways{}
			}
			if err := found[name].read(section{kind, s.text}, all); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return found, nil
}

// read adds a statement of a class, or what the frames among all sections make of its condition.
func (w *ways) read(s section, all []section) error {
	if s.name != "where" {
		return w.add(s.name, s.text)
	}
	for _, frame := range all {
		if kind, ok := strings.CutPrefix(frame.name, "frame."); ok {
			if err := w.add(kind, strings.ReplaceAll(frame.text, "{where}", withoutComments(s.text))); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *ways) add(kind, text string) error {
	list := map[string]*[]statement{"page": &w.page, "count": &w.count, "whole": &w.whole}[kind]
	if list == nil {
		return fmt.Errorf("no kind of statement is called %q", kind)
	}
	*list = append(*list, newStatement(text))
	return nil
}

// shown are the columns of an answer's rows.
var shown = strings.NewReplacer(
	"{summary}", "ttb_id, brand_name, product_name, product_type, class_name, origin_name, permit_number, application_status, "+
		"approval_date, image_count, has_barcode",
	"{permittee}", "permit_number, company_name, operating_name, company_state, company_zip_code, permittee_type, listed, "+
		"colas, colas_approved, last_application, last_approval",
)

var parameter = regexp.MustCompile(`@[a-z_]+`)

// newStatement numbers the parameters of a query in the order they are first named in.
func newStatement(text string) statement {
	s := statement{}
	number := map[string]int{}
	s.sql = parameter.ReplaceAllStringFunc(strings.TrimSpace(withoutComments(shown.Replace(text))), func(name string) string {
		if number[name] == 0 {
			s.params = append(s.params, name[1:])
			number[name] = len(s.params)
		}
		return fmt.Sprintf("$%d", number[name])
	})
	return s
}

// withoutComments returns a query without the lines that are comments.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

// commands splits a section of the schema into its statements, which end with a semicolon at the end of a line. The body of a
// function has none.
func commands(text string) (all []string) {
	for command := range strings.SplitSeq(withoutComments(text), ";\n") {
		if command = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(command), ";")); command != "" {
			all = append(all, command)
		}
	}
	return all
}
