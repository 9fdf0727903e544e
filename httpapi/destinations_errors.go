package httpapi

import (
	"net/http"
	"time"

	"github.com/colaregistry/colaregistry/cola"
)

// destinationErrors are the errors that only destinations and deliveries are answered with.
func destinationErrors() []errorKind {
	asked := quotaExamples()
	asked["asked"] = &cola.Error{
		Code: cola.CodeQuotaExceeded, Message: "Whoever has this address was asked within the last hour. Try again in 42 minutes.",
		Details: map[string]any{"reason": "confirmations", "retry_after": 2520}, RetryAfter: 42 * time.Minute,
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
		{status: http.StatusConflict, name: "DestinationNotActive", description: "Nothing is sent to the destination: it is paused or disabled, or its recipient has not agreed.", headers: everyAnswer(),
			examples: map[string]*cola.Error{"inactive": {
				Code: cola.CodeNotActive, Details: map[string]any{"state": cola.DestinationPaused, "reason": cola.ReasonHolder},
				Message: "The destination is paused, so nothing is sent to it. To have it sent to again, send PATCH /destinations/" + exampleDestinationUUID + " with {\"active\": true}.",
			}}},
		{status: http.StatusTooManyRequests, name: "AskedTooOften",
			description: "People were asked to agree often enough lately: the account's limit of ten a day, the address's of three a day, or the hour between two requests (details.reason is confirmations); or as everywhere: too many requests came in 60 seconds. Retry-After is given.",
			headers:     append([]string{"Retry-After"}, everyAnswer()...), examples: asked},
	}
}
