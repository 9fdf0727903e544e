package ttbsite

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// Kind is a kind of request.
type Kind string

// Kinds of requests.
const (
	SearchPage Kind = "search page" // opens a session
	Search     Kind = "search"
	Export     Kind = "export"
	Form       Kind = "form"
	Detail     Kind = "detail"
	Image      Kind = "image"
	Other      Kind = "other"
)

// Request is an entry in the log.
type Request struct {
	Number    int // from 1
	Kind      Kind
	Label     cola.TTBID // label of a page or image
	FileName  string     // file name of an image
	Window    string     // dates and class/type codes of a search or export
	Status    int
	Fault     Fault
	Served    bool // the response had the requested content
	Absent    bool // the response said that the content does not exist
	UserAgent string
}

// content identifies the requested content.
func (r Request) content() string {
	return fmt.Sprintf("%s %d %q %s", r.Kind, r.Label, r.FileName, r.Window)
}

// kindOf returns the kind of a request, based on its URL.
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

// Tally compares the number of requests that collectors sent with the number that they needed.
type Tally struct {
	Requests int // all
	Failed   int // because of faults
	// Minimum is the number of necessary requests: one for each distinct window, page and image
	// that was served or is absent, and one to open a session for every 1,000 of them.
	Minimum int
}

// Extra returns the number of unnecessary requests, not counting those that failed because of
// faults.
func (t Tally) Extra() int { return t.Requests - t.Failed - t.Minimum }

// Tally returns the tally of the requests so far.
func (s *Site) Tally() (t Tally) {
	distinct := map[string]bool{}
	for _, r := range s.Log() {
		t.Requests++
		if r.Fault != None && r.Fault != Slow {
			t.Failed++
		}
		if (r.Served || r.Absent) && r.Kind != SearchPage {
			distinct[r.content()] = true
		}
	}
	t.Minimum = len(distinct) + (len(distinct)+999)/1000
	return t
}
