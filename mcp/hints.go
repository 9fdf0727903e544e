package mcp

import (
	"fmt"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

// errorResult is a failed call as a tool tells it: the envelope that REST answers with, and a sentence on what to do next. It
// has no structured content, which would have to follow the tool's output schema. state is where the account stands.
func errorResult(e *cola.Error, t *tool, state cola.QuotaState) *protocol.CallToolResult {
	b, err := cola.AppendJSON(nil, web.Envelope(e))
	if err != nil { // the details hold what JSON cannot say
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
		return "Nothing was created. Add to filters what the user wants watched, such as a brand_name or a query, and call again; or leave schedule out to keep the search without an alert."
	case cola.CodeWatchlistLimit:
		return "Nothing was created, and the same call will be refused again. Tell the user how many alerts may be active; call again without schedule, or with schedule.active false, if the user wants the search kept all the same."
	case cola.CodeNotFound:
		return "Nothing was charged. " + t.notFound
	case cola.CodeUnavailable:
		return fmt.Sprintf("Nothing was charged. Wait %d seconds and call again, once.", web.RetrySeconds(e.RetryAfter))
	case cola.CodeInternal:
		return "This is a fault of the service, not of the arguments. Call again once; if it fails again, tell the user the request_id in error.details."
	case cola.CodeQuotaExceeded:
		return quotaHint(e, state)
	}
	return ""
}

// quotaHint tells a full minute, which is worth waiting for, from a used-up month, which is not.
func quotaHint(e *cola.Error, state cola.QuotaState) string {
	if e.RetryAfter > 0 {
		return fmt.Sprintf("Wait %d seconds, then call again; sooner is refused as well. Other tools are refused until then too.", web.RetrySeconds(e.RetryAfter))
	}
	hint := "Do not call again: it will be refused until error.details.reset. Tell the user that the month's quota is used up"
	if e.UpgradeURL != "" && !state.Tier.Largest() {
		hint += " and that a larger plan is had at " + e.UpgradeURL
	}
	return hint + ". " + stillAnswering(state)
}

// stillAnswering names the tools that an account has quota for.
func stillAnswering(state cola.QuotaState) string {
	answering := "The reference tools, get_usage and create_saved_search still answer"
	if !state.Known() {
		return answering + "."
	}
	if n := state.DetailViewsRemaining(); n > 0 {
		answering += fmt.Sprintf("; so do get_cola and get_permittee, for the %d detail views that are left", n)
	}
	if n := state.ListRecordsRemaining(); n > 0 {
		answering += fmt.Sprintf("; so do search_colas, search_permittees and lookup_barcode, for the %d list records that are left", n)
	}
	return answering + "."
}
