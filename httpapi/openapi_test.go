package httpapi

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const goldenOpenAPI = "openapi.json"

// TestGoldenOpenAPI fails when the description changes unannounced. Run with -update and review the difference.
func TestGoldenOpenAPI(t *testing.T) {
	var got bytes.Buffer
	if err := json.Indent(&got, mustMarshal(describe(operations(newFake()), "")), "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	if *update {
		if err := os.WriteFile(goldenOpenAPI, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenOpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("openapi.json is stale; run go test ./httpapi -run Golden -update (-committed +generated):\n%s", diff)
	}
}
