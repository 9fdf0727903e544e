package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

func savedSearchTools() []tool {
	return []tool{newTool(tool{
		name: "create_saved_search", title: "Create a saved search",
		description: "Keeps a search for the user's account and answers with it, not with labels. With a schedule it is an alert: due daily, weekly or monthly, each run for the labels " +
			"approved since the run before, and for those that reached the registry late. Matches are sent to the account's destinations, including its email address if the server sends email: up to 25 labels per message, for free. The REST API lists all matches, for one list record each. It writes. Use it when the user wants a search kept or something watched, and has agreed to the filters and the schedule; " +
			"to look for labels now use search_colas.\n\n" +
			"Filters narrow each other; several booleans of one group (types, categories, containers) mean any of them. There is no filter by date. " +
			"A schedule needs a filter that narrows the search: a status alone, or every product type together, is too broad. " +
			"An account has at most 10 active schedules, and 1,000 saved searches in all. The same call sent again within ten minutes makes no second search. " +
			"It needs the scope saved_searches:write, which API keys have.",
		cost:  free,
		scope: cola.ScopeWriteSavedSearches, writes: true,
		required: []string{"name", "filters"}, settles: true,
		output:  outputOf(false, nil, reflect.TypeFor[cola.SavedSearch]()),
		example: `{"name":"Wines called oak","filters":{"brand_name":"oak","type_wine":true},"schedule":{"cadence":"weekly","day":1}}`,
	}, createSavedSearch)}
}

func createSavedSearch(ctx context.Context, svc Service, c cola.Caller, p cola.SavedSearchParams) (a answer, state cola.QuotaState, err error) {
	made, state, err := svc.CreateSavedSearch(ctx, c, p)
	if err != nil {
		return a, state, err
	}
	if made.Repeated {
		a.note("This search exists already: the same call made it before, and nothing was made now.")
	}
	switch s := made.Search.Schedule; {
	case s == nil:
		a.note("The search is kept. It has no schedule, so it does not run by itself.")
	case !s.Active:
		a.note("The search is kept and its schedule is paused, so it does not run by itself.")
	case s.PausedBecause.OK:
		a.note("The search is kept and does not run: the account has more active schedules than it may, and the oldest of them run.")
	case s.NextRunAt.OK:
		a.note("The search is kept and scheduled, due next on %s. Matches are sent to the account's destinations (email only if this service sends email); the REST API manages them at /destinations and lists all matches at /saved-searches/%s/matches, for one list record each.",
			s.NextRunAt.V.Time().Format("Monday, 2 January 2006, 15:04 UTC"), made.Search.UUID)
	}
	noteIdle(ctx, svc, &a, &made.Search.Filters)
	a.note("To see what there is already call search_colas with the same filters.")
	a.put(view{detailed: true}.append(nil, made.Search))
	return a, state, nil
}
