package cola

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mustField[T any](t interface{ Fatalf(string, ...any) }, name string) int {
	i := FieldIndex[T](name)
	if i < 0 {
		t.Fatalf("no field %s", name)
	}
	return i
}

func TestPatchAppliesOnlyCarriedFields(t *testing.T) {
	stored := Cola{
		ColaSummary:    ColaSummary{TTBID: 1, BrandName: "OLD", ProductName: "KEPT", ImageCount: 2},
		GrapeVarietals: []string{"Merlot"},
		ClassID:        "80",
	}
	p := Patch[Cola]{Record: Cola{ColaSummary: ColaSummary{TTBID: 1, BrandName: "NEW", ProductName: "ignored"}, ABV: Some(12.5)}}
	for _, name := range []string{"ttb_id", "brand_name", "abv", "grape_varietals", "image_count"} {
		p.Fields = p.Fields.With(mustField[Cola](t, name))
	}
	p.Apply(&stored)
	want := Cola{ColaSummary: ColaSummary{TTBID: 1, BrandName: "NEW", ProductName: "KEPT"}, ClassID: "80", ABV: Some(12.5)}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("patched label (-want +got):\n%s", diff)
	}
}

func TestPatchOfNothingChangesNothing(t *testing.T) {
	c := Cola{ColaSummary: exampleSummary(), WineVintageYear: Some(2009)}
	before := c
	(&Patch[Cola]{Record: Cola{ClassID: "x"}}).Apply(&c)
	if diff := cmp.Diff(before, c); diff != "" {
		t.Errorf("an empty patch changed (-before +after):\n%s", diff)
	}
}

func TestPatchTwiceIsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cola{ColaSummary: summaryGenerator().Draw(t, "stored")}
		p := Patch[Cola]{
			Record: Cola{ColaSummary: summaryGenerator().Draw(t, "patch"), ABV: Some(40.0)},
			Fields: Fields(rapid.Uint64().Draw(t, "fields")),
		}
		p.Apply(&c)
		once := c
		p.Apply(&c)
		if diff := cmp.Diff(once, c); diff != "" {
			t.Fatalf("second time (-once +twice):\n%s", diff)
		}
	})
}

func TestFieldsOfFollowsTheJSON(t *testing.T) {
	seen := map[string]bool{}
	for i, f := range FieldsOf[Cola]() {
		if seen[f.Name] {
			t.Errorf("field %s comes twice", f.Name)
		}
		seen[f.Name] = true
		if got := FieldIndex[Cola](f.Name); got != i {
			t.Errorf("FieldIndex(%s) = %d, want %d", f.Name, got, i)
		}
		if got := reflect.TypeFor[Cola]().FieldByIndex(f.Index); got.Type != f.Type || !strings.HasPrefix(got.Tag.Get("json"), f.Name) {
			t.Errorf("field %s leads to %s", f.Name, got.Name)
		}
	}
	if first := FieldsOf[Cola]()[0].Name; first != "ttb_id" {
		t.Errorf("the first field is %s, want ttb_id of the embedded summary", first)
	}
	for _, name := range []string{"barcodes", "volume_unit", "has_barcode"} {
		if !seen[name] {
			t.Errorf("no field %s", name)
		}
	}
	if i := FieldIndex[Permittee]("-"); i >= 0 {
		t.Errorf("the unnamed field Listed is field %d", i)
	}
	if i := FieldIndex[Cola]("colour"); i >= 0 {
		t.Errorf("an unknown name is field %d", i)
	}
}

func TestFields(t *testing.T) {
	f := Fields(0).With(0).With(63)
	for i := range 64 {
		if got, want := f.Has(i), i == 0 || i == 63; got != want {
			t.Errorf("field %d: %t, want %t", i, got, want)
		}
	}
}
