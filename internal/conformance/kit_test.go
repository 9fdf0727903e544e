package main

import (
	"testing"

	"github.com/colaregistry/colaregistry/internal/nodetest"
)

// TestPins checks that packages have exact versions and that the lock file names no registry.
func TestPins(t *testing.T) {
	if err := nodetest.CheckPins(kitFiles()); err != nil {
		t.Error(err)
	}
}
