package httpapi

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
		{name: "destination_made", target: destinationsTarget, body: `{"kind":"webhook","address":"https://Hooks.example.com/labels","saved_search":"` + exampleUUID + `","send_empty":"true"}`},
		{name: "destination_unconfirmed", target: destinationsTarget, body: `{"kind":"email","address":"colleague@example.com"}`},
		{name: "destination_invalid", target: destinationsTarget, body: `{"kind":"webhook","address":"http://user@127.0.0.1/#x","saved_search":"oaks","secret":"mine"}`},
		{name: "destination_paused", target: oneDestination, how: "PATCH", body: `{"active":false}`},
		{name: "destination_empty_change", target: oneDestination, how: "PATCH", body: `{"active":null}`},
		{name: "destination_deleted", target: oneDestination, how: "DELETE"},
		{name: "destination_secret", target: oneDestination + "/secret", how: "POST"},
		{name: "destination_test", target: oneDestination + "/test", how: "POST"},
		{name: "destination_confirmation", target: oneDestination + "/confirmation", how: "POST"},
		{name: "destination_replay", target: oneDestination + "/replay", how: "POST"},
		{name: "deliveries", target: "/api/v1/deliveries?saved_search=" + exampleUUID},
		{name: "deliveries_invalid", target: "/api/v1/deliveries?destination=x&state=lost&event=y"},
		{name: "delivery", target: oneDelivery},
		{name: "delivery_replay", target: oneDelivery + "/replay", how: "POST"},
		{name: "feed_made", target: "/api/v1/saved-searches/" + exampleUUID + "/feed", how: "POST"},
		{name: "feed_ended", target: "/api/v1/saved-searches/" + exampleUUID + "/feed", how: "DELETE"},
	}
}
