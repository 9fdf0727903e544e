package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// avaSearchArgs are the arguments of search_avas: the parameters of GET /avas and the response
// format.
type avaSearchArgs struct {
	cola.AVAParams
	formatArgs
}

// avaArgs are the arguments of get_ava.
type avaArgs struct {
	cola.Decoded
	AVAID string `json:"ava_id" doc:"ID of the area." example:"alexander_valley"`
	formatArgs
}

func avaTools() []tool {
	return []tool{
		newTool(tool{
			name: "search_avas", title: "Search American Viticultural Areas",
			description: "Search American Viticultural Areas (the wine regions a US label may name) by name and " +
				"state. Use it to check an appellation. Superseded boundaries have a valid_end_date; " +
				"set current to false to include them. For an area's dates, parent and child areas, and " +
				"regulation, call get_ava.",
			cost:     free,
			defaults: map[string]any{"current": true},
			output:   outputSchema(true, reflect.TypeFor[cola.AVA]()),
			example:  `{"q":"alexander","state":"CA"}`,
		}, searchAVAs),
		newTool(tool{
			name: "get_ava", title: "Get one American Viticultural Area",
			description: "Get one American Viticultural Area by ID: states, counties, establishment and validity " +
				"dates, parent and child areas, and its section of 27 CFR part 9. Find IDs " +
				"with search_avas. For its wines, call search_colas with its name as appellation.",
			cost:     free,
			required: []string{"ava_id"}, undescribed: []string{"ava_id"},
			notFound: "Find area IDs with search_avas.",
			example:  `{"ava_id":"alexander_valley"}`,
		}, getAVA),
	}
}

func searchAVAs(
	ctx context.Context, svc Service, c cola.Caller, p avaSearchArgs,
) (a toolResult, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	p.Current = cola.Some(p.Current.Or(true))
	rows, state, err := svc.AVAs(ctx, c, p.AVAParams)
	if err != nil {
		return a, state, err
	}
	a = putList(v, rows, []filterValue{{"q", p.Q}, {"state", p.State}})
	if len(rows.Rows) == 0 && p.Current.V {
		a.note("Superseded and removed areas are excluded; set current to false to include them.")
	}
	return a, state, nil
}

func getAVA(
	ctx context.Context, svc Service, c cola.Caller, p avaArgs,
) (a toolResult, state cola.QuotaState, err error) {
	v := view{p.detailed(&p.Problems)}
	if err := p.Problems.Err(); err != nil {
		state, err := svc.Refuse(ctx, c, err)
		return a, state, err
	}
	found, state, err := svc.AVA(ctx, c, p.AVAID, "")
	if err != nil {
		return a, state, err
	}
	putRecord(&a, v, found.Value)
	return a, state, nil
}
