package mcp

import (
	"fmt"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// errorResult is the result of a failed call: the error envelope of REST, and a sentence on what to
// do next. It has no structured content, which would have to match the tool's output schema. state
// is where the account stands.
func errorResult(e *cola.Error, t *tool, state cola.QuotaState) *protocol.CallToolResult {
	b, err := cola.AppendJSON(nil, web.Envelope(e))
	if err != nil { // the details cannot be written as JSON
		b, _ = cola.AppendJSON(nil, web.Envelope(&cola.Error{Code: e.Code, Message: e.Message}))
	}
	content := []protocol.Content{protocol.TextContent{Type: protocol.ContentTypeText, Text: string(b)}}
	if hint := hintOf(e, t, state); hint != "" {
		content = append(content, protocol.TextContent{Type: protocol.ContentTypeText, Text: hint})
	}
	return &protocol.CallToolResult{Content: content, IsError: true}
}

// hintOf says what an assistant can do about an error.
func hintOf(e *cola.Error, t *tool, state cola.QuotaState) string {
	switch e.Code {
	case cola.CodeValidation:
		return "Correct the arguments named in error.details, all at once, and call again. Nothing was charged."
	case cola.CodeSearchTooBroad:
		return "Nothing was saved. Add filters for what the user wants watched, such as brand_name or query, and call again; or keep the search without a schedule."
	case cola.CodeWatchlistLimit:
		return "Nothing was saved, and the same call would fail again. Tell the user how many alerts may be active, and offer to pause one with " +
			"update_saved_search, or to keep this search without a schedule or with schedule.active false."
	case cola.CodeNotFound:
		return "Nothing was charged. " + t.notFound
	case cola.CodeUnavailable:
		return fmt.Sprintf("Nothing was charged. Wait %s and call again, once.", cola.WaitWords(e.RetryAfter))
	case cola.CodeInternal:
		return "This is a fault of the service, not of the arguments. Call again once. If it fails again, give the user the request_id in error.details."
	case cola.CodeQuotaExceeded:
		return quotaHint(e, state)
	}
	return ""
}

// quotaHint distinguishes the rate limit, which is worth waiting for, from a used-up quota, which
// is not.
func quotaHint(e *cola.Error, state cola.QuotaState) string {
	if e.RetryAfter > 0 {
		return fmt.Sprintf("Wait %s before calling this or any other tool again.", cola.WaitWords(e.RetryAfter))
	}
	hint := "Do not call again before error.details.reset. Tell the user that the month's quota is used up"
	if e.UpgradeURL != "" && !state.Tier.Largest() {
		hint += " and that larger plans are at " + e.UpgradeURL
	}
	return hint + ". " + stillAnswering(state)
}

// stillAnswering names the tools that an account has quota for.
func stillAnswering(state cola.QuotaState) string {
	answering := "The reference tools, the saved-search tools and get_usage still work"
	if !state.Known() {
		return answering + "."
	}
	if n := state.DetailViewsRemaining(); n > 0 {
		answering += fmt.Sprintf("; so do get_cola and get_permittee, for the %d detail views left", n)
	}
	if n := state.ListRecordsRemaining(); n > 0 {
		answering += fmt.Sprintf("; so do search_colas, search_permittees and lookup_barcode, for the %d list records left", n)
	}
	return answering + "."
}
