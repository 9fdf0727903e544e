package dashboard

import (
	"net/http"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/registry"
)

// errorExplanation explains an API error and how to fix it.
type errorExplanation struct {
	Why, Do string
	Docs    link
	Fix     link // page to fix it; may be empty
}

// refusal returns the explanation as a row in the list of rejections.
func (e errorExplanation) refusal() refusalRow {
	return refusalRow{Why: e.Why, Do: e.Do, Link: e.Fix.Href, LinkText: e.Fix.Text}
}

// Sections of the documentation that explain errors.
var (
	docsErrors      = link{"/docs/errors", "Errors"}
	docsKeys        = link{"/docs/authentication#rejected-keys", "Authentication"}
	docsAccess      = link{"/docs/authentication#restrict-a-key", "Restrict a key"}
	docsFormats     = link{"/docs/api#fields-and-formats", "Fields and formats"}
	docsSaved       = link{"/docs/api#saved-searches", "Saved searches"}
	docsDestination = link{"/docs/alerts#destinations", "Destinations"}
	docsScheduling  = link{"/docs/alerts#scheduling", "Scheduling"}
	docsQuotas      = link{"/docs/quotas", "Quotas and rate limits"}
	docsOutage      = link{"/docs/metering#when-the-database-fails", "Outages"}
	docsAssistants  = link{"/docs/assistants#before-you-connect", "Connect an assistant"}
	docsSuspended   = link{"/docs/alerts#suspended-and-limited-accounts", "Suspended accounts"}
)

// networkExplanation explains the rejection of a key used from outside its networks.
var networkExplanation = errorExplanation{
	Why: "The key was used from outside its allowed networks.",
	Do: "Use it from an allowed address, or edit the key. If you don’t recognize the address in the response, " +
		"rotate the key.",
	Docs: docsAccess, Fix: link{keysPath, "API keys"},
}

// errorExplanations explains the codes, except quota_exceeded.
var errorExplanations = map[cola.Code]errorExplanation{
	cola.CodeValidation: {
		Why:  "The request is invalid.",
		Do:   "Fix every problem listed in the response, then send the request again. Invalid requests are free.",
		Docs: docsErrors,
	},
	cola.CodeUnauthorized: {
		Why: "The key or token was revoked or has expired.", Do: "Find the program that still uses it, and give it a new one.",
		Docs: docsKeys, Fix: link{keysPath, "API keys"},
	},
	cola.CodeInsufficientScope: {
		Why: "The key doesn’t have the permission that this call needs.", Do: "Change the key’s access.",
		Docs: docsAccess, Fix: link{keysPath, "API keys"},
	},
	cola.CodeForbidden: {
		Why: "The server rejects requests from this origin, host or page.", Do: "Send the request from an allowed origin, or from your server.",
		Docs: docsErrors,
	},
	cola.CodeAccountSuspended: {
		Why: "The account was suspended when the request arrived.", Do: "Contact the operator.", Docs: docsSuspended,
	},
	cola.CodeNotFound: {
		Why: "There is no such record, path or tool, or it isn’t yours.", Do: "Check the ID and the path. Not-found responses are free.",
		Docs: docsErrors,
	},
	cola.CodeMethodNotAllowed: {
		Why: "The path doesn’t support this method.", Do: "Use a method from the response’s Allow header.", Docs: docsErrors,
	},
	cola.CodeNotAcceptable: {
		Why: "The Accept header allows none of the available formats.", Do: "Accept application/json, text/csv or application/x-ndjson.",
		Docs: docsFormats,
	},
	cola.CodeRequestTimeout: {
		Why: "The request body arrived too slowly.", Do: "Send the request again.", Docs: docsErrors,
	},
	cola.CodePayloadTooLarge: {
		Why: "The request body is too large.", Do: "Send at most 64 KiB, or 1 MiB for a tool call.", Docs: docsErrors,
	},
	cola.CodeUnsupportedMediaType: {
		Why: "The body isn’t declared as JSON.", Do: "Send it with Content-Type: application/json, in UTF-8 and uncompressed.",
		Docs: docsErrors,
	},
	cola.CodeSearchTooBroad: {
		Why: "The search is too broad to run on a schedule.", Do: "Add a narrower filter, or save it without a schedule.",
		Docs: docsScheduling,
	},
	cola.CodeWatchlistLimit: {
		Why: "The account has reached its limit of saved searches or active alerts.", Do: "Delete or pause one, then try again.",
		Docs: docsScheduling, Fix: link{searchesPath, "Saved searches"},
	},
	cola.CodeIdempotencyKeyReused: {
		Why: "The Idempotency-Key was already used for a different request.", Do: "Use a new key for each new search.", Docs: docsSaved,
	},
	cola.CodeDestinationLimit: {
		Why: "The account has reached its limit of destinations.", Do: "Delete one, then try again.", Docs: docsDestination,
		Fix: link{destinationsPath, "Destinations"},
	},
	cola.CodeDestinationExists: {
		Why: "The account already has this destination.", Do: "Use the existing one.", Docs: docsDestination,
		Fix: link{destinationsPath, "Destinations"},
	},
	cola.CodeNotActive: {
		Why: "The saved search or destination is paused, disabled or not confirmed.", Do: "Resume or confirm it, then try again.",
		Docs: docsDestination, Fix: link{destinationsPath, "Destinations"},
	},
	cola.CodeKeyLimit: {
		Why: "The account has reached its limit of API keys.", Do: "Revoke one, then try again.", Docs: docsKeys,
		Fix: link{keysPath, "API keys"},
	},
	cola.CodeUnavailable: {
		Why:  "The service was briefly unavailable. You weren’t charged.",
		Do:   "Wait the number of seconds in Retry-After, then retry.",
		Docs: docsOutage,
	},
	cola.CodeInternal: {
		Why: "The service failed; the request is fine.", Do: "Retry once. If it fails again, report the request ID.", Docs: docsErrors,
	},
}

// appScopeExplanation explains CodeInsufficientScope for an app.
var appScopeExplanation = errorExplanation{
	Why:  "The app doesn’t have the permission that this call needs.",
	Do:   "Reconnect the app and grant the permission.",
	Docs: docsAssistants, Fix: link{appsPath, "Connected apps"},
}

// invalidMessage explains JSON-RPC errors.
var invalidMessage = errorExplanation{
	Why: "The server couldn’t process this MCP message.", Do: "Check the client’s message against the MCP specification.",
	Docs: docsAssistants,
}

// explainError explains an error based on its code, the kind of credential, the reason in its
// details and, if the code is unknown, its status.
func explainError(code cola.Code, status int, by cola.CredentialKind, reason string, q cola.QuotaState) *errorExplanation {
	switch {
	case code == cola.CodeQuotaExceeded:
		return explainLimit(reason, q)
	case code == cola.CodeInsufficientScope && by == cola.CredentialLink:
		return &appScopeExplanation
	case reason == cola.NetworkNotAllowed:
		return &networkExplanation
	case status == web.StatusClientGone:
		return &errorExplanation{
			Why: "The client disconnected before the response was ready.", Do: "Check the client’s timeout. The request may have been charged.",
			Docs: docsErrors,
		}
	}
	if e, ok := errorExplanations[code]; ok {
		return &e
	}
	if status >= http.StatusInternalServerError {
		code = cola.CodeInternal
	} else {
		code = cola.CodeValidation
	}
	e := errorExplanations[code]
	return &e
}

// explainLimit explains an exceeded limit.
func explainLimit(reason string, q cola.QuotaState) *errorExplanation {
	switch reason {
	case registry.RefusedBurst, registry.RefusedDetailViews, registry.RefusedListRecords:
		text := refusalText(reason, "", q)
		return &errorExplanation{Why: text.Why, Do: text.Do, Docs: docsQuotas, Fix: link{text.Link, text.LinkText}}
	}
	return &errorExplanation{
		Why:  "A limit on requests of this kind was reached.",
		Do:   "Wait the number of seconds in Retry-After, then retry.",
		Docs: docsQuotas,
	}
}
