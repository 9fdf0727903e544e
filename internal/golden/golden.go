// Package golden compares test results with files in testdata, which "go test -update"
// rewrites. Use it for messages, so that editing a sentence requires no test changes.
package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Update reports whether to rewrite golden files.
func Update() bool { return *update }

// Cases is a golden file with one value per test case: a JSON object keyed by case name.
type Cases struct {
	file string
	want map[string]json.RawMessage
	got  map[string]json.RawMessage
}

// Load returns the cases in testdata/name.golden. When t ends, it rewrites the file if -update is
// set; otherwise, it fails t if the file has cases that were not checked.
func Load(t *testing.T, name string) *Cases {
	t.Helper()
	c := &Cases{
		file: filepath.Join("testdata", name+".golden"),
		want: map[string]json.RawMessage{}, got: map[string]json.RawMessage{},
	}
	b, err := os.ReadFile(c.file)
	if err == nil {
		err = json.Unmarshal(b, &c.want)
	}
	if err != nil && !(*update && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.finish(t) })
	return c
}

// Check compares a case's value with the golden file. Cases must have distinct names.
func (c *Cases) Check(t testing.TB, name string, value any) {
	t.Helper()
	name = strings.ToValidUTF8(name, "\uFFFD")
	got := encode(t, value, "")
	if _, dup := c.got[name]; dup {
		t.Fatalf("duplicate case %q", name)
	}
	c.got[name] = got
	if *update {
		return
	}
	var want bytes.Buffer
	if err := json.Compact(&want, c.want[name]); err != nil {
		t.Errorf("%s has no case %q; run go test -update", c.file, name)
		return
	}
	if want.String() != string(got) {
		t.Errorf("%s: %s\n got %s\nwant %s", c.file, name, got, want.String())
	}
}

func (c *Cases) finish(t *testing.T) {
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.file, append(encode(t, c.got, "  "), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") || t.Failed() {
		return // not every case was checked
	}
	for name := range c.want {
		if _, ok := c.got[name]; !ok {
			t.Errorf("%s has an unused case %q", c.file, name)
		}
	}
}

// encode returns a value as JSON without HTML escapes.
func encode(t testing.TB, value any, indent string) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}
