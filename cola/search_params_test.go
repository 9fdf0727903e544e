package cola

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestDocumentedBounds checks that each parameter is accepted at the bounds in its tags, which the
// API reference shows, and rejected just outside them.
func TestDocumentedBounds(t *testing.T) {
	for _, tt := range []struct {
		params    any // pointer to a new struct
		normalize func(any) error
	}{
		{&SearchParams{}, func(p any) error { _, err := p.(*SearchParams).Normalize(testNow); return err }},
		{&CountParams{}, func(p any) error {
			params := p.(*CountParams)
			if params.GroupBy == nil {
				params.GroupBy = []string{ByYear}
			}
			_, err := params.Normalize(testNow)
			return err
		}},
		{&PermitteeParams{}, func(p any) error { _, err := p.(*PermitteeParams).Normalize(testNow); return err }},
		{&ProductionReportParams{}, func(p any) error { _, err := p.(*ProductionReportParams).Normalize(); return err }},
		{&AVAParams{}, func(p any) error { _, err := p.(*AVAParams).Normalize(); return err }},
		{&ProcessingTimeParams{}, func(p any) error { _, err := p.(*ProcessingTimeParams).Normalize(); return err }},
		{&FormulaProcessingTimeParams{}, func(p any) error { _, err := p.(*FormulaProcessingTimeParams).Normalize(); return err }},
		{&RegistrationProcessingTimeParams{}, func(p any) error { _, err := p.(*RegistrationProcessingTimeParams).Normalize(); return err }},
	} {
		kind := reflect.TypeOf(tt.params).Elem()
		for _, f := range reflect.VisibleFields(kind) {
			if f.Anonymous || f.Name == "Problems" {
				continue
			}
			for _, trial := range trials(t, f) {
				p := reflect.New(kind)
				p.Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(trial.value))
				if kind != reflect.TypeFor[PermitteeParams]() && strings.HasPrefix(f.Name, "VolumeM") {
					p.Elem().FieldByName("VolumeUnit").SetString("liters")
				}
				err := tt.normalize(p.Interface())
				name := f.Tag.Get("json")
				if rejected := len(details(err)[name]) > 0; rejected == trial.valid || trial.valid && err != nil {
					t.Errorf("%s with %s = %.30v…: error %v, %v", kind.Name(), name, trial.value, err, details(err))
				}
			}
		}
	}
}

// trial is a parameter value and whether the parameter's tags allow it.
type trial struct {
	value any
	valid bool
}

func trials(t *testing.T, f reflect.StructField) (found []trial) {
	number := func(tag string) (n int, ok bool) {
		text, ok := f.Tag.Lookup(tag)
		if !ok {
			return 0, false
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s of %s = %q", tag, f.Name, text)
		}
		return n, true
	}
	add := func(n int, right bool) {
		switch f.Type {
		case reflect.TypeFor[Opt[int]]():
			found = append(found, trial{Some(n), right})
		case reflect.TypeFor[Opt[float64]]():
			found = append(found, trial{Some(float64(n)), right})
		}
	}
	if n, ok := number("minimum"); ok {
		add(n, true)
		add(n-1, false)
	}
	if n, ok := number("maximum"); ok {
		add(n, true)
		add(n+1, false)
	}
	if n, ok := number("maxLength"); ok {
		found = append(found, trial{strings.Repeat("é", n), true}, trial{strings.Repeat("é", n+1), false})
	}
	if f.Name == "State" {
		found = append(found, trial{"ca", true}, trial{"Californian", true}, trial{"cal", false}, trial{"c1", false})
	}
	return append(found, enumTrials(f)...)
}

func enumTrials(f reflect.StructField) (found []trial) {
	list, ok := f.Tag.Lookup("enum")
	if !ok {
		return nil
	}
	add := func(word string, right bool) {
		if f.Type.Kind() == reflect.Slice {
			found = append(found, trial{[]string{word}, right})
			return
		}
		found = append(found, trial{word, right})
	}
	for word := range strings.SplitSeq(list, ",") {
		add(word, true)
		add(strings.ToUpper(word), true)
	}
	add("hogshead", false)
	add(fmt.Sprintf("%s and %s", list, list), false)
	return found
}

// TestDocumentedDefaults checks the pagination defaults against the tags.
func TestDocumentedDefaults(t *testing.T) {
	s := mustNormalize(t, SearchParams{})
	for name, got := range map[string]int{"Page": s.Page, "PerPage": s.PerPage} {
		f, _ := reflect.TypeFor[SearchParams]().FieldByName(name)
		if want := f.Tag.Get("default"); want != strconv.Itoa(got) {
			t.Errorf("%s: default = %d, documented as %q", name, got, want)
		}
	}
}
