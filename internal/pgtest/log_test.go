package pgtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogTail(t *testing.T) {
	l := &serverLog{path: filepath.Join(t.TempDir(), "log")}
	if got := l.tail(100); got != "" {
		t.Errorf("tail of a missing log = %q", got)
	}
	mustDo(t, os.WriteFile(l.path, []byte("one\ntwo\nthree\n"), 0o600))
	var got []string
	for _, limit := range []int64{100, 14, 11, 7} {
		got = append(got, l.tail(limit))
	}
	got = append(got, l.since(4, 100))
	want := []string{"one\ntwo\nthree\n", "one\ntwo\nthree\n", "two\nthree\n", "three\n", "two\nthree\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	l.keep()
	mustDo(t, os.Remove(l.path))
	if l.tail(100) != want[0] {
		t.Errorf("tail(100) = %q, want %q", l.tail(100), want[0])
	}
}
