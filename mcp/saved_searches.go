package mcp

import (
	"context"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// listSavedSearchesArgs are the arguments of list_saved_searches.
type listSavedSearchesArgs struct{ cola.SavedSearchListParams }

// updateSavedSearchArgs are the arguments of update_saved_search: the body of PATCH
// /saved-searches/{uuid}, the UUID from its path, and remove_schedule in place of a null schedule.
// Here null means absent, and so does an object whose members are all null, because clients send
// nulls for arguments they omit.
type updateSavedSearchArgs struct {
	UUID string `json:"uuid" doc:"uuid of the saved search." example:"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"`
	cola.SavedSearchChangeParams
	RemoveSchedule cola.Opt[bool] `json:"remove_schedule" doc:"true: remove the schedule but keep the search." example:"false"`
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
	needsScope            = "Requires scope saved_searches:write."
	findSavedSearchesHint = "Find saved searches and their uuids with list_saved_searches."
)

func savedSearchTools() []tool {
	return []tool{listSavedSearchesTool(), createSavedSearchTool(), updateSavedSearchTool(), deleteSavedSearchTool()}
}

func listSavedSearchesTool() tool {
	return newTool(tool{
		name: "list_saved_searches", title: "List saved searches",
		description: "List the account's saved searches, oldest first: filters, schedule, last and next " +
			"run, and why a schedule is on hold. Use it to find the uuid for update_saved_search or " +
			"delete_saved_search.",
		cost:        free,
		undescribed: pageArguments,
		example:     `{}`,
	}, listSavedSearches)
}

func createSavedSearchTool() tool {
	return newTool(tool{
		name: "create_saved_search", title: "Create a saved search",
		description: "Save a search. With a schedule, it becomes an alert: each daily, weekly or monthly run " +
			"reports labels approved since the last run, and older ones that reached the registry " +
			"late. Results go to the account's destinations for free, up to 25 labels per message. " +
			"Ask the user to confirm the filters and schedule first. To see current matches, use search_colas.\n\n" +
			"Filters combine with AND; multiple types, categories or containers combine with OR. A schedule needs a " +
			"filter other than status, estimated_dates or a full set of types. Limits: 10 active schedules, 1,000 " +
			"saved searches. Repeating a call within 10 minutes returns the same search. " + needsScope,
		cost:   free,
		scope:  cola.ScopeWriteSavedSearches,
		effect: creates, required: []string{"name", "filters"}, serviceValidates: true,
		docs: map[string]string{
			"filters": "Filters with the same name as a search_colas argument work the same way. There is no date filter: each scheduled " +
				"run covers the time since the previous one.",
			"query": "Same as q in search_colas.", "country": "Same as origin in search_colas.",
			"derived_category": "Same as derived_subcategory in search_colas.",
		},
		undescribed: append(undescribedFilters(), "name", "schedule", "cadence"),
		example:     `{"name":"Wines called oak","filters":{"brand_name":"oak","type_wine":true},"schedule":{"cadence":"weekly","day":1}}`,
	}, createSavedSearch)
}

// undescribedFilters returns the filters of a saved search that search_colas describes, and those
// with self-explanatory names.
func undescribedFilters() []string {
	names := append(searchArguments(), "application_status", "applicant_us_state", "derived_beer", "derived_wine", "derived_liquor")
	for _, f := range cola.FieldsOf[cola.SavedSearchFilters]() {
		for _, prefix := range []string{"container_", "origin_", "type_"} {
			if strings.HasPrefix(f.Name, prefix) {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

func updateSavedSearchTool() tool {
	return newTool(tool{
		name: "update_saved_search", title: "Change a saved search",
		description: "Change a saved search; omitted fields stay the same. Set schedule.active to false to pause the " +
			"alert, or to true to resume it. The given filters replace all existing ones, so include any you want to keep. Find " +
			"the uuid with list_saved_searches. " + needsScope,
		cost:   free,
		scope:  cola.ScopeWriteSavedSearches,
		effect: changes, required: []string{"uuid"},
		docs: map[string]string{
			"filters":  "Replaces all filters; same fields as in create_saved_search.",
			"schedule": "Schedule fields to change. If the search has no schedule, cadence is required.",
			"day":      "weekly: day of the week, 0 to 6, 0 is Sunday. monthly: day of the month, 1 to 28. daily: ignored.",
		},
		describedElsewhere: []string{"filters"},
		undescribed:        []string{"uuid", "name"},
		notFound:           findSavedSearchesHint,
		example:            `{"uuid":"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11","schedule":{"active":false}}`,
	}, updateSavedSearch)
}

func deleteSavedSearchTool() tool {
	return newTool(tool{
		name: "delete_saved_search", title: "Delete a saved search",
		description: "Permanently delete a saved search, with its alert, runs, deliveries and feed, and the " +
			"destinations that belong only to it. Use it only if the user asked to delete this search; to " +
			"pause an alert, use update_saved_search. Find the uuid with list_saved_searches. " + needsScope,
		cost:   free,
		scope:  cola.ScopeWriteSavedSearches,
		effect: changes, required: []string{"uuid"}, undescribed: []string{"uuid"},
		notFound: findSavedSearchesHint,
		example:  `{"uuid":"0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"}`,
	}, deleteSavedSearch)
}

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
	search, state, err := svc.CreateSavedSearch(ctx, c, p)
	if err != nil {
		return a, state, err
	}
	if search.Repeated {
		a.note("An identical earlier call created this search; it was not created again.")
	}
	putSavedSearch(ctx, svc, &a, search.Search)
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
		change.Problems.Add("remove_schedule", "Send either remove_schedule or schedule, not both.")
	case remove:
		change.Nulls = []string{"schedule"}
	}
	if p.UUID == "" { // report the missing argument; the service would return not_found
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
		a.note("Saved without a schedule: it runs only on demand.")
	case !s.Active:
		a.note("Saved with the alert paused.")
	case s.PausedBecause == cola.Some(cola.PausedDowngraded):
		a.note("The search is saved but won't run: the account has more active schedules than allowed, so only " +
			"the oldest ones run.")
	case s.PausedBecause.OK:
		a.note("Saved, but the alert won't run: the account is suspended.")
	case s.NextRunAt.OK:
		a.note("The alert next runs on %s. Results go to the account's destinations, including email addresses if this "+
			"server sends email. "+
			"The REST API lists all matches at /saved-searches/%s/matches, at one list record each.",
			s.NextRunAt.V.Time().Format("Monday, January 2, 2006, 15:04 UTC"), search.UUID)
	}
	if words, err := svc.Vocabulary(ctx); err == nil {
		a.notes = append(a.notes, words.SavedSearchNotes(search.Filters)...)
	}
	a.note("To see current matches, call search_colas with the equivalent filters.")
	a.setData(view{detailed: true}.append(nil, search))
}
