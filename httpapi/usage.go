package httpapi

import (
	"net/http"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

func usageOperations(svc Service) []operation {
	ask := func(r *http.Request, caller cola.Caller) (cola.UsageStats, cola.QuotaState, error) {
		return svc.Usage(r.Context(), caller)
	}
	return []operation{{
		ID: "getUsage", Path: "/usage", Tag: tagAccount, Summary: "Get usage against quotas",
		Description: "What the account has used this month, over every key and channel.",
		Response:    reflect.TypeFor[dataOf[cola.UsageStats]](),
		Example:     dataOf[cola.UsageStats]{exampleUsage()},
		Cost:        free,
		call: bareCall(svc, ask, func(u cola.UsageStats) result {
			return result{body: jsonBody(dataOf[cola.UsageStats]{u})}
		}),
	}}
}
