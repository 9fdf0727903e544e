package demo

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestStableBytes checks that the same options produce the same bytes in any build on any machine.
// A change affects users, so mention it in the commit that rewrites the golden file (-update).
func TestStableBytes(t *testing.T) {
	h := sha256.New()
	if err := WriteColas(h, Options{Colas: 5_000, Seed: 42, AsOf: testDay}); err != nil {
		t.Fatal(err)
	}
	got := hex.EncodeToString(h.Sum(nil)) + "\n"
	const golden = "testdata/colas-5000-42.sha256"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("demo labels have changed: hash %swant %s", got, want)
	}
}

func TestRoundTrip(t *testing.T) {
	o := Options{Colas: 2_000, Seed: 5, AsOf: testDay}
	var b bytes.Buffer
	if err := WriteColas(&b, o); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(&b)
	lines.Buffer(nil, 1<<20)
	for want := range Labels(o) {
		if !lines.Scan() {
			t.Fatalf("no line for %s", want.TTBID)
		}
		var got cola.Cola
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&got); err != nil {
			t.Fatalf("%s: %v", want.TTBID, err)
		}
		got.Derive()
		if diff := cmp.Diff(*want, got); diff != "" {
			t.Fatalf("%s reads back differently (-generated +read):\n%s", want.TTBID, diff)
		}
	}
	if lines.Scan() {
		t.Errorf("extra line: %s", lines.Bytes())
	}
}

// TestAllFields checks that appendCola encodes every field of a record, including fields added
// later.
func TestAllFields(t *testing.T) {
	var want cola.Cola
	fill(t, reflect.ValueOf(&want).Elem())
	want.DateEstimate = 0 // internal to the store
	var got cola.Cola
	if err := json.Unmarshal(appendCola(nil, &want), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("filled record reads back differently (-generated +read):\n%s", diff)
	}
}

// fill sets every field of a record to a nonzero value.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(t, v.Index(i))
		}
	case reflect.String:
		v.SetString("a \"text\" <&> \u2028\x01é")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(733_000)
	case reflect.Uint64:
		v.SetUint(26_324_001_000_016)
	case reflect.Float64:
		v.SetFloat(0.1)
	default:
		t.Fatalf("fill does not support %s", v.Type())
	}
}

// limitedWriter accepts a limited number of bytes and then fails.
type limitedWriter struct{ left int }

var errFull = errors.New("no space left")

func (w *limitedWriter) Write(b []byte) (int, error) {
	if len(b) > w.left {
		return 0, errFull
	}
	w.left -= len(b)
	return len(b), nil
}

func TestWriteError(t *testing.T) {
	for _, left := range []int{0, 200_000} {
		if err := WriteColas(&limitedWriter{left}, Options{Colas: 500, Seed: 1, AsOf: testDay}); !errors.Is(err, errFull) {
			t.Errorf("writer that fails after %d bytes: %v, want its error", left, err)
		}
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want string // part of the message, or empty if there is no error
	}{
		{"ordinary", ordinary, ""},
		{"none", Options{AsOf: testDay}, ""},
		{"negative", Options{Colas: -1, AsOf: testDay}, "--colas"},
		{"too many", Options{Colas: MaxColas + 1, AsOf: testDay}, "10000000"},
		{"no day", Options{Colas: 1}, "2006-01-01"},
		{"too early", Options{Colas: 1, AsOf: cola.NewDate(2005, 12, 31)}, "2005-12-31"},
		{"too late", Options{Colas: 1, AsOf: cola.NewDate(2100, 1, 1)}, "2100-01-01"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			for what, err := range map[string]error{"Check": test.o.Check(), "WriteColas": WriteColas(&b, test.o)} {
				if test.want == "" && err != nil ||
					test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("%s: %v, want %q", what, err, test.want)
				}
			}
			if test.want == "" {
				return
			}
			for range Labels(test.o) {
				t.Fatal("Labels yields labels for options that fail Check")
			}
			if b.Len() > 0 || Permittees(test.o) != nil || ProcessingTimes(test.o) != nil ||
				ProductionReports(test.o) != nil {
				t.Error("records generated for options that fail Check")
			}
		})
	}
}

func TestMaxLabels(t *testing.T) {
	most := 0
	for day := range calendar(MaxColas, cola.NewDate(2006, 1, 1)) {
		most = max(most, day.count)
	}
	if most*5 > 999_999 {
		t.Errorf("%d applications on one day: too many for six digits with gaps of up to 5", most)
	}
}

func TestLabelsEarlyBreak(t *testing.T) {
	n := 0
	for range Labels(ordinary) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d labels before the break, want 3", n)
	}
}
