package mcp

import (
	"context"
	"reflect"

	"github.com/colaregistry/colaregistry/cola"
)

// listSavedSearchesArgs are the arguments of list_saved_searches.
type listSavedSearchesArgs struct{ cola.SavedSearchListParams }

// updateSavedSearchArgs are the arguments of update_saved_search: the body of PATCH
// /saved-searches/{uuid}, the UUID of its path, and remove_schedule in place of a null schedule.
// Here a null is an absent value, and so is an object of nulls: clients send them for arguments
// they leave out.
type updateSavedSearchArgs struct {
	UUID string `json:"uuid" doc:"uuid of the saved search." example:"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
	cola.SavedSearchChangeParams
	RemoveSchedule cola.Opt[bool] `json:"remove_schedule" doc:"true: keep the search without an alert." example:"false"`
}

// deleteSavedSearchArgs are the arguments of delete_saved_search.
type deleteSavedSearchArgs struct {
	cola.Decoded
	UUID string `json:"uuid" doc:"uuid of the saved search." example:"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
}

// deletedSearch is the result of delete_saved_search.
type deletedSearch struct {
	UUID    string `json:"uuid"`
	Deleted bool   `json:"deleted"`
}

const (
	needsScope            = "Needs the scope saved_searches:write, which API keys have."
	findSavedSearchesHint = "list_saved_searches lists the account's saved searches with their uuids."
)

func savedSearchTools() []tool {
	return []tool{listSavedSearchesTool(), createSavedSearchTool(), updateSavedSearchTool(), deleteSavedSearchTool()}
}

func listSavedSearchesTool() tool {
	return newTool(tool{
		name: "list_saved_searches", title: "List saved searches",
		description: "Lists the saved searches of the user's account, oldest first: filters, schedule, next and " +
			"last run, and why a run is held back. " +
			"Use it to see what is watched, and to find the uuid for update_saved_search or delete_saved_search.",
		cost:    free,
		output:  outputSchema(true, extraSchemas(pageMetaMember), reflect.TypeFor[cola.SavedSearch]()),
		example: `{}`,
	}, listSavedSearches)
}

func createSavedSearchTool() tool {
	return newTool(tool{
		name: "create_saved_search", title: "Create a saved search",
		description: "Saves a search in the user's account and returns it, not labels. With a schedule it is an " +
			"alert: it runs daily, weekly or monthly and reports labels approved since the previous run, and " +
			"older ones that reached the registry late. Results go to the account's destinations, such as its " +
			"email address where the server sends email: up to 25 labels a message, for free. The REST API lists " +
			"all matches, for a list record each. Use it when the user wants a search kept or something watched, " +
			"and agreed to the filters and the schedule. To look for labels now use search_colas.\n\n" +
			"Filters narrow each other; several types, categories or containers mean any of them. There is no " +
			"date filter. A schedule needs a filter that narrows the search: a status alone, or all product " +
			"types together, is too broad. An account has at most 10 active schedules and 1,000 saved searches. " +
			"Repeating a call within ten minutes creates nothing new. " +
			needsScope,
		cost:   free,
		scope:  cola.ScopeWriteSavedSearches,
		effect: creates, required: []string{"name", "filters"}, serviceValidates: true,
		output:  savedSearchOutput(),
		example: `{"name":"Wines called oak","filters":{"brand_name":"oak","type_wine":true},"schedule":{"cadence":"weekly","day":1}}`,
	}, createSavedSearch)
}

func updateSavedSearchTool() tool {
	return newTool(tool{
		name: "update_saved_search", title: "Change a saved search",
		description: "Changes a saved search of the user's account; what you leave out stays. schedule.active " +
			"false pauses its alert, true resumes it. " +
			"filters replaces all filters of the search: send those to keep, too, as create_saved_search takes them. " +
			"Use it when the user asks to rename, change, pause or resume one. Get its uuid from " +
			"list_saved_searches. " + needsScope,
		cost:   free,
		scope:  cola.ScopeWriteSavedSearches,
		effect: changes, required: []string{"uuid"},
		docs: map[string]string{
			"filters":  "All filters of the search from now on.",
			"schedule": "What to change of the schedule. A search without one needs all of it.",
		},
		documentedElsewhere: "filters",
		output:              savedSearchOutput(),
		notFound:            findSavedSearchesHint,
		example:             `{"uuid":"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11","schedule":{"active":false}}`,
	}, updateSavedSearch)
}

func deleteSavedSearchTool() tool {
	return newTool(tool{
		name: "delete_saved_search", title: "Delete a saved search",
		description: "Deletes a saved search of the user's account for good, with its alert and its past runs. " +
			"Use it only when the user asked to delete this one; " +
			"to stop an alert for a while, pause it with update_saved_search. Get its uuid from " +
			"list_saved_searches. " + needsScope,
		cost:   free,
		scope:  cola.ScopeWriteSavedSearches,
		effect: changes, required: []string{"uuid"},
		output:   outputSchema(false, nil, reflect.TypeFor[deletedSearch]()),
		notFound: findSavedSearchesHint,
		example:  `{"uuid":"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"}`,
	}, deleteSavedSearch)
}

// savedSearchOutput is the output schema of tools that return a saved search.
func savedSearchOutput() schema { return outputSchema(false, nil, reflect.TypeFor[cola.SavedSearch]()) }

func listSavedSearches(
	ctx context.Context, svc Service, c cola.Caller, p listSavedSearchesArgs,
) (a toolResult, state cola.QuotaState, err error) {
	v := view{detailed: true}
	page, state, err := svc.SavedSearches(ctx, c, p.SavedSearchListParams)
	if err != nil {
		return a, state, err
	}
	putPage(&a, v, page, "list_saved_searches")
	return a, state, nil
}

func createSavedSearch(
	ctx context.Context, svc Service, c cola.Caller, p cola.SavedSearchParams,
) (a toolResult, state cola.QuotaState, err error) {
	made, state, err := svc.CreateSavedSearch(ctx, c, p)
	if err != nil {
		return a, state, err
	}
	if made.Repeated {
		a.note("The same call created this search before. Nothing new was created.")
	}
	putSavedSearch(ctx, svc, &a, made.Search)
	return a, state, nil
}

func updateSavedSearch(
	ctx context.Context, svc Service, c cola.Caller, p updateSavedSearchArgs,
) (a toolResult, state cola.QuotaState, err error) {
	change := p.SavedSearchChangeParams
	change.Nulls = nil
	if change.Filters != nil && *change.Filters == (cola.SavedSearchFilters{}) {
		change.Filters = nil
	}
	if change.Schedule != nil && *change.Schedule == (cola.ScheduleChangeParams{}) {
		change.Schedule = nil
	}
	switch remove := p.RemoveSchedule.V; {
	case remove && change.Schedule != nil:
		change.Problems.Add("remove_schedule", "It contradicts schedule. Send only one of them.")
	case remove:
		change.Nulls = []string{"schedule"}
	}
	if p.UUID == "" { // which the service would not find
		state, err := svc.Refuse(ctx, c, change.Problems.Err())
		return a, state, err
	}
	changed, state, err := svc.ChangeSavedSearch(ctx, c, p.UUID, change)
	if err != nil {
		return a, state, err
	}
	putSavedSearch(ctx, svc, &a, changed)
	return a, state, nil
}

func deleteSavedSearch(
	ctx context.Context, svc Service, c cola.Caller, p deleteSavedSearchArgs,
) (a toolResult, state cola.QuotaState, err error) {
	if err := p.Problems.Err(); err != nil {
		state, err := svc.Refuse(ctx, c, err)
		return a, state, err
	}
	if state, err = svc.DeleteSavedSearch(ctx, c, p.UUID); err != nil {
		return a, state, err
	}
	a.setData(view{detailed: true}.append(nil, deletedSearch{p.UUID, true}))
	return a, state, nil
}

// putSavedSearch sets the data to a created or changed search, and notes whether it runs.
func putSavedSearch(ctx context.Context, svc Service, a *toolResult, search cola.SavedSearch) {
	switch s := search.Schedule; {
	case s == nil:
		a.note("The search is saved without a schedule, so it does not run by itself.")
	case !s.Active:
		a.note("The search is saved and its alert is paused.")
	case s.PausedBecause == cola.Some(cola.PausedDowngraded):
		a.note("The search is saved but does not run: the account has more active schedules than it may, and only " +
			"the oldest run.")
	case s.PausedBecause.OK:
		a.note("The search is saved but does not run: the account is suspended.")
	case s.NextRunAt.OK:
		a.note("The alert runs next on %s. Results go to the account's destinations (email only where this server "+
			"sends email). "+
			"The REST API lists all matches at /saved-searches/%s/matches, for a list record each.",
			s.NextRunAt.V.Time().Format("Monday, 2 January 2006, 15:04 UTC"), search.UUID)
	}
	if words, err := svc.Vocabulary(ctx); err == nil {
		a.notes = append(a.notes, words.SavedSearchNotes(search.Filters)...)
	}
	a.note("To see labels that match today call search_colas with the same filters.")
	a.setData(view{detailed: true}.append(nil, search))
}
