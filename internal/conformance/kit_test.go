package main

import (
	"testing"

	"github.com/colaregistry/colaregistry/internal/nodetest"
)

// TestPins: the packages are named by exact versions, and nobody's registry is named.
func TestPins(t *testing.T) {
	if err := nodetest.CheckPins(kitFiles()); err != nil {
		t.Error(err)
	}
}
