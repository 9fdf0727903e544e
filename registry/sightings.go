package registry

import (
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/search"
)

// sightings is what a follower has seen of the store, for those who ask how far behind the index is. The zero value has seen
// nothing. It is safe for concurrent use.
type sightings struct {
	mu sync.Mutex
	sighting
}

// sighting is one reading of sightings.
type sighting struct {
	store   cola.Revision // the latest revision seen
	behind  time.Time     // since when the index has not been what was seen; zero while it is
	checked time.Time     // when the store last told its revision
	changed time.Time     // when the index last took something over
	labels  uint64        // how many labels it has taken over
	failed  uint64        // how many attempts to follow have failed
	failing bool          // the latest one did
}

// now returns what has been seen.
func (s *sightings) now() sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sighting
}

// saw notes the revision of the store, beside the marks of the index.
func (s *sightings) saw(store cola.Revision, index search.Marks, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store, s.checked = store, at
	if level := store == shownUpTo(index); level {
		s.behind = time.Time{}
	} else if s.behind.IsZero() {
		s.behind = at
	}
}

// took notes that the index was brought up to all that was seen, and to marks, with a number of labels.
func (s *sightings) took(index search.Marks, labels int, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store, s.changed, s.behind = max(s.store, shownUpTo(index)), at, time.Time{}
	s.labels += uint64(labels)
}

// tried notes how an attempt to follow ended.
func (s *sightings) tried(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing = err != nil; s.failing {
		s.failed++
	}
}

// shownUpTo returns the revision up to which an index shows everything.
func shownUpTo(m search.Marks) cola.Revision { return min(m.Labels, m.Permittees, m.References) }
