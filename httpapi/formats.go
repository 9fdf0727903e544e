package httpapi

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// The media types of lists, other than JSON.
const (
	mediaCSV    = "text/csv"
	mediaNDJSON = "application/x-ndjson"
)

// listMedia returns the media types of lists, in order of preference.
func listMedia() []string { return []string{mediaJSON, mediaCSV, mediaNDJSON} }

// Headers that replace the other members of the JSON body, in formats whose body has only rows.
const (
	totalHeader     = "X-Total-Count"
	truncatedHeader = "X-Truncated-By-Quota"
	windowHeader    = "X-Default-Date-From"
	notesHeader     = "X-Notes"

	// Only for counts: the groups that the rows leave out.
	otherGroupsHeader = "X-Other-Groups"
	otherLabelsHeader = "X-Other-Labels"
)

// listHeaders returns the header names of lists in formats other than JSON.
func listHeaders() []string {
	return []string{"Link", totalHeader, truncatedHeader, windowHeader, notesHeader, otherGroupsHeader,
		otherLabelsHeader}
}

// list is the result of a list operation, for formats other than JSON.
type list struct {
	rows      web.Table
	total     int
	next      nextPage
	truncated bool
	defaults  *cola.DefaultsApplied
	notes     []string
	others    *cola.OtherGroups // for counts; otherwise nil
}

// pageOfList returns a page of a list without cursors.
func pageOfList(rows web.Table, at cola.Pagination, notes []string) list {
	return list{
		rows: rows, total: at.Total, truncated: at.TruncatedByQuota, notes: notes,
		next: pageAfter(at.Page, at.HasMore, at.TruncatedByQuota),
	}
}

// nextPage identifies the next page of a list: by cursor, or else by number. It is zero on the last
// page.
type nextPage struct {
	cursor string
	number int
}

// negotiate returns the offered media type with the highest quality in an Accept header. In a tie,
// or if the header has no valid media range, the first one offered wins. ok is false if the header
// accepts none of them.
func negotiate(accept string, offered []string) (mediaType string, ok bool) {
	ranges := parseAccept(accept)
	if len(ranges) == 0 {
		return offered[0], true
	}
	highest := 0.0
	for _, one := range offered {
		if q := quality(ranges, one); q > highest {
			mediaType, highest = one, q
		}
	}
	return mediaType, highest > 0
}

// mediaRange is one element of an Accept header (RFC 9110, section 12.5.1).
type mediaRange struct {
	pattern string // in lower case: type/subtype, type/* or */*
	quality float64
}

// parseAccept returns the valid media ranges of an Accept header. It ignores their parameters,
// except for the quality.
func parseAccept(accept string) (ranges []mediaRange) {
	for part := range strings.SplitSeq(accept, ",") {
		pattern, parameters, err := mime.ParseMediaType(part)
		if err != nil || !strings.Contains(pattern, "/") {
			continue
		}
		q := 1.0
		if text, given := parameters["q"]; given {
			if q, err = strconv.ParseFloat(text, 64); err != nil || !(q >= 0 && q <= 1) {
				continue
			}
		}
		ranges = append(ranges, mediaRange{pattern, q})
	}
	return ranges
}

// quality returns the quality of a media type: that of its most specific matching range, or 0 if no
// range matches.
func quality(ranges []mediaRange, mediaType string) (q float64) {
	group, _, _ := strings.Cut(mediaType, "/")
	for _, pattern := range []string{mediaType, group + "/*", "*/*"} {
		found := false
		for _, r := range ranges {
			if r.pattern == pattern {
				q, found = max(q, r.quality), true
			}
		}
		if found {
			return q
		}
	}
	return 0
}

// notAcceptable returns the error for an Accept header that excludes every media type of a list.
func notAcceptable(accept string) *cola.Error {
	return &cola.Error{
		Code: cola.CodeNotAcceptable,
		Message: "This list can't be sent as " + cola.Quoted(accept) + "; set Accept to " +
			strings.Join(listMedia(), ", ") + " or */*.",
		Details: map[string]any{"available": listMedia()},
	}
}

// acceptHeader returns the Accept headers of a request, joined.
func acceptHeader(r *http.Request) string { return strings.Join(r.Header.Values("Accept"), ", ") }

// setHeaders sets the headers that describe the list. base is the URL of the service, u the URL of
// the request.
func (l *list) setHeaders(h http.Header, base string, u *url.URL) error {
	h.Set(totalHeader, strconv.Itoa(l.total))
	if next := l.next.link(base, u); next != "" {
		h.Set("Link", "<"+next+`>; rel="next"`)
	}
	if l.truncated {
		h.Set(truncatedHeader, "true")
	}
	if l.defaults != nil {
		h.Set(windowHeader, l.defaults.DateFrom.String())
	}
	if l.others != nil {
		h.Set(otherLabelsHeader, strconv.Itoa(l.others.Labels))
		if l.others.Groups.OK {
			h.Set(otherGroupsHeader, strconv.Itoa(l.others.Groups.V))
		}
	}
	if len(l.notes) == 0 {
		return nil
	}
	notes, err := cola.AppendJSON(nil, l.notes)
	if err == nil {
		h.Set(notesHeader, asciiJSON(string(notes)))
	}
	return err
}

// pageAfter returns the next page of a list without cursors. After a page truncated by the quota
// there is none, because it would skip rows.
func pageAfter(page int, more, truncated bool) (next nextPage) {
	if more && !truncated {
		next.number = page + 1
	}
	return next
}

// link returns the URL of the page, or "" if there is none. It is the request's URL with a
// different page.
func (p nextPage) link(base string, u *url.URL) string {
	query := u.Query()
	switch {
	case p.cursor != "":
		query.Del("page")
		query.Set("cursor", p.cursor)
	case p.number != 0:
		query.Set("page", strconv.Itoa(p.number))
	default:
		return ""
	}
	return base + u.EscapedPath() + "?" + query.Encode()
}

// asciiJSON escapes the characters of a JSON text that are not allowed in headers.
func asciiJSON(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		if unit < 0x7f {
			b.WriteByte(byte(unit))
		} else {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// writeList writes the result of a list operation in a media type other than JSON.
func (a *api) writeList(w http.ResponseWriter, r *http.Request, l *list, mediaType string) error {
	if err := l.setHeaders(w.Header(), a.opts.PublicURL, r.URL); err != nil {
		return err
	}
	if mediaType == mediaCSV {
		return a.write(w, http.StatusOK, mediaCSV+"; charset=utf-8; header=present", l.rows.AppendCSV)
	}
	return a.write(w, http.StatusOK, mediaType, l.rows.AppendNDJSON)
}
