package main

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// TestCopyComparesEverything: the checksum of a copy tells when anything of a record differs, whatever its kind.
func TestCopyComparesEverything(t *testing.T) {
	fields := reflect.TypeFor[store.Item]()
	kinds := map[string]store.ItemKind{"Cola": store.ItemCola, "Permittee": store.ItemPermittee, "References": store.ItemReferences}
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if name == "Kind" {
			continue
		}
		kind, known := kinds[name]
		if !known {
			kind = store.ItemAccount // tells nothing of which field is set
		}
		fresh := func() *store.Item {
			return &store.Item{Kind: kind, Cola: &cola.Cola{}, References: &store.ReferenceSets{}}
		}
		changed := fresh()
		if !change(reflect.ValueOf(changed).Elem().Field(i)) {
			t.Fatalf("%s has nothing to change", name)
		}
		if bytes.Equal(sumOf(t, fresh()), sumOf(t, changed)) {
			t.Errorf("the checksum does not tell that something of %s differs", name)
		}
	}
}

func sumOf(t *testing.T, i *store.Item) []byte {
	t.Helper()
	d := newDigests()
	if err := d.add(i); err != nil {
		t.Fatal(err)
	}
	return d.of[i.Kind].sum.Sum(nil)
}

// change sets the first field in a record that is a text, a number or a list, and reports whether there was one. The revision of
// reference data counts for nothing and is passed over.
func change(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && change(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).CanSet() && name != "Revision" && change(v.Field(i)) {
				return true
			}
		}
		return false
	case reflect.String:
		v.SetString("changed")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	default:
		return false
	}
	return true
}
