package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/internal/openapitest"
)

const (
	destinationsTarget = "/api/v1/destinations"
	oneDestination     = destinationsTarget + "/" + exampleDestinationUUID
	oneDelivery        = "/api/v1/deliveries/5127"
	webhookBody        = `{"kind":"webhook","address":"https://hooks.example.com/labels"}`
)

func destinationExchanges() []exchange {
	return []exchange{
		{name: "destinations", target: destinationsTarget + "?per_page=2"},
		{name: "destination", target: oneDestination},
		{name: "destination_created", target: destinationsTarget, body: `{"kind":"webhook","address":"https://Hooks.example.com/labels","saved_search":"` + exampleUUID + `","send_empty":true}`},
		{name: "destination_unconfirmed", target: destinationsTarget, body: `{"kind":"email","address":"colleague@example.com"}`},
		{name: "destination_invalid", target: destinationsTarget, body: `{"kind":"webhook","address":"http://user@127.0.0.1/#x","saved_search":"oaks","secret":"mine"}`},
		{name: "destination_paused", target: oneDestination, method: "PATCH", body: `{"active":false}`},
		{name: "destination_empty_change", target: oneDestination, method: "PATCH", body: `{"active":null}`},
		{name: "destination_deleted", target: oneDestination, method: "DELETE"},
		{name: "destination_secret", target: oneDestination + "/secret", method: "POST"},
		{name: "destination_test", target: oneDestination + "/test", method: "POST"},
		{name: "destination_confirmation", target: oneDestination + "/confirmation", method: "POST"},
		{name: "destination_confirm", target: oneDestination + "/confirm", body: `{"code":"kx7q 2mfa"}`},
		{name: "destination_confirm_empty", target: oneDestination + "/confirm", body: `{"code":" "}`},
		{name: "destination_replay", target: oneDestination + "/replay", method: "POST"},
		{name: "deliveries", target: "/api/v1/deliveries?saved_search=" + exampleUUID},
		{name: "deliveries_invalid", target: "/api/v1/deliveries?destination=x&state=lost&event=y"},
		{name: "delivery", target: oneDelivery},
		{name: "delivery_replay", target: oneDelivery + "/replay", method: "POST"},
		{name: "feed_created", target: "/api/v1/saved-searches/" + exampleUUID + "/feed", method: "POST"},
		{name: "feed_deleted", target: "/api/v1/saved-searches/" + exampleUUID + "/feed", method: "DELETE"},
	}
}

func TestDestinationParameters(t *testing.T) {
	f := newFake()
	resp := post(t, mustServe(t, f, io.Discard), destinationsTarget, `{"kind":"WEBHOOK","address":" https://hooks.example.com/labels ","saved_search":"`+exampleUUID+`","send_empty":true}`)
	want := cola.Destination{Kind: cola.KindWebhook, Address: cola.Some("https://hooks.example.com/labels"), SavedSearch: cola.Some(exampleUUID), SendEmpty: true}
	if diff := cmp.Diff(want, f.sending.created); resp.StatusCode != http.StatusCreated || diff != "" || f.spent != 1 || f.used != (cola.Used{}) {
		t.Errorf("status = %d, %d requests spent; want 201, 1 (-want +got):\n%s", resp.StatusCode, f.spent, diff)
	}
	for body, want := range map[string]cola.DestinationChangeParams{
		`{"active":true}`:                    {Active: cola.Some(true)},
		`{"active":false,"send_empty":null}`: {Active: cola.Some(false)},
		`{"send_empty":true,"active":null}`:  {SendEmpty: cola.Some(true)},
		`{"send_empty":false,"active":true}`: {SendEmpty: cola.Some(false), Active: cola.Some(true)},
	} {
		f := newFake()
		resp := write(t, mustServe(t, f, io.Discard), http.MethodPatch, oneDestination, body)
		if diff := cmp.Diff(want, f.sending.change); diff != "" || resp.StatusCode != http.StatusOK || f.received != exampleDestinationUUID || f.spent != 1 {
			t.Errorf("%s: status = %d, want 200 (-want +got):\n%s", body, resp.StatusCode, diff)
		}
	}
	f = newFake()
	get(t, mustServe(t, f, io.Discard), "/api/v1/deliveries?state=Failed&destination="+strings.ToUpper(exampleDestinationUUID)+"&page=3")
	if want := (cola.DeliveryPage{Destination: exampleDestinationUUID, State: cola.DeliveryFailed, Page: 3, PerPage: 20}); f.sending.page != want {
		t.Errorf("service received %+v, want %+v", f.sending.page, want)
	}
}

// TestDestinationOperations checks that operations without a body reach the service, require the
// write scope, and reject query parameters and unknown IDs.
func TestDestinationOperations(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	for _, tt := range []struct {
		method, target, operation string
		status                    int
	}{
		{"POST", oneDestination + "/secret", "rotate " + exampleDestinationUUID, 200},
		{"POST", oneDestination + "/test", "test " + exampleDestinationUUID, 202},
		{"POST", oneDestination + "/confirmation", "ask " + exampleDestinationUUID, 202},
		{"POST", oneDestination + "/replay", "replay " + exampleDestinationUUID, 202},
		{"DELETE", oneDestination, "delete " + exampleDestinationUUID, 204},
		{"POST", oneDelivery + "/replay", "replay delivery 5127", 202},
		{"POST", onePath + "/feed", "make feed " + exampleUUID, 201},
		{"DELETE", onePath + "/feed", "end feed " + exampleUUID, 204},
	} {
		f := newFake()
		resp := write(t, mustServe(t, f, io.Discard), tt.method, tt.target, "")
		spec.Validate(t, httptest.NewRequest(tt.method, tt.target, nil), resp)
		if resp.StatusCode != tt.status || f.sending.done != tt.operation || f.spent != 1 || f.used != (cola.Used{}) || resp.Header.Get("Cache-Control") != "private, no-store" {
			t.Errorf("%s %s: status = %d, operation = %q, %d requests spent; want %d, %q, 1", tt.method, tt.target, resp.StatusCode, f.sending.done, f.spent, tt.status, tt.operation)
		}
		for _, rejected := range []struct {
			target, line string
			status       int
		}{
			{tt.target, "Authorization: Bearer " + testToken, 403},
			{tt.target + "?force=1", "X-API-Key: " + testKey, 400},
			{strings.NewReplacer(exampleDestinationUUID, "other", exampleUUID, "other", "5127", "1").Replace(tt.target), "X-API-Key: " + testKey, 404},
		} {
			f := newFake()
			resp := send(t, mustServe(t, f, io.Discard), tt.method, rejected.target, rejected.line)
			spec.Validate(t, httptest.NewRequest(tt.method, rejected.target, nil), resp)
			if resp.StatusCode != rejected.status || f.sending.done != "" || f.spent != 1 {
				t.Errorf("%s %s: status = %d, operation = %q; want %d and no operation",
					tt.method, rejected.target, resp.StatusCode, f.sending.done, rejected.status)
			}
		}
	}
}

// TestInvalidDestinationBodies checks that invalid bodies and query parameters are rejected, as for
// saved searches.
func TestInvalidDestinationBodies(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	messages := golden.Load(t, "strict_destinations")
	for _, tt := range []struct{ method, target, body, field string }{
		{"POST", destinationsTarget, " ", "body"},
		{"POST", destinationsTarget, "[]", "body"},
		{"POST", destinationsTarget, `{"kind":"webhook","kind":"email","address":"x"}`, "kind"},
		{"POST", destinationsTarget, `{"kind":"webhook","url":"https://a.example/"}`, "url"},
		{"POST", destinationsTarget, `{"kind":"webhook","address":["https://a.example/"]}`, "address"},
		{"POST", destinationsTarget + "?kind=email", `{"kind":"email","address":"a@example.com"}`, "kind"},
		{"PATCH", oneDestination, `{}`, "body"},
		{"POST", oneDestination + "/confirm", `{}`, "code"},
		{"POST", oneDestination + "/confirm", `{"code":"KX7Q-2MFA","active":true}`, "active"},
		{"PATCH", oneDestination, `{"address":"https://b.example/"}`, "address"},
		{"PATCH", oneDestination, `{"active":"true"}`, "active"},
		{"PATCH", oneDestination + "?active=false", `{"active":true}`, "active"},
		{"GET", destinationsTarget + "?per_page=101", "", "per_page"},
		{"GET", "/api/v1/deliveries?state=lost", "", "state"},
		{"GET", oneDelivery + "?expand=1", "", "expand"},
	} {
		f := newFake()
		resp := write(t, mustServe(t, f, io.Discard), tt.method, tt.target, tt.body)
		spec.Validate(t, httptest.NewRequest(tt.method, tt.target, nil), resp)
		got := mustDecode(t, resp)
		messages.Check(t, tt.method+" "+tt.target+" "+tt.body, got.Error.Details)
		if resp.StatusCode != http.StatusBadRequest || got.Error.Details[tt.field] == nil || f.spent != 1 {
			t.Errorf("%s %s %s: response = %d %v, want 400 with a problem for %s", tt.method, tt.target, tt.body, resp.StatusCode, got.Error, tt.field)
		}
	}
}

// TestRejectedDestinations checks the response to each service error against the OpenAPI
// description.
func TestRejectedDestinations(t *testing.T) {
	spec := openapitest.Load(t, goldenOpenAPI)
	const patch = `{"active":true}`
	requested := destinationErrors()[2].examples["confirmation_limit_reached"]
	for _, tt := range []struct {
		err      *cola.Error
		status   int
		requests [][3]string // method, target, body
	}{
		{cola.Errorf(cola.CodeDestinationExists, "Exists."), 409, [][3]string{{"POST", destinationsTarget, webhookBody}}},
		{cola.Errorf(cola.CodeDestinationLimit, "Limit reached."), 409, [][3]string{{"POST", destinationsTarget, webhookBody}}},
		{cola.Errorf(cola.CodeNotActive, "Paused."), 409, [][3]string{
			{"PATCH", oneDestination, patch}, {"POST", oneDestination + "/test", ""}, {"POST", oneDestination + "/confirmation", ""},
			{"POST", oneDestination + "/confirm", `{"code":"KX7Q-2MFA"}`}, {"POST", oneDestination + "/replay", ""}, {"POST", oneDelivery + "/replay", ""},
		}},
		{requested, 429, [][3]string{{"POST", destinationsTarget, webhookBody}, {"POST", oneDestination + "/confirmation", ""}}},
		{cola.InsufficientScope(cola.ScopeWriteSavedSearches), 403, [][3]string{{"POST", destinationsTarget, webhookBody}, {"PATCH", oneDestination, patch}, {"DELETE", oneDestination, ""}}},
	} {
		for _, request := range tt.requests {
			f := newFake()
			f.err = tt.err
			resp := write(t, mustServe(t, f, io.Discard), request[0], request[1], request[2])
			spec.Validate(t, httptest.NewRequest(request[0], request[1], nil), resp)
			if got := mustDecode(t, resp); resp.StatusCode != tt.status || got.Error.Code != string(tt.err.Code) || resp.Header.Get("Location") != "" {
				t.Errorf("%s %s, %s: response = %d %s, want %d %s", request[0], request[1], tt.err.Code, resp.StatusCode, got.Error.Code, tt.status, tt.err.Code)
			}
			if retry := resp.Header.Get("Retry-After"); (retry == "2520") != (tt.err == requested) {
				t.Errorf("%s %s: Retry-After = %q", request[0], request[1], retry)
			}
		}
	}
}

// TestExampleDestinations checks that the examples are valid and agree with each other and with the
// delivered run.
func TestExampleDestinations(t *testing.T) {
	normalized, err := exampleDestinationBody().Normalize(cola.DestinationRules{})
	created := exampleNewWebhook()
	if err != nil || normalized.Kind != created.Kind || normalized.Address != created.Address || normalized.SendEmpty != created.SendEmpty || !strings.HasPrefix(created.Secret.V, "whsec_") {
		t.Errorf("example response %+v does not match the example request %+v, %v", created, normalized, err)
	}
	changed, err := exampleDestinationChange().Apply(exampleWebhook(), false)
	if diff := cmp.Diff(exampleWebhook(), changed); err != nil || diff != "" {
		t.Errorf("example change: %v (-want +got):\n%s", err, diff)
	}
	d, run := exampleDelivery(), exampleRuns().Data[0]
	if d.RunID.V != run.ID || d.CreatedAt != run.RanAt || d.AttemptCount != len(d.Attempts) || d.Destination != created.UUID || d.Kind != created.Kind || exampleWebhook().LastDeliveredAt != d.SettledAt {
		t.Errorf("example delivery %+v does not match run %+v", d, run)
	}
	last := d.Attempts[len(d.Attempts)-1]
	if last.Error.OK || d.Error.OK || int64(d.SettledAt.V-last.At) != last.DurationMS*1000 {
		t.Errorf("last attempt %+v does not match delivery %+v", last, d.Delivery)
	}
	page, err := newDecoder[cola.DeliveryListParams]().decode(sampleOf(t, "listDeliveries")).Normalize()
	if list := exampleDeliveries(); err != nil || list.Meta.PerPage != page.PerPage || len(list.Data) != list.Meta.PerPage || list.Meta.HasMore != (list.Meta.Total > 1) {
		t.Errorf("example list %+v does not match the parameters %+v, %v", list, page, err)
	}
	if list := exampleDestinations(); len(list.Data) != list.Meta.PerPage || list.Meta.HasMore != (list.Meta.Total > 1) || list.Data[0].CreatedAt > created.CreatedAt {
		t.Errorf("example list has inconsistent pagination: %+v", list)
	}
}
