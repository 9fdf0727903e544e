package ttbsite

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Kind is the kind of a request.
type Kind string

// The kinds of requests.
const (
	SearchPage Kind = "search page" // opens a session
	Search     Kind = "search"
	Export     Kind = "export"
	Form       Kind = "form"
	Detail     Kind = "detail"
	Image      Kind = "image"
	Other      Kind = "other"
)

// Request is an entry of the log.
type Request struct {
	Number    int // from 1
	Kind      Kind
	Label     cola.TTBID // of a page or image
	FileName  string     // of an image
	Window    string     // of a search or export: dates and class/type codes
	Status    int
	Fault     Fault
	Served    bool // whether the response had the requested content
	Absent    bool // whether the site responded that the content does not exist
	UserAgent string
}

// what identifies the subject of a request.
func (r Request) what() string {
	return fmt.Sprintf("%s %d %q %s", r.Kind, r.Label, r.FileName, r.Window)
}

// kindOf returns the kind of a request by its path.
func kindOf(r *http.Request) Kind {
	if !strings.HasPrefix(r.URL.Path, Path) {
		return Other
	}
	switch path.Base(r.URL.Path) {
	case "publicSearchColasBasic.do":
		return SearchPage
	case "publicSearchColasBasicProcess.do":
		return Search
	case "publicSaveSearchResultsToFile.do":
		return Export
	case "publicViewAttachment.do":
		return Image
	case "viewColaDetails.do":
		if r.URL.Query().Get("action") == "publicFormDisplay" {
			return Form
		}
		return Detail
	}
	return Other
}

// Log returns the requests so far.
func (s *Site) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Tally compares the requests of collectors with those that their work needs.
type Tally struct {
	Requests int // all
	Failed   int // because of faults
	// Minimum is the number of distinct windows, pages and images that were served or are absent,
	// and one session per 1,000 of them.
	Minimum int
}

// Extra returns the number of requests that neither failed because of a fault nor were needed.
func (t Tally) Extra() int { return t.Requests - t.Failed - t.Minimum }

// Tally counts the requests so far.
func (s *Site) Tally() (t Tally) {
	distinct := map[string]bool{}
	for _, r := range s.Log() {
		t.Requests++
		if r.Fault != None && r.Fault != Slow {
			t.Failed++
		}
		if (r.Served || r.Absent) && r.Kind != SearchPage {
			distinct[r.what()] = true
		}
	}
	t.Minimum = len(distinct) + (len(distinct)+999)/1000
	return t
}
