package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReadLog checks that background work is found in the server's log.
func TestReadLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(`time=2026-11-24T14:00:01.000Z level=INFO msg=request duration=1s
time=2026-11-24T14:00:02.000Z level=DEBUG msg="index segments compacted" segments=3 labels=7 took=500ms
time=2026-11-24T14:00:03.000Z level=DEBUG msg=checkpoint pages=1024 left=0 took=1.5s waited=250ms
time=2026-11-24T14:00:04.000Z level=DEBUG msg="slow commit" took=200ms
`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readLog(file)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, time.November, 24, 14, 0, 0, 0, time.UTC)
	want := []event{
		{compaction, at.Add(1500 * time.Millisecond), 500 * time.Millisecond},
		{checkpoint, at.Add(1500 * time.Millisecond), 1500 * time.Millisecond},
		{blockedWrite, at.Add(2750 * time.Millisecond), 250 * time.Millisecond},
		{slowCommit, at.Add(3800 * time.Millisecond), 200 * time.Millisecond},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(event{})); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
