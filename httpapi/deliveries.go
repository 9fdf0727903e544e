package httpapi

import (
	"net/http"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

const deliveriesPath = "/deliveries"

func deliveryOperations(svc Service) []operation {
	number := pathParam{Name: "id", Doc: "Delivery ID.", Example: "5127", Placeholder: true}
	return []operation{
		{
			ID: "listDeliveries", Path: deliveriesPath, Tag: tagDestinations, Summary: "List deliveries",
			Description: "Sent, pending, failed and skipped messages, newest first.",
			Params:      reflect.TypeFor[cola.DeliveryListParams](), Sample: "per_page=1",
			Response: reflect.TypeFor[pageOf[cola.Delivery]](), Example: exampleDeliveries(), Cost: free,
			call: listCall(svc.Deliveries, page),
		},
		{
			ID: "getDelivery", Path: deliveriesPath + "/{id}", Tag: tagDestinations, Summary: "Get a delivery",
			Description: "A message and every attempt to deliver it: time, duration and the receiver's response.",
			PathParam:   number, Response: reflect.TypeFor[dataOf[cola.DeliveryDetail]](),
			Example: dataOf[cola.DeliveryDetail]{exampleDelivery()},
			Cost:    free, HasETag: true,
			call: recordCall(svc, "id", svc.Delivery),
		},
		{
			ID: "replayDelivery", Method: http.MethodPost, Path: deliveriesPath + "/{id}/replay", Tag: tagDestinations,
			Summary: "Resend a delivery",
			Description: "Resends a message, in any state, with the same message ID, so receivers can detect " +
				"duplicates. The content is rebuilt from the run's current data." + needsScope,
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
