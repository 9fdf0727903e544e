package main

import (
	"testing"

	"github.com/colaregistry/colaregistry/internal/kit"
)

// TestPins: the packages are named by exact versions, and nobody's registry is named.
func TestPins(t *testing.T) {
	if err := kit.CheckPins(kitFiles()); err != nil {
		t.Error(err)
	}
}
