package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// destinationService contains the operations for destinations and deliveries.
type destinationService interface {
	Destinations(
		context.Context, cola.Caller, cola.SavedSearchListParams,
	) (registry.PageList[cola.Destination], cola.QuotaState, error)
	Destination(
		ctx context.Context, c cola.Caller, id, ifNoneMatch string,
	) (registry.Tagged[cola.Destination], cola.QuotaState, error)
	CreateDestination(
		context.Context, cola.Caller, cola.DestinationParams,
	) (cola.DestinationWithSecret, cola.QuotaState, error)
	ChangeDestination(
		ctx context.Context, c cola.Caller, id string, p cola.DestinationChangeParams,
	) (cola.Destination, cola.QuotaState, error)
	DeleteDestination(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error)
	RotateSecret(ctx context.Context, c cola.Caller, id string) (cola.DestinationWithSecret, cola.QuotaState, error)
	TestDestination(ctx context.Context, c cola.Caller, id string) (cola.Delivery, cola.QuotaState, error)
	ResendConfirmation(ctx context.Context, c cola.Caller, id string) (cola.Delivery, cola.QuotaState, error)
	ConfirmDestination(
		ctx context.Context, c cola.Caller, id string, p cola.DestinationConfirmParams,
	) (cola.Destination, cola.QuotaState, error)
	ReplayDestination(ctx context.Context, c cola.Caller, id string) (cola.Replayed, cola.QuotaState, error)
	Deliveries(
		context.Context, cola.Caller, cola.DeliveryListParams,
	) (registry.PageList[cola.Delivery], cola.QuotaState, error)
	Delivery(
		ctx context.Context, c cola.Caller, id, ifNoneMatch string,
	) (registry.Tagged[cola.DeliveryDetail], cola.QuotaState, error)
	ReplayDelivery(ctx context.Context, c cola.Caller, id string) (cola.Delivery, cola.QuotaState, error)
	CreateFeed(ctx context.Context, c cola.Caller, id string) (cola.SavedSearchFeed, cola.QuotaState, error)
	DeleteFeed(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error)
}

const (
	destinationsPath   = "/destinations"
	oneDestinationPath = destinationsPath + "/{uuid}"
)

// redacts is appended to the descriptions of operations that return addresses.
const redacts = " A read-only key, or an access token without the scope `saved_searches:write`, sees only the scheme and host of URLs, and the first letter and the domain of email addresses."

// needsScope is appended to the descriptions of operations that need the write scope.
const needsScope = " The API key or access token needs the `saved_searches:write` scope."

// destinationID is the path parameter for a destination.
func destinationID() pathParam {
	return pathParam{
		Name:        "uuid",
		Doc:         "UUID of the destination.",
		Example:     exampleDestinationUUID,
		Placeholder: true,
	}
}

func destinationOperations(svc Service) []operation {
	type destination = cola.Destination
	return []operation{
		{
			ID: "listDestinations", Path: destinationsPath, Tag: tagDestinations, Summary: "List destinations",
			Description: "Lists the destinations that the account's saved searches send messages to, oldest first. " +
				"The account's own email address is always listed; it can be paused." + redacts,
			Params: reflect.TypeFor[cola.SavedSearchListParams](), Sample: "per_page=1",
			Response: reflect.TypeFor[pageOf[destination]](), Example: exampleDestinations(), Cost: free,
			call: listCall(svc.Destinations, page),
		},
		createDestination(svc),
		{
			ID: "getDestination", Path: oneDestinationPath, Tag: tagDestinations, Summary: "Get a destination",
			Description: "A destination and its state. Another account's destination returns 404." + redacts,
			PathParam:   destinationID(), Response: reflect.TypeFor[dataOf[destination]](),
			Example: dataOf[destination]{exampleWebhook()},
			Cost:    free, HasETag: true,
			call: recordCall(svc, "uuid", svc.Destination),
		},
		changeDestination(svc),
		{
			ID: "deleteDestination", Method: http.MethodDelete, Path: oneDestinationPath, Tag: tagDestinations,
			Summary: "Delete a destination",
			Description: "Deletes a destination along with its deliveries, sent and unsent. The account's own email " +
				"address can't be deleted; pause it instead." + needsScope,
			PathParam: destinationID(), Cost: free, Errors: []string{"InsufficientScope"},
			call: bareCall(svc,
				withUUID(func(ctx context.Context, c cola.Caller, id string) (struct{}, cola.QuotaState, error) {
					state, err := svc.DeleteDestination(ctx, c, id)
					return struct{}{}, state, err
				}), func(struct{}) result { return result{empty: true} }),
		},
		rotateSecret(svc),
		testDestination(svc),
		resendConfirmation(svc),
		confirmDestination(svc),
		replayDestination(svc),
	}
}

// withUUID adapts an operation on the record whose UUID is in the path.
func withUUID[R any](
	do func(ctx context.Context, c cola.Caller, id string) (R, cola.QuotaState, error),
) func(*http.Request, cola.Caller) (R, cola.QuotaState, error) {
	return func(r *http.Request, c cola.Caller) (R, cola.QuotaState, error) {
		return do(r.Context(), c, pathValue(r, "uuid"))
	}
}

func createDestination(svc Service) operation {
	type created = cola.DestinationWithSecret
	do := func(r *http.Request, caller cola.Caller, p cola.DestinationParams) (created, cola.QuotaState, error) {
		return svc.CreateDestination(r.Context(), caller, p)
	}
	return operation{
		ID: "createDestination", Method: http.MethodPost, Path: destinationsPath, Tag: tagDestinations,
		Summary: "Add a destination",
		Description: "Adds an email address or a webhook that receives messages about one saved search, or about all of them. A " +
			"search's own destination overrides an account-wide one with the same address. The limit is 20 per " +
			"account.\n\n" +
			"Each **webhook** message is a JSON POST request, signed according to Standard Webhooks " +
			"(https://www.standardwebhooks.com: `webhook-id`, `webhook-timestamp`, `webhook-signature`) with the " +
			"`secret` in the response, which is shown only once. A receiver accepts a message by responding with any " +
			"2xx status within 15 seconds. Otherwise the message is retried for three days, with the same " +
			"`webhook-id`. A 410 disables the destination.\n\n" +
			"A new endpoint is `pending` and receives only a challenge: a signed message of type " +
			"`destination.confirm`. The endpoint confirms by responding with 2xx and the token in `data.challenge`, as " +
			"text or as `{\"challenge\": token}`. Alternatively, confirm it yourself by sending the message's `data.code` to " +
			"`/destinations/{uuid}/confirm`. A challenge is retried for about half an hour.\n\n" +
			"An **email** address other than the account's own is `unconfirmed` until its owner confirms with a " +
			"link sent to it. Every message has an unsubscribe link.\n\n" +
			"If the response is lost, send the request again: `destination_exists` means that the destination was " +
			"created. Then rotate its secret, because the first one can't be shown again." + needsScope,
		Body: &requestBody{
			Type: reflect.TypeFor[cola.DestinationParams](), Example: exampleDestinationBody(),
			Media: []string{mediaJSON},
			Doc:   "Where to send messages. Unknown fields are rejected; null means absent.",
		},
		Creates:  true,
		Response: reflect.TypeFor[dataOf[created]](),
		Example:  dataOf[created]{exampleNewWebhook()},
		Cost:     free,
		Errors:   []string{"InsufficientScope", "DestinationConflict", "UnsupportedMediaType", "AskedTooOften"},
		call: bodyCall(svc, []string{mediaJSON}, do, func(d created) result {
			return result{body: jsonBody(dataOf[created]{d}), location: basePath + destinationsPath + "/" + d.UUID}
		}),
	}
}

func changeDestination(svc Service) operation {
	type destination = cola.Destination
	media := []string{mediaJSON, mediaMergePatch}
	do := func(r *http.Request, caller cola.Caller, p cola.DestinationChangeParams) (destination, cola.QuotaState,
		error) {
		return svc.ChangeDestination(r.Context(), caller, pathValue(r, "uuid"), p)
	}
	return operation{
		ID: "changeDestination", Method: http.MethodPatch, Path: oneDestinationPath, Tag: tagDestinations,
		Summary: "Pause or resume a destination",
		Description: "`{\"active\": false}` pauses a destination: its messages are recorded as skipped. `true` resumes " +
			"it, even if it was paused after failures or disabled by a 410; `/destinations/{uuid}/replay` sends " +
			"missed messages. If the recipient has not confirmed, or has unsubscribed, the error is `not_active`; " +
			"send another confirmation request.\n\n" +
			"Changes are idempotent." + needsScope,
		PathParam: destinationID(),
		Body: &requestBody{
			Type: reflect.TypeFor[cola.DestinationChangeParams](), Example: exampleDestinationChange(), Media: media,
			Doc: "At least one field to change. Unknown fields are rejected; null means absent.",
		},
		Response: reflect.TypeFor[dataOf[destination]](),
		Example:  dataOf[destination]{exampleWebhook()},
		Cost:     free,
		Errors:   []string{"InsufficientScope", "DestinationNotActive", "UnsupportedMediaType"},
		call: bodyCall(svc, media, do,
			func(d destination) result { return result{body: jsonBody(dataOf[destination]{d})} }),
	}
}

func rotateSecret(svc Service) operation {
	type rotated = cola.DestinationWithSecret
	return operation{
		ID: "rotateDestinationSecret", Method: http.MethodPost, Path: oneDestinationPath + "/secret",
		Tag: tagDestinations, Summary: "Rotate a webhook's secret",
		Description: "Creates a new secret and returns it, once. For 24 hours, messages are signed with the previous " +
			"secret too, so receivers can switch without losing messages. Earlier secrets are no longer used." +
			needsScope,
		PathParam: destinationID(),
		Response:  reflect.TypeFor[dataOf[rotated]](),
		Example:   dataOf[rotated]{exampleNewWebhook()},
		Cost:      free,
		Errors:    []string{"InsufficientScope"},
		call: bareCall(svc, withUUID(svc.RotateSecret), func(d rotated) result {
			return result{body: jsonBody(dataOf[rotated]{d})}
		}),
	}
}

func testDestination(svc Service) operation {
	return operation{
		ID: "testDestination", Method: http.MethodPost, Path: oneDestinationPath + "/test", Tag: tagDestinations,
		Summary: "Send a test message",
		Description: "Sends a `destination.test` message, signed and delivered like any other. `/deliveries/{id}` " +
			"shows its state. Limit: 10 per minute per destination." + needsScope,
		PathParam: destinationID(),
		Async:     true,
		Response:  reflect.TypeFor[dataOf[cola.Delivery]](),
		Example:   dataOf[cola.Delivery]{exampleNewDelivery(cola.EventTest)},
		Cost:      free,
		Errors:    []string{"InsufficientScope", "DestinationNotActive", "TestedTooOften"},
		call:      bareCall(svc, withUUID(svc.TestDestination), accepted[cola.Delivery]),
	}
}

// accepted renders the result of an asynchronous operation.
func accepted[T any](v T) result { return result{body: jsonBody(dataOf[T]{v}), async: true} }

func resendConfirmation(svc Service) operation {
	return operation{
		ID: "resendConfirmation", Method: http.MethodPost, Path: oneDestinationPath + "/confirmation",
		Tag: tagDestinations, Summary: "Ask a recipient to confirm",
		Description: "Sends another challenge to a `pending` endpoint, or another confirmation email to the owner of an " +
			"`unconfirmed` or unsubscribed email address.\n\n" +
			"Limits per account: 10 requests in 24 hours, 5 challenges per host per hour, 1 request per email " +
			"address per hour. Limits across all accounts, in 24 hours: 50 challenges per host, 3 requests per email " +
			"address." + needsScope,
		PathParam: destinationID(),
		Async:     true,
		Response:  reflect.TypeFor[dataOf[cola.Delivery]](),
		Example:   dataOf[cola.Delivery]{exampleNewDelivery(cola.EventConfirm)},
		Cost:      free,
		Errors:    []string{"InsufficientScope", "DestinationNotActive", "AskedTooOften"},
		call:      bareCall(svc, withUUID(svc.ResendConfirmation), accepted[cola.Delivery]),
	}
}

// exampleCode is the code in the example call of confirmDestination.
const exampleCode = "KX7Q-2MFA"

func confirmDestination(svc Service) operation {
	type destination = cola.Destination
	do := func(r *http.Request, caller cola.Caller, p cola.DestinationConfirmParams) (destination, cola.QuotaState,
		error) {
		return svc.ConfirmDestination(r.Context(), caller, pathValue(r, "uuid"), p)
	}
	return operation{
		ID: "confirmDestination", Method: http.MethodPost, Path: oneDestinationPath + "/confirm", Tag: tagDestinations,
		Summary: "Confirm an endpoint with a code",
		Description: "Activates a `pending` endpoint with the code from its latest challenge, for receivers that " +
			"can't answer with the token. Each challenge allows ten wrong codes; after that, the error is `not_active`: " +
			"send another challenge. Confirming an active endpoint has no effect." + needsScope,
		PathParam: destinationID(),
		Body: &requestBody{
			Type:    reflect.TypeFor[cola.DestinationConfirmParams](),
			Example: cola.DestinationConfirmParams{Code: exampleCode}, Media: []string{mediaJSON},
			Placeholders: []Placeholder{{"code", exampleCode}},
			Doc:          "The code. Unknown fields are rejected.",
		},
		Response: reflect.TypeFor[dataOf[destination]](),
		Example:  dataOf[destination]{exampleWebhook()},
		Cost:     free,
		Errors:   []string{"InsufficientScope", "DestinationNotActive", "UnsupportedMediaType"},
		call: bodyCall(svc, []string{mediaJSON}, do,
			func(d destination) result { return result{body: jsonBody(dataOf[destination]{d})} }),
	}
}

func replayDestination(svc Service) operation {
	return operation{
		ID: "replayDestination", Method: http.MethodPost, Path: oneDestinationPath + "/replay", Tag: tagDestinations,
		Summary: "Resend missed messages",
		Description: "Resends the destination's run messages that failed or were skipped: up to 1,000, oldest first, with the " +
			"same message IDs. Repeat while `count` is 1,000." + needsScope,
		PathParam: destinationID(),
		Async:     true,
		Response:  reflect.TypeFor[dataOf[cola.Replayed]](),
		Cost:      free,
		Errors:    []string{"InsufficientScope", "DestinationNotActive"},
		call:      bareCall(svc, withUUID(svc.ReplayDestination), accepted[cola.Replayed]),
	}
}
