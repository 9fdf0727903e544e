package httpapi

import (
	"net/http"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

func usageOperations(svc Service) []operation {
	fetch := func(r *http.Request, caller cola.Caller) (cola.UsageStats, cola.QuotaState, error) {
		return svc.Usage(r.Context(), caller)
	}
	return []operation{{
		ID: "getUsage", Path: "/usage", Tag: tagAccount, Summary: "Get usage",
		Description: "The account's usage this month and its limits, across all keys and apps.",
		Response:    reflect.TypeFor[dataOf[cola.UsageStats]](),
		Example:     dataOf[cola.UsageStats]{exampleUsage()},
		Cost:        free,
		call: bareCall(svc, fetch, func(u cola.UsageStats) result {
			return result{body: jsonBody(dataOf[cola.UsageStats]{u})}
		}),
	}}
}
