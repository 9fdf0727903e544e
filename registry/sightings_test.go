package registry

import (
	"errors"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
)

// TestSightings walks through what a follower meets: level, behind, still behind, level again, a store set back.
func TestSightings(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 11, 20, 12, 0, second, 0, time.UTC) }
	level := func(at cola.Revision) search.Marks { return search.Marks{Labels: at, Permittees: at, References: at} }
	var s sightings
	check := func(step string, behind time.Time) {
		t.Helper()
		if got := s.now().behind; !got.Equal(behind) {
			t.Errorf("%s: behind since %v, want %v", step, got, behind)
		}
	}
	check("at first", time.Time{})
	s.saw(10, level(10), at(1))
	check("level", time.Time{})
	s.saw(11, level(10), at(2))
	check("news", at(2))
	s.saw(13, level(10), at(3))
	check("more news before the first is shown", at(2))
	s.took(level(13), 7, at(4))
	check("shown", time.Time{})
	if got := s.now(); got.store != 13 || got.labels != 7 || !got.changed.Equal(at(4)) || !got.checked.Equal(at(3)) {
		t.Errorf("after it is shown: %+v", got)
	}
	s.took(level(15), 1, at(5))
	if got := s.now(); got.store != 15 || got.labels != 8 {
		t.Errorf("an index ahead of what was seen: %+v, want the store to be at least as far", got)
	}
	s.saw(15, search.Marks{Labels: 15, Permittees: 15, References: 14}, at(6))
	check("one part of the index is behind", at(6))
	s.saw(15, level(15), at(7))
	check("level, without anything to take over", time.Time{})
	s.saw(10, level(15), at(8))
	check("a store that was set back", at(8))
	if got := s.now().store; got != 10 {
		t.Errorf("the store that was set back is told at %d, want 10", got)
	}
}

func TestSightingsOfFailure(t *testing.T) {
	var s sightings
	for i, err := range []error{nil, errors.New("gone"), errors.New("gone"), nil} {
		s.tried(err)
		if got := s.now(); got.failing != (err != nil) || got.failed != min(uint64(i), 2) {
			t.Errorf("after attempt %d: %+v", i, got)
		}
	}
}
