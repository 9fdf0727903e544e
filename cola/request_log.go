package cola

import "time"

// LoggedRequest is a request in an account's request log. It contains no credentials and no request
// body. The length of each string is limited; truncated strings end with an ellipsis.
type LoggedRequest struct {
	ID         int64
	At         time.Time // time of arrival
	RequestID  string    // may be set by the client, so it may not be unique
	Channel    Channel
	Credential Credential
	Method     string // HTTP method, or that of the MCP message, such as tools/call
	Target     string // escaped path, or the tool, prompt or resource
	Input      string // query string, or arguments as JSON
	// Status is the HTTP status. For an error in an MCP result, whose status is 200, it is the
	// status that the REST API returns for the same error.
	Status   int
	Code     Code // error code, or empty
	Duration time.Duration
	Meter    Meter
	Units    int    // units charged
	Answer   string // body of an error response, or empty
}

// Failed reports whether the response was an error.
func (r LoggedRequest) Failed() bool { return r.Status >= 400 || r.Code != "" }
