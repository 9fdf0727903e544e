package httpapi

import (
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

func avaOperations(svc Service) []operation {
	return []operation{
		{
			ID: "listAVAs", Path: "/avas", Tag: tagReference, Summary: "List American Viticultural Areas",
			Description: "Viticultural areas, sorted by name, then by date. Superseded boundaries have a " +
				"`valid_end_date`; `current=true` leaves them out.",
			Params:   reflect.TypeFor[cola.AVAParams](),
			Sample:   "q=alexander&state=CA",
			Response: reflect.TypeFor[rowsOf[cola.AVA]](),
			Rows:     reflect.TypeFor[cola.AVA](),
			Example:  rowsOf[cola.AVA]{Data: []cola.AVA{exampleAVA().AVA}, Meta: cola.Meta{Total: 1}},
			Cost:     free,
			call:     listCall(svc.AVAs, rows[cola.AVA]),
		},
		{
			ID: "getAVA", Path: "/avas/{ava_id}", Tag: tagReference, Summary: "Get one American Viticultural Area",
			Description: "An area's validity dates, parent and child areas, and the rule that established it.",
			PathParam:   pathParam{Name: "ava_id", Doc: "ID of the area.", Example: "alexander_valley"},
			Response:    reflect.TypeFor[dataOf[cola.AVADetail]](),
			Example:     dataOf[cola.AVADetail]{exampleAVA()},
			Cost:        free,
			HasETag:     true,
			call:        recordCall(svc, "ava_id", svc.AVA),
		},
	}
}
