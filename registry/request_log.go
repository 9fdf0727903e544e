package registry

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

const (
	requestsPerPage = 50
	maxRequestText  = 200 // characters of RequestLogParams.Text
)

// LogRequest records an account's request that has just been answered, unless the request log is
// off or the account sends too many requests. describe is called only if the request is recorded;
// its result needs neither an ID nor a time.
func (s *Service) LogRequest(account cola.AccountID, failed bool, describe func() cola.LoggedRequest) {
	if s.requests != nil {
		s.requests.record(account, failed, describe)
	}
}

// RequestLogParams select requests. Empty fields select all.
type RequestLogParams struct {
	Text          string // part of the path, tool or input, or a whole request ID
	Status        string // one of RequestStatuses
	Channel       string
	Credential    string    // as returned by RequestSource.Value
	From, To      time.Time // From <= time of arrival < To
	Before, After string    // cursor of a page; at most one
}

// requestStatus is a group of statuses.
type requestStatus struct {
	name     string
	min, max int
}

func requestStatuses() []requestStatus {
	return []requestStatus{{"success", 0, 399}, {"error", 400, 0}, {"4xx", 400, 499}, {"5xx", 500, 0}}
}

// RequestStatuses lists the values of RequestLogParams.Status.
func RequestStatuses() (names []string) {
	for _, s := range requestStatuses() {
		names = append(names, s.name)
	}
	return names
}

// RequestChannels lists the values of RequestLogParams.Channel.
func RequestChannels() []string {
	return []string{string(cola.ChannelREST), string(cola.ChannelMCP), string(cola.ChannelDashboard)}
}

// normalize returns the filter, or a validation error that lists all problems. oldest is the time
// of the oldest visible request.
func (p RequestLogParams) normalize(oldest time.Time) (f store.RequestFilter, err error) {
	var problems cola.Problems
	f = store.RequestFilter{From: p.From, To: p.To}
	if f.From.Before(oldest) {
		f.From = oldest
	}
	if p.Text != "" {
		f.Text = problems.Legible("q", p.Text, maxRequestText, fmt.Sprintf("Enter up to %d characters.", maxRequestText))
	}
	f.Channel = cola.Channel(problems.Choice("channel", p.Channel, RequestChannels()))
	chosen := problems.Choice("status", p.Status, RequestStatuses())
	for _, s := range requestStatuses() {
		if s.name == chosen {
			f.MinStatus, f.MaxStatus = s.min, s.max
		}
	}
	var ok bool
	if f.Credential, ok = parseRequestSource(p.Credential); !ok {
		problems.Add("key", "Unknown key or app.")
	}
	if f.Before, ok = parseRequestCursor(p.Before); !ok {
		problems.Add("before", "This link is incomplete.")
	}
	if f.After, ok = parseRequestCursor(p.After); !ok {
		problems.Add("after", "This link is incomplete.")
	}
	return f, problems.Err()
}

// requestCursor returns the cursor for the page before or after a request.
func requestCursor(r cola.LoggedRequest) string { return fmt.Sprintf("%d-%d", r.At.UnixMicro(), r.ID) }

// parseRequestCursor parses a cursor. "" stands for the start of the log.
func parseRequestCursor(cursor string) (at store.RequestCursor, ok bool) {
	if cursor == "" {
		return at, true
	}
	micros, id, _ := strings.Cut(cursor, "-")
	t, timeErr := strconv.ParseInt(micros, 10, 64)
	n, idErr := strconv.ParseInt(id, 10, 64)
	return store.RequestCursor{At: time.UnixMicro(t).UTC(), ID: n}, timeErr == nil && idErr == nil && n > 0 && t > 0
}

// RequestSource is a key or app that sends requests, or all browsers.
type RequestSource struct {
	Credential cola.Credential // ID 0 for browsers
	Name       string          // empty for browsers
}

// Value returns the value of RequestLogParams.Credential.
func (r RequestSource) Value() string {
	if r.Credential.ID == 0 {
		return string(r.Credential.Kind)
	}
	return fmt.Sprintf("%s-%d", r.Credential.Kind, r.Credential.ID)
}

func parseRequestSource(value string) (c cola.Credential, ok bool) {
	if value == "" || value == string(cola.CredentialSignIn) {
		return cola.Credential{Kind: cola.CredentialKind(value)}, true
	}
	kind, id, _ := strings.Cut(value, "-")
	n, err := strconv.ParseInt(id, 10, 64)
	c = cola.Credential{Kind: cola.CredentialKind(kind), ID: n}
	return c, err == nil && n > 0 && (c.Kind == cola.CredentialKey || c.Kind == cola.CredentialLink)
}

// LoggedRequest is a request with the name of the key or app that sent it.
type LoggedRequest struct {
	cola.LoggedRequest
	Source string // empty for a browser
}

// RequestLogPage is a page of the request log.
type RequestLogPage struct {
	Days         int             // how many days requests are kept; 0 if the request log is off
	Rows         []LoggedRequest // latest first; new ones appear after about a second
	Older, Newer string          // cursors of the neighboring pages, or empty
	// Successes and Errors count the unrecorded requests within the time span, regardless of the
	// other filters.
	Successes, Errors int
	Sources           []RequestSource // keys and apps that may have sent requests, for the filter
}

// RequestLog returns a page of the account's request log. It is free.
func (s *Service) RequestLog(ctx context.Context, c cola.Caller,
	p RequestLogParams) (RequestLogPage, cola.QuotaState, error) {
	oldest := s.oldestRequest()
	filter, invalid := p.normalize(oldest)
	return readManaged(ctx, s, c, "read request log",
		func(ctx context.Context, _ cola.QuotaState) (page RequestLogPage, err error) {
			page.Days = s.requestDays
			if invalid != nil || s.requestDays == 0 {
				return page, invalid
			}
			names, err := s.credentialNames(ctx, c.Account)
			if err != nil {
				return page, err
			}
			page.Sources = names.since(oldest)
			if err = s.readRequests(ctx, c.Account, filter, names, &page); err != nil {
				return page, err
			}
			to := filter.To
			if to.IsZero() {
				to = s.now().Add(time.Hour)
			}
			gaps, err := s.store.RequestGaps(ctx, c.Account, filter.From, to)
			page.Successes, page.Errors = gaps.Successes, gaps.Errors
			return page, err
		})
}

// readRequests reads the rows of a page, and one more to find out whether more follow.
func (s *Service) readRequests(ctx context.Context, account cola.AccountID, filter store.RequestFilter,
	names credentialNames, page *RequestLogPage) error {
	rows, err := s.store.Requests(ctx, account, filter, requestsPerPage+1)
	if err != nil {
		return err
	}
	more := len(rows) > requestsPerPage
	backward := filter.After.ID != 0
	switch {
	case backward && !more: // at most one page of requests is newer; show a full first page instead
		filter.After = store.RequestCursor{}
		return s.readRequests(ctx, account, filter, names, page)
	case backward:
		rows = rows[1:]
	case more:
		rows = rows[:requestsPerPage]
	}
	for _, r := range rows {
		page.Rows = append(page.Rows, LoggedRequest{r, names.name(r.Credential)})
	}
	if len(rows) > 0 && (more || backward) {
		page.Older = requestCursor(rows[len(rows)-1])
	}
	if len(rows) > 0 && (backward || filter.Before.ID != 0) {
		page.Newer = requestCursor(rows[0])
	}
	return nil
}

// LoggedRequest returns a request from the account's request log. It is free. It fails with
// CodeNotFound if the request is missing, too old, or another account's.
func (s *Service) LoggedRequest(ctx context.Context, c cola.Caller, id string) (LoggedRequest, cola.QuotaState, error) {
	return readManaged(ctx, s, c, "read logged request",
		func(ctx context.Context, _ cola.QuotaState) (found LoggedRequest, err error) {
			missing := cola.Errorf(cola.CodeNotFound, "Request not found. Old requests are deleted.")
			number, err := strconv.ParseInt(id, 10, 64)
			if err != nil || id != strconv.FormatInt(number, 10) {
				return found, missing
			}
			r, err := s.store.Request(ctx, c.Account, number)
			if errors.Is(err, store.ErrNotFound) || err == nil && r.At.Before(s.oldestRequest()) {
				return found, missing
			}
			if err != nil {
				return found, err
			}
			names, err := s.credentialNames(ctx, c.Account)
			return LoggedRequest{r, names.name(r.Credential)}, err
		})
}

// oldestRequest returns the time before which requests are no longer shown.
func (s *Service) oldestRequest() time.Time {
	return s.now().Add(-time.Duration(s.requestDays) * 24 * time.Hour)
}
