package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// requestLogService contains the operations for the request log pages.
type requestLogService interface {
	RequestLog(context.Context, cola.Caller, registry.RequestLogParams) (registry.RequestLogPage, cola.QuotaState, error)
	LoggedRequest(ctx context.Context, c cola.Caller, id string) (registry.LoggedRequest, cola.QuotaState, error)
}

func requestLogRoutes() []route {
	return append(publicRoutes(post(tryPath, (*request).tryCall)),
		get(requestsPath, (*request).requestLog),
		get(requestsPath+"/{id}", (*request).loggedRequest),
	)
}

// loggedRow is a request as shown in the list.
type loggedRow struct {
	registry.LoggedRequest
	Failed       bool
	Target       string // path, tool or resource
	Input        string // start of the query or arguments
	Took         string
	Cost         string // empty if free
	From, FromID string // name of the key or app, and its value in the filter
	ChannelName  string
}

// maxShownInput is the maximum length of the input in the list, in characters.
const maxShownInput = 70

// withoutHidden returns a request without hidden characters, which a client may have sent.
func withoutHidden(r registry.LoggedRequest) registry.LoggedRequest {
	for _, text := range []*string{&r.RequestID, &r.Method, &r.Target, &r.Input, (*string)(&r.Code), &r.Answer, &r.Source} {
		*text = stripHidden(*text)
	}
	return r
}

func newLoggedRow(r registry.LoggedRequest) loggedRow {
	source := registry.RequestSource{Credential: r.Credential, Name: r.Source}
	if r.Credential.Kind == cola.CredentialSignIn {
		source.Credential.ID = 0
	}
	row := loggedRow{
		LoggedRequest: r, Failed: r.LoggedRequest.Failed(), Target: singleLine(r.Target),
		Took: durationWords(r.Duration), Cost: costWords(r.Meter, r.Units), ChannelName: channelName(r.Channel),
		From:   cmp.Or(r.Source, "Browser"),
		FromID: source.Value(),
	}
	row.Input = truncate(singleLine(r.LoggedRequest.Input), maxShownInput)
	switch {
	case row.IsHTTP() && row.Input != "":
		row.Input = "?" + row.Input
	case row.Target == "": // an MCP method without a target
		row.Method, row.Target = "", singleLine(row.Method)
	}
	return row
}

// IsHTTP reports whether the request is shown by its HTTP method and path.
func (r loggedRow) IsHTTP() bool { return strings.HasPrefix(r.LoggedRequest.Target, "/") }

// durationWords formats a request's duration with two or three digits.
func durationWords(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}

// costWords returns the cost of a request, or "" if it was free.
func costWords(m cola.Meter, units int) string {
	switch {
	case units == 0:
		return ""
	case m == cola.MeterDetailViews:
		return plural(units, "detail view", "detail views")
	}
	return plural(units, "list record", "list records")
}

// requestLogPage lists requests.
type requestLogPage struct {
	Rows                            []loggedRow
	Days                            int // 0 if the request log is off
	Text, From, To                  string
	Statuses, Channels, Credentials []option
	Shortcuts                       []link
	Filtered, Paged                 bool
	LeftOut                         string // what is missing from the list; may be empty
	Older, Newer                    string // URLs; may be empty
	First                           copied // command for a first call
}

// link is a link with its text.
type link struct{ Href, Text string }

// inputTime is the format of a datetime-local field. Its times are in UTC.
const inputTime = "2006-01-02T15:04"

// requestFilters are the parameters of the list, without those that select a page.
var requestFilters = []string{"q", "status", "channel", "key", "from", "to"}

func (req *request) requestLog() error {
	filters := url.Values{}
	for _, name := range requestFilters {
		if value := strings.TrimSpace(req.query().Get(name)); value != "" {
			filters.Set(name, value)
		}
	}
	params := registry.RequestLogParams{
		Text: filters.Get("q"), Status: filters.Get("status"), Channel: filters.Get("channel"), Credential: filters.Get("key"),
		Before: req.query().Get("before"), After: req.query().Get("after"),
	}
	var problems cola.Problems
	params.From, params.To = readTime(&problems, filters, "from"), readTime(&problems, filters, "to")
	if err := problems.Err(); err != nil {
		return err
	}
	found, state, err := req.svc.RequestLog(req.ctx(), req.caller, params)
	req.recordQuota(state)
	if err != nil {
		return err
	}
	p := requestLogPage{
		Days: found.Days, Text: params.Text, From: filters.Get("from"), To: filters.Get("to"),
		Statuses:    requestStatusOptions(params.Status),
		Channels:    requestChannelOptions(params.Channel),
		Credentials: credentialOptions(found.Sources, params.Credential),
		Shortcuts:   req.requestShortcuts(filters),
		Filtered:    len(filters) > 0, Paged: params.Before+params.After != "",
		LeftOut: leftOutSentence(found),
		First:   copied{"command", req.call("GET", "/colas?q=oak", "").Curl()},
	}
	for _, r := range found.Rows {
		p.Rows = append(p.Rows, newLoggedRow(withoutHidden(r)))
	}
	p.Older, p.Newer = cursorURL(filters, "before", found.Older), cursorURL(filters, "after", found.Newer)
	return req.show(http.StatusOK, "requests", page{Title: "Requests", Data: p})
}

// readTime parses a time in a form, or returns the zero time and adds a problem.
func readTime(problems *cola.Problems, form url.Values, name string) time.Time {
	value := form.Get(name)
	for _, layout := range []string{inputTime, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, value); err == nil {
			return t
		}
	}
	if value != "" {
		problems.Add(name, "Enter a date and time, such as 2026-11-20T15:04.")
	}
	return time.Time{}
}

// cursorURL returns the URL of a list page, or "" if there is no cursor.
func cursorURL(filters url.Values, name, cursor string) string {
	if cursor == "" {
		return ""
	}
	return withQuery(requestsPath, changed(filters, name, cursor))
}

// changed returns a copy of the parameters with one value replaced.
func changed(values url.Values, name, value string) url.Values {
	other := url.Values{}
	for n := range values {
		other.Set(n, values.Get(n))
	}
	other.Set(name, value)
	return other
}

// requestShortcuts returns links that narrow the list.
func (req *request) requestShortcuts(filters url.Values) []link {
	since := func(text string, d time.Duration) link {
		narrowed := changed(filters, "from", req.now().UTC().Add(-d).Format(inputTime))
		narrowed.Del("to")
		return link{withQuery(requestsPath, narrowed), text}
	}
	all := []link{since("Last hour", time.Hour), since("Last 24 hours", 24*time.Hour)}
	if filters.Get("status") != "error" {
		all = append([]link{{withQuery(requestsPath, changed(filters, "status", "error")), "Errors only"}}, all...)
	}
	if len(filters) > 0 {
		all = append(all, link{requestsPath, "Clear filters"})
	}
	return all
}

func requestStatusOptions(chosen string) []option {
	names := map[string]string{
		"success": "Success", "error": "Any error", "4xx": "4xx: request rejected", "5xx": "5xx: service failed",
	}
	return namedOptions(chosen, registry.RequestStatuses(), func(value string) string { return names[value] })
}

func requestChannelOptions(chosen string) []option {
	return namedOptions(chosen, registry.RequestChannels(), func(value string) string { return channelName(cola.Channel(value)) })
}

// namedOptions returns the options of a filter, starting with "Any".
func namedOptions(chosen string, values []string, name func(string) string) []option {
	list := []option{{Label: "Any"}}
	for _, o := range optionsOf(strings.ToLower(chosen), values...) {
		o.Label = name(o.Value)
		list = append(list, o)
	}
	return list
}

// credentialOptions returns the options for keys and apps, and one for browsers. It also includes
// the chosen one if it is no longer in use.
func credentialOptions(sources []registry.RequestSource, chosen string) []option {
	list := []option{{Label: "Any"}}
	for _, s := range sources {
		list = append(list, option{Value: s.Value(), Label: stripHidden(s.Name), Chosen: s.Value() == chosen})
	}
	browsers := string(cola.CredentialSignIn)
	list = append(list, option{Value: browsers, Label: "Browser", Chosen: chosen == browsers})
	if !slices.ContainsFunc(list, func(o option) bool { return o.Value == chosen }) {
		list = append(list, option{Value: chosen, Label: "Inactive key or app", Chosen: true})
	}
	return list
}

// leftOutSentence says what is missing from the list, or "".
func leftOutSentence(p registry.RequestLogPage) string {
	var missing []string
	if p.Successes > 0 {
		missing = append(missing, plural(p.Successes, "successful request", "successful requests"))
	}
	if p.Errors > 0 {
		missing = append(missing, plural(p.Errors, "error", "errors"))
	}
	if missing == nil {
		return ""
	}
	verb := "are"
	if p.Successes+p.Errors == 1 {
		verb = "is"
	}
	return strings.Join(missing, " and ") + " from this period " + verb + " not listed."
}
