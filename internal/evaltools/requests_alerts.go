package main

import (
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
)

// alertRequests returns requests that change saved searches. Their effects are checked in the
// registry.
func alertRequests(*world) []request {
	alert := func(name, brand string) cola.SavedSearchParams {
		return cola.SavedSearchParams{
			Name: name, Filters: &cola.SavedSearchFilters{BrandName: brand},
			Schedule: &cola.ScheduleParams{Cadence: cola.CadenceWeekly, Day: cola.Some(1)},
		}
	}
	both := []cola.SavedSearchParams{alert("Raven watch", "raven & oak"), alert("Cuatro watch", "cuatro cerros")}
	return []request{
		{
			id:  "watch-brand",
			ask: "Yes, please create it: an alert for new labels of the brand Raven & Oak every Monday.",
			plan: []call{{"create_saved_search", args{
				"name": "Raven & Oak", "filters": args{"brand_name": "Raven & Oak"},
				"schedule": args{"cadence": "weekly", "day": 1},
			}}},
			facts: []fact{is("1/data/schedule/next_run_at", "2026-11-23T06:00:00Z").unsaid()},
			effect: func(searches []cola.SavedSearch) error {
				if len(searches) != 1 || searches[0].Schedule == nil {
					return fmt.Errorf("%d saved searches, want 1 with a schedule", len(searches))
				}
				s := searches[0]
				if fold(s.Filters.BrandName) != "RAVEN AND OAK" || s.Schedule.Cadence != cola.CadenceWeekly ||
					s.Schedule.Day != 1 || !s.Schedule.Active {
					return fmt.Errorf("saved %+v with schedule %+v", s.Filters, *s.Schedule)
				}
				return nil
			},
		},
		{
			id:  "pause-alert",
			ask: `Pause my alert "Raven watch".`, saved: both,
			plan: []call{
				{"list_saved_searches", args{}},
				{"update_saved_search", args{"uuid": "$1/data/name=Raven watch/uuid", "schedule": args{"active": false}}},
			},
			facts: []fact{is("2/data/schedule/active", false).unsaid()},
			effect: func(searches []cola.SavedSearch) error {
				for _, s := range searches {
					if s.Schedule == nil || s.Schedule.Active != (s.Name == "Cuatro watch") {
						return fmt.Errorf("schedule of %s: %+v", s.Name, s.Schedule)
					}
				}
				return wantSearches(searches, 2)
			},
		},
		{
			id:  "delete-alert",
			ask: `Delete my saved search "Raven watch" for good. I'm sure.`, saved: both,
			plan: []call{
				{"list_saved_searches", args{}},
				{"delete_saved_search", args{"uuid": "$1/data/name=Raven watch/uuid"}},
			},
			facts: []fact{is("2/data/deleted", true).unsaid()},
			effect: func(searches []cola.SavedSearch) error {
				if err := wantSearches(searches, 1); err != nil {
					return err
				}
				if left := searches[0].Name; left != "Cuatro watch" {
					return fmt.Errorf("%q is left", left)
				}
				return nil
			},
		},
	}
}

// wantSearches returns an error unless there are n saved searches.
func wantSearches(searches []cola.SavedSearch, n int) error {
	if len(searches) != n {
		return fmt.Errorf("%d saved searches, want %d", len(searches), n)
	}
	return nil
}
