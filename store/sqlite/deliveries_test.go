package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/colaregistry/colaregistry/store/storetest"
)

func TestMeetings(t *testing.T) {
	storetest.CheckMeetings(t, mustOpen(t, filepath.Join(t.TempDir(), "registry.db"), Options{Logger: quiet()}))
}
