package ingest

import (
	"testing"

	"github.com/colaregistry/colaregistry/cola"
)

// TestDecodePanic checks that only the row that makes its decoder panic is rejected.
func TestDecodePanic(t *testing.T) {
	b := batch[cola.Cola]{text: []byte("ab"), rows: []rowSpan{{start: 0, end: 1, rawRow: rawRow{line: 1}}, {start: 1, end: 2, rawRow: rawRow{line: 2}}}}
	decode := func(raw []byte, _ *cola.Patch[cola.Cola], _ notes) string {
		if string(raw) == "a" {
			panic("bug")
		}
		return ""
	}
	for i := range b.rows {
		b.decodeRow(i, decode, false)
	}
	if len(b.rejected) != 1 || b.rejected[0].index != 0 || len(b.patches) != 1 || b.accepted[0] != 1 {
		t.Errorf("rejected = %v, accepted = %v, want only row 0 rejected", b.rejected, b.accepted)
	}
}
