package httpapi

import (
	"net/http"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// destinationErrors are the errors that only destinations and deliveries are answered with.
func destinationErrors() []errorKind {
	asked := quotaExamples()
	asked["asked"] = &cola.Error{
		Code: cola.CodeQuotaExceeded, Message: "The owner of this address was asked within the last hour. Try again in 42 minutes.",
		Details: map[string]any{"reason": "confirmations", "retry_after": 2520}, RetryAfter: 42 * time.Minute,
	}
	tested := quotaExamples()
	tested["tested"] = &cola.Error{
		Code: cola.CodeQuotaExceeded, Message: "Each destination is limited to 10 test messages a minute. Try again in 6 seconds.",
		Details: map[string]any{"reason": registry.ReasonTests, "limit": 10, "retry_after": 6}, RetryAfter: 6 * time.Second,
	}
	return []errorKind{
		{status: http.StatusConflict, name: "DestinationConflict", description: "The account has the destination already, or as many as it may.", headers: everyAnswer(),
			examples: map[string]*cola.Error{
				"exists": cola.Errorf(cola.CodeDestinationExists,
					"The account has this destination already, for the same searches. GET /destinations lists it; a lost secret is replaced with POST /destinations/{uuid}/secret."),
				"limit": {
					Code: cola.CodeDestinationLimit, Message: "An account may have 20 destinations, and this one has them. Delete one of the others first.",
					Details: map[string]any{"limit": cola.MaxDestinations},
				},
			}},
		{status: http.StatusConflict, name: "DestinationNotActive", description: "The destination is paused or disabled, or its recipient has not confirmed.", headers: everyAnswer(),
			examples: map[string]*cola.Error{"inactive": {
				Code: cola.CodeNotActive, Details: map[string]any{"state": cola.DestinationPaused, "reason": cola.ReasonHolder},
				Message: "The destination is paused. To make it active again, send PATCH /destinations/" + exampleDestinationUUID + " with {\"active\": true}.",
			}}},
		{status: http.StatusTooManyRequests, name: "AskedTooOften",
			description: "Too many requests to confirm (details.reason is confirmations): from the account, or to the host, URL or address. Or, as for every operation, the rate limit was reached (burst). Retry-After is set.",
			headers:     append([]string{"Retry-After"}, everyAnswer()...), examples: asked},
		{status: http.StatusTooManyRequests, name: "TestedTooOften",
			description: "Ten test messages were sent to the destination within a minute (details.reason is tests). Or, as for every operation, the rate limit was reached (burst). Retry-After is set.",
			headers:     append([]string{"Retry-After"}, everyAnswer()...), examples: tested},
	}
}
