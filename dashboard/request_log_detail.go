package dashboard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// loggedRequestPage is one request with all its details.
type loggedRequestPage struct {
	loggedRow
	Exact       string // time to the millisecond
	StatusText  string
	Fields      []fact // query parameters
	Arguments   copied // tool arguments
	Explanation *errorExplanation
	Message     string // error message, unless there are problems
	Problems    []errorDetail
	Answer      copied
	Again       copied // MCP request to repeat the call
	Open        string // path of the requested dashboard page
}

func (req *request) loggedRequest() error {
	found, state, err := req.svc.LoggedRequest(req.ctx(), req.caller, req.path("id"))
	req.recordQuota(state)
	if err != nil {
		return err
	}
	found = withoutHidden(found)
	r := found.LoggedRequest
	p := loggedRequestPage{
		loggedRow: newLoggedRow(found), Exact: r.At.UTC().Format("Jan 2, 2006, 15:04:05.000 UTC"),
		StatusText: http.StatusText(r.Status),
	}
	if p.Failed {
		answer := parseErrorAnswer(r.Answer)
		if p.Problems = answer.problems; len(p.Problems) == 0 {
			p.Message = stripHidden(answer.message)
		}
		if p.Explanation = explainError(cmp.Or(r.Code, answer.code), r.Status, r.Credential.Kind, answer.reason, req.quota); answer.invalid {
			p.Explanation = &invalidMessage
		}
		p.Answer = copied{"response body", indented(r.Answer)}
	}
	view := page{Title: singleLine(truncate(r.Method+" "+r.Target, 100))}
	if p.IsHTTP() {
		p.Fields = queryFacts(r.Input)
	} else {
		p.Arguments = copied{"arguments", indented(r.Input)}
	}
	complete := !strings.HasSuffix(r.Target+r.Input, "…")
	path, isAPI := strings.CutPrefix(r.Target, apiPath)
	switch {
	case !complete:
	case r.Channel == cola.ChannelREST && isAPI && r.Method == http.MethodGet:
		view.Call = req.call(r.Method, withInput(path, r.Input), "If you repeat the call, it’s charged as usual.")
	case r.Method == "tools/call" && json.Valid([]byte(cmp.Or(r.Input, "{}"))):
		call := (&apiCall{}).forTool(r.Target, json.RawMessage(cmp.Or(r.Input, "{}")))
		p.Again = copied{"MCP request", call.ToolCall()}
	case r.Channel == cola.ChannelDashboard && r.Method == http.MethodGet && Handles(r.Target):
		p.Open = withInput(r.Target, r.Input)
	}
	view.Data = p
	return req.show(http.StatusOK, "request", view)
}

// withInput adds a query string to a path.
func withInput(path, query string) string {
	if query == "" {
		return path
	}
	return path + "?" + query
}

// queryFacts returns the parameters of a query string, in order.
func queryFacts(query string) (facts []fact) {
	if query == "" {
		return nil
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		facts = append(facts, fact{Name: unescaped(name), Values: []string{unescaped(value)}})
	}
	return facts
}

// unescaped decodes a part of a query string, which may be truncated.
func unescaped(text string) string {
	plain, err := url.QueryUnescape(text)
	if err != nil {
		plain = text
	}
	return singleLine(plain)
}

// indented formats JSON, unless it is truncated.
func indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// StatusWords returns a status with its name.
func (p loggedRequestPage) StatusWords() string {
	return strings.TrimSpace(strconv.Itoa(p.Status) + " " + p.StatusText)
}

// errorAnswer is the content of an error response.
type errorAnswer struct {
	code            cola.Code
	message, reason string
	problems        []errorDetail
	invalid         bool // a JSON-RPC error without an envelope: the message itself is invalid
}

// parseErrorAnswer reads an error response: the envelope of the REST API, or a JSON-RPC error,
// whose data may be an envelope. It returns whatever it finds.
func parseErrorAnswer(text string) (a errorAnswer) {
	type envelope struct {
		Error struct {
			Code    any                        `json:"code"`
			Message string                     `json:"message"`
			Details map[string]json.RawMessage `json:"details"`
			Data    json.RawMessage            `json:"data"`
		} `json:"error"`
	}
	var e envelope
	if json.Unmarshal([]byte(text), &e) != nil {
		return a
	}
	a.message = e.Error.Message
	var inner envelope
	if len(e.Error.Data) > 0 && json.Unmarshal(e.Error.Data, &inner) == nil {
		e = inner
	}
	code, ok := e.Error.Code.(string)
	a.invalid = !ok
	a.code = cola.Code(code)
	for name, detail := range e.Error.Details {
		var messages []string
		if a.code == cola.CodeValidation && json.Unmarshal(detail, &messages) == nil {
			for i := range messages {
				messages[i] = stripHidden(messages[i])
			}
			a.problems = append(a.problems, errorDetail{singleLine(name), messages})
		}
		if name == "reason" {
			_ = json.Unmarshal(detail, &a.reason) // a reason of another type is ignored
		}
	}
	sortErrorDetails(a.problems)
	return a
}
