package main

import (
	"testing"

	"github.com/colaregistry/colaregistry/internal/nodetest"
)

// TestPins checks that packages have exact versions and that no private registry is named.
func TestPins(t *testing.T) {
	if err := nodetest.CheckPins(kitFiles()); err != nil {
		t.Error(err)
	}
}
