package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// avaSearchArgs are the arguments of search_avas: the parameters of GET /avas and the size of the
// answer.
type avaSearchArgs struct {
	cola.AVAParams
	formatArgs
}

// avaArgs are the arguments of get_ava.
type avaArgs struct {
	cola.Decoded
	AVAID string `json:"ava_id" doc:"Identifier of the area." example:"alexander_valley"`
	formatArgs
}

func avaTools() []tool {
	return []tool{
		newTool(tool{
			name: "search_avas", title: "Search American Viticultural Areas",
			description: "Finds American Viticultural Areas, the wine regions that a US label may name, by part of " +
				"the name and by state. " +
				"Use it to check an appellation. A superseded boundary has a valid_end_date; set current to false to " +
				"include those. " +
				"Then: get_ava for one area's validity, the areas around and within it, and its rule.",
			cost:     free,
			defaults: map[string]any{"current": true},
			output:   outputSchema(true, extraSchemas(metaMember), reflect.TypeFor[cola.AVA]()),
			example:  `{"q":"alexander","state":"CA"}`,
		}, searchAVAs),
		newTool(tool{
			name: "get_ava", title: "Get one American Viticultural Area",
			description: "Returns one viticultural area, by its id: states, counties, when it was established and is " +
				"valid, the areas it lies within and contains, and its section of 27 CFR part 9. Use it after " +
				"search_avas found the id. Then: search_colas with the name as q for wines that name it.",
			cost:     free,
			required: []string{"ava_id"},
			output:   outputSchema(false, nil, reflect.TypeFor[cola.AVADetail]()),
			notFound: "search_avas finds areas and their ids by name.",
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
		a.note("Superseded boundaries and removed areas were left out. Set current to false to include them.")
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
