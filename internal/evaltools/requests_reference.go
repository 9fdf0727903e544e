package main

import (
	"slices"

	"github.com/colaregistry/colaregistry/cola"
)

// referenceRequests returns requests that the tools for reference data and usage answer.
func referenceRequests(w *world) []request {
	limits := cola.TierPro.Limits()
	var oregon, early []fact
	total := 0
	for _, a := range w.areas {
		if !slices.Contains(a.States, "OR") || !a.IsCurrent(records.AsOf) {
			continue
		}
		total++
		established := is("1/data/ava_id="+a.AVAID+"/established_date", a.EstablishedDate).unsaid()
		if a.EstablishedDate < cola.NewDate(1990, 1, 1) {
			early = append(early, established.saying(a.Name))
		} else {
			oregon = append(oregon, established)
		}
	}
	beer := func(year int) (barrels float64) {
		for _, r := range w.reports {
			if r.Commodity == "Beer" && r.Year == year && r.StatisticalDetail == "Production" {
				barrels += r.Value.V
			}
		}
		return barrels
	}
	beerCall := func(year int) call {
		return call{"list_production_reports", args{
			"commodity": "beer", "year": year, "statistical_group": "Barrels Produced", "statistical_detail": "Production",
		}}
	}
	alexander := w.area("Alexander Valley")
	return []request{
		{
			id:    "wine-days",
			ask:   "What is TTB's current median processing time for wine labels, in days?",
			plan:  []call{{"get_processing_times", args{"commodity": "wine", "latest": true}}},
			facts: []fact{is("1/data/0/turnaround_days_median", latestWine(w.times))},
		},
		{
			id:    "brewery-permit-days",
			ask:   "How many days does TTB currently take to issue a permit for a new brewery?",
			plan:  []call{{"get_processing_times", args{"kind": "registration", "application_type": "Brewery", "latest": true}}},
			facts: []fact{is("1/data/0/turnaround_days_median", latestBrewery(w.permits))},
		},
		{
			id:    "oregon-avas",
			ask:   "Which current American Viticultural Areas in Oregon were established before 1990?",
			plan:  []call{{"search_avas", args{"state": "OR"}}},
			facts: slices.Concat(early, oregon, []fact{is("1/meta/total", total).unsaid()}),
		},
		{
			id:  "alexander-valley",
			ask: "When was the Alexander Valley AVA established, what county is it in, and which areas contain it?",
			plan: []call{
				{"search_avas", args{"q": "Alexander Valley"}},
				{"get_ava", args{"ava_id": "$1/data/0/ava_id"}},
			},
			facts: []fact{
				is("2/data/established_date", alexander.EstablishedDate), is("2/data/counties/0", alexander.Counties[0]),
				is("2/data/parent_avas/0", alexander.ParentAVAs[0]), is("2/data/parent_avas/1", alexander.ParentAVAs[1]),
			},
		},
		{
			id:   "beer-production",
			ask:  "How many barrels of beer were produced in 2015, and how many in 2016?",
			plan: []call{beerCall(2015), beerCall(2016)},
			facts: []fact{
				adds("1/data/*/value", beer(2015)), adds("2/data/*/value", beer(2016)),
			},
		},
		{
			id:   "usage",
			ask:  "How many list records and detail views does my plan include per month?",
			plan: []call{{"get_usage", args{}}},
			facts: []fact{
				is("1/data/list_records/limit", limits.ListRecords), is("1/data/detail_views/limit", limits.DetailViews),
			},
		},
	}
}

// latestWine returns the latest median processing time for wine labels, in days.
func latestWine(rows []cola.ProcessingTime) (days cola.Opt[int]) {
	var newest cola.Date
	for _, r := range rows {
		if r.Commodity == "Wine" && r.SnapshotDate > newest {
			newest, days = r.SnapshotDate, r.TurnaroundDaysMedian
		}
	}
	return days
}

// latestBrewery returns the latest median processing time for brewery permits, in days.
func latestBrewery(rows []cola.RegistrationProcessingTime) (days cola.Opt[int]) {
	var newest cola.Date
	for _, r := range rows {
		if r.ApplicationType == "Brewery" && r.SnapshotDate > newest {
			newest, days = r.SnapshotDate, r.TurnaroundDaysMedian
		}
	}
	return days
}
