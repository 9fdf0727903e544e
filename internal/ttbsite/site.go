// Package ttbsite imitates the website of TTB's Public COLA Registry, for tests of collectors.
//
// It behaves like the real site in every way that matters to a client: searches, exports and images
// depend on a session, exports have at most 1,000 rows, pages have the real layout, and the TLS
// server doesn't send its intermediate certificate. Its labels are generated. With the optional
// data folder, it also serves real labels with their real pages and images. It can fail in the same
// ways as the real site, and it logs requests.
package ttbsite

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// Path is the URL path of the site.
const Path = "/colasonline/"

// Options configures a site. Equal options generate equal labels.
type Options struct {
	Seed   uint64
	Labels int // number of generated labels
	// First and Last are the range of completion dates; by default January 5 to 23, 2026. Labels
	// are spread over the weekdays in it.
	First, Last cola.Date
	// Busy is the number of generated labels on the busiest day, in the middle of the range. If it
	// is 0, all labels are spread randomly over the days.
	Busy int
	// Ambiguous is the number of generated labels with a comma in their names. The export doesn't
	// quote values, so their rows are ambiguous.
	Ambiguous int
	// Data is the folder of real data (shareddata.Folder), or empty. The site adds the labels in
	// it, with completion dates in the range.
	Data string

	Limit          int  // maximum number of rows in an export; 0 means 1,000
	NumericClasses bool // compare class/type codes as numbers rather than as text
	Faults         Faults
}

// Faults configures a site's failures. Site.Inject adds faults to individual requests.
type Faults struct {
	Rate        float64       // fraction of requests that fail
	RetryAfter  time.Duration // Retry-After of Unavailable and TooMany, rounded up to seconds
	Slow        time.Duration // delay of a Slow response
	ExpireAfter int           // number of requests after which a session expires; 0 means never
	BlockAt     int           // number of the first blocked request; all later ones are blocked too, until Unblock; 0 means never
}

// Site is an imitation of the registry's website. It is an http.Handler and safe for concurrent
// use.
type Site struct {
	options Options

	mu       sync.Mutex
	random   *rand.Rand // decides which requests fail, and generates session IDs
	labels   []*Label   // sorted by ID
	byID     map[cola.TTBID]*Label
	sessions map[string]*session
	log      []Request
	inject   []Fault
	blockAt  int
}

// session is the state of a client on the site.
type session struct {
	id       string
	requests int
	window   string   // window of the latest search
	results  []*Label // results of the latest search; nil before the first
	label    *Label   // label that was opened last
}

// New returns a site with generated labels and, if Data is set, real ones. It returns an error if
// the range of completion dates has no weekday or the real data can't be read.
func New(o Options) (*Site, error) {
	o.First, o.Last = cmp.Or(o.First, cola.NewDate(2026, 1, 5)), cmp.Or(o.Last, cola.NewDate(2026, 1, 23))
	o.Limit = cmp.Or(o.Limit, 1000)
	days := weekdays(o.First, o.Last)
	if len(days) == 0 {
		return nil, fmt.Errorf("no weekday from %s to %s", o.First, o.Last)
	}
	s := &Site{
		options: o, random: rand.New(rand.NewPCG(o.Seed, 1)), blockAt: o.Faults.BlockAt,
		byID: map[cola.TTBID]*Label{}, sessions: map[string]*session{},
	}
	s.labels = generate(o, days)
	if o.Data != "" {
		real, err := realLabels(o.Data, days)
		if err != nil {
			return nil, err
		}
		s.labels = append(s.labels, real...)
	}
	slices.SortFunc(s.labels, func(a, b *Label) int { return cmp.Compare(a.ID, b.ID) })
	for _, l := range s.labels {
		s.byID[l.ID] = l
	}
	return s, nil
}

// Labels returns the labels, sorted by ID.
func (s *Site) Labels() []Label {
	s.mu.Lock()
	defer s.mu.Unlock()
	labels := make([]Label, len(s.labels))
	for i, l := range s.labels {
		labels[i] = *l
	}
	return labels
}

// Change changes a label's fields, such as its status and its completion date.
func (s *Site) Change(id cola.TTBID, change func(*Label)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := *s.byID[id] // a copy, because requests in flight may still be using the old label
	change(&changed)
	s.byID[id] = &changed
	at, _ := slices.BinarySearchFunc(s.labels, id, func(l *Label, id cola.TTBID) int { return cmp.Compare(l.ID, id) })
	s.labels[at] = &changed
}

// Unblock ends a block; see Faults.BlockAt.
func (s *Site) Unblock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blockAt = 0
}

// Inject makes the next requests fail, one fault each.
func (s *Site) Inject(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inject = append(s.inject, faults...)
}

// EndSessions ends all sessions.
func (s *Site) EndSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// Start serves the site over HTTP. Its base URL is the server's URL followed by Path.
func (s *Site) Start() *httptest.Server { return httptest.NewServer(s) }

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, fault := s.answer(r)
	if fault == Slow {
		select {
		case <-time.After(s.options.Faults.Slow):
		case <-r.Context().Done():
			return
		}
	}
	a.write(w, r, fault)
}

// answer handles a request under the lock and logs it.
func (s *Site) answer(r *http.Request) (response, Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := Request{Number: len(s.log) + 1, Kind: kindOf(r), UserAgent: r.UserAgent()}
	entry.Fault = s.fault(entry.Number)
	a, ok := entry.Fault.response(s.options.Faults)
	if !ok {
		a = s.serve(r, &entry)
	}
	entry.Status = a.status
	if entry.Fault != None && entry.Fault != Slow {
		entry.Served, entry.Absent = false, false
	}
	s.log = append(s.log, entry)
	return a, entry.Fault
}

// weekdays returns the weekdays from first to last. TTB completes no labels on weekends.
func weekdays(first, last cola.Date) (days []cola.Date) {
	for d := first; d <= last; d = d.AddDays(1) {
		if w := d.Time().Weekday(); w != time.Saturday && w != time.Sunday {
			days = append(days, d)
		}
	}
	return days
}
