package httpapi

import (
	"net/http"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

const deliveriesPath = "/deliveries"

func deliveryOperations(svc Service) []operation {
	number := pathParam{Name: "id", Doc: "Number of the delivery.", Example: "5127", Placeholder: true}
	return []operation{
		{
			ID: "listDeliveries", Path: deliveriesPath, Tag: tagDestinations, Summary: "List deliveries",
			Description: "The messages that were sent, are to be sent, or were skipped, newest first, and what " +
				"became of each.",
			Params: reflect.TypeFor[cola.DeliveryListParams](), Sample: "per_page=1",
			Response: reflect.TypeFor[pageOf[cola.Delivery]](), Example: exampleDeliveries(), Cost: free,
			call: listCall(svc.Deliveries, page),
		},
		{
			ID: "getDelivery", Path: deliveriesPath + "/{id}", Tag: tagDestinations, Summary: "Get a delivery",
			Description: "One message, with every attempt to deliver it: when, for how long, and what the receiver answered.",
			PathParam:   number, Response: reflect.TypeFor[dataOf[cola.DeliveryDetail]](),
			Example: dataOf[cola.DeliveryDetail]{exampleDelivery()},
			Cost:    free, HasETag: true,
			call: recordCall(svc, "id", svc.Delivery),
		},
		{
			ID: "replayDelivery", Method: http.MethodPost, Path: deliveriesPath + "/{id}/replay", Tag: tagDestinations,
			Summary: "Send a message again",
			Description: "Has a message sent again soon after the answer, whatever became of it, with the id that it " +
				"had: a receiver that has taken it already knows it by that. It then tells of the run as it is now." +
				needsScope,
			PathParam: number, Async: true,
			Response: reflect.TypeFor[dataOf[cola.Delivery]](), Example: dataOf[cola.Delivery]{exampleReplayed()},
			Cost:   free,
			Errors: []string{"InsufficientScope", "DestinationNotActive"},
			call: bareCall(svc, func(r *http.Request, c cola.Caller) (cola.Delivery, cola.QuotaState, error) {
				return svc.ReplayDelivery(r.Context(), c, pathValue(r, "id"))
			}, accepted[cola.Delivery]),
		},
	}
}
