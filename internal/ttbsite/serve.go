package ttbsite

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// cookie is the name of the session cookie.
const cookie = "JSESSIONID"

// serve returns the response to a request and completes its log entry.
func (s *Site) serve(r *http.Request, entry *Request) response {
	sess := s.session(r, entry)
	switch entry.Kind {
	case SearchPage:
		entry.Served, entry.Fault = true, unexpired(entry.Fault)
		return s.withSession(sess, render("search", nil))
	case Search:
		return s.search(r, sess, entry)
	case Export:
		return s.export(sess, entry)
	case Form, Detail:
		return s.page(r, sess, entry)
	case Image:
		return s.image(r, sess, entry)
	}
	return htmlPage(http.StatusNotFound, "<html><head><title>Error 404</title></head><body>Not Found</body></html>")
}

// session returns a request's session, or nil if it is missing or expired.
func (s *Site) session(r *http.Request, entry *Request) *session {
	c, err := r.Cookie(cookie)
	if err != nil {
		return nil
	}
	sess := s.sessions[c.Value]
	if sess == nil {
		return nil
	}
	sess.requests++
	if end := s.options.Faults.ExpireAfter; end > 0 && sess.requests > end {
		delete(s.sessions, sess.id)
		entry.Fault = Expired
		return nil
	}
	return sess
}

// unexpired returns f, or None if f is Expired: requests that don't need a session can't fail
// because of an expired one.
func unexpired(f Fault) Fault {
	if f == Expired {
		return None
	}
	return f
}

// withSession adds the session cookie to a response. If sess is nil, it opens a session.
func (s *Site) withSession(sess *session, a response) response {
	if sess == nil {
		sess = s.open()
	}
	value := cookie + "=" + sess.id + "; Path=" + strings.TrimSuffix(Path, "/") + "; HttpOnly"
	a.header = map[string]string{"Set-Cookie": value}
	return a
}

func (s *Site) open() *session {
	sess := &session{id: fmt.Sprintf("%016x", s.random.Uint64())}
	s.sessions[sess.id] = sess
	return sess
}

// search stores the matching labels in the session and shows the first ones.
func (s *Site) search(r *http.Request, sess *session, entry *Request) response {
	if r.Method != http.MethodPost || sess == nil {
		a := htmlPage(http.StatusFound, "")
		a.header = map[string]string{"Location": Path + "publicSearchColasBasic.do"}
		return a
	}
	var q window
	if !q.parse(r) {
		return render("search", "The completion dates are not valid.")
	}
	entry.Window, entry.Served = q.String(), true
	sess.results = []*Label{}
	for _, l := range s.labels {
		if l.Completed >= q.first && l.Completed <= q.last && s.inClasses(l.Class.ID, q.classFrom, q.classTo) {
			sess.results = append(sess.results, l)
		}
	}
	slices.SortStableFunc(sess.results, func(a, b *Label) int { return int(a.Completed) - int(b.Completed) })
	sess.window = entry.Window
	if len(sess.results) == 0 {
		return render("none", nil)
	}
	listed := min(len(sess.results), s.options.Limit)
	rows := sess.results[:min(listed, 20)]
	return render("results", map[string]any{"Rows": rows, "Listed": listed, "Total": len(sess.results)})
}

// window contains a search's filters: completion dates and class/type codes.
type window struct {
	first, last        cola.Date
	classFrom, classTo string
}

func (q *window) parse(r *http.Request) bool {
	field := func(name string) string { return strings.TrimSpace(r.PostFormValue("searchCriteria." + name)) }
	q.classFrom, q.classTo = field("classTypeFrom"), field("classTypeTo")
	first, err1 := time.Parse("01/02/2006", field("dateCompletedFrom"))
	last, err2 := time.Parse("01/02/2006", field("dateCompletedTo"))
	q.first, q.last = cola.NewDate(first.Date()), cola.NewDate(last.Date())
	return err1 == nil && err2 == nil && q.first <= q.last
}

func (q window) String() string {
	return fmt.Sprintf("%s..%s %q..%q", q.first, q.last, q.classFrom, q.classTo)
}

// inClasses reports whether a class/type code is in a range. An empty bound is open.
func (s *Site) inClasses(code, from, to string) bool {
	if s.options.NumericClasses {
		return (from == "" || number(code) >= number(from)) && (to == "" || number(code) <= number(to))
	}
	return (from == "" || code >= from) && (to == "" || code <= to)
}

// number returns the number in a class/type code, without the letter that some codes end in.
func number(code string) int {
	n, err := strconv.Atoi(strings.TrimRight(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	if err != nil {
		return 0
	}
	return n
}

// export lists the results of the latest search as CSV. Like the real site, it encloses IDs in
// single quotes but doesn't quote values, so commas and line breaks in names corrupt the row.
func (s *Site) export(sess *session, entry *Request) response {
	if sess == nil || sess.results == nil {
		return render("session", nil)
	}
	entry.Window, entry.Served = sess.window, true
	var b bytes.Buffer
	b.WriteString("TTB ID,Permit No.,Serial Number,Completed Date,Fanciful Name,Brand Name," +
		"Origin,Origin Desc,Class/Type,Class/Type Desc\r\n")
	for _, l := range sess.results[:min(len(sess.results), s.options.Limit)] {
		b.WriteString("'" + l.ID.String() + "'")
		for _, field := range []string{
			l.Permit, l.Serial, l.CompletedText(), l.Fanciful, l.Brand, l.Origin.ID, l.Origin.Name, l.Class.ID, l.Class.Name,
		} {
			b.WriteString("," + field)
		}
		b.WriteString("\r\n")
	}
	return response{status: http.StatusOK, kind: "application/csv", body: b.Bytes(), header: map[string]string{
		"Content-Disposition": "attachment; filename=SearchResultsFile.csv",
	}}
}

// page serves a label's form or detail page and makes its images available to the session.
func (s *Site) page(r *http.Request, sess *session, entry *Request) response {
	if sess == nil {
		sess = s.open() // as the real site does
	}
	sess.label = nil
	id, _ := cola.ParseTTBID(r.URL.Query().Get("ttbid"))
	entry.Label = id
	l := s.byID[id]
	if l == nil || entry.Kind == Form && l.Paper {
		entry.Absent = true
		return s.withSession(sess, render("error", nil))
	}
	sess.label, entry.Served = l, true
	entry.Fault = unexpired(entry.Fault)
	return s.withSession(sess, l.page(entry.Kind))
}

// image serves an image of the label that the session opened last. Like the real site, it serves a
// different image of that label if the file name is wrong.
func (s *Site) image(r *http.Request, sess *session, entry *Request) response {
	entry.FileName = r.URL.Query().Get("filename")
	if sess == nil || sess.label == nil || len(sess.label.Images) == 0 {
		return render("error", nil)
	}
	l := sess.label
	entry.Label = l.ID
	at := slices.IndexFunc(l.Images, func(i LabelImage) bool { return i.FileName == entry.FileName })
	entry.Served = at >= 0
	image := l.Images[max(at, 0)]
	if image.Missing {
		entry.Served, entry.Absent = false, true
		return render("error", nil)
	}
	if image.Failing {
		entry.Fault = ServerError
		failed, _ := entry.Fault.response(s.options.Faults)
		return failed
	}
	kind := "image/jpeg"
	if image.isPNG() {
		kind = "image/png"
	}
	return response{status: http.StatusOK, kind: kind, file: func() ([]byte, error) { return image.Content(l) }}
}
