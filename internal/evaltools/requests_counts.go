package main

import (
	"fmt"
	"slices"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// each returns facts about the counts of groups in the result of a call, in any order.
func each(call int, dimension string, groups []group) (facts []fact) {
	for _, g := range groups {
		facts = append(facts, is(fmt.Sprintf("%d/data/%s=%s/count", call, dimension, g.value), g.count))
	}
	return facts
}

// ranked returns facts about the result of the first call, which must list groups in the given order.
func ranked(dimension string, groups []group) (facts []fact) {
	for i, g := range groups {
		at := fmt.Sprintf("1/data/%d/", i)
		facts = append(facts, is(at+dimension, g.value), is(at+"count", g.count))
	}
	return facts
}

// countRequests returns requests that count_labels answers.
func countRequests(w *world) []request {
	year := func(year string) labels { return w.labels.where(inYear(year)) }
	ciders := w.labels.where(inCategory("Beer > Cider"), between("2021-01-01", "2025-12-31"))
	packaged := year("2025").where(ofKind(vocabulary.MaltBeverage), inContainer("can", "bottle"))
	weekly := w.firstSeenSince("2026-11-13")
	return []request{
		{
			id:  "bourbon-by-year",
			ask: "How many straight bourbon labels were approved in 2025, compared with 2024?",
			plan: []call{{"count_labels", args{
				"group_by": "year", "q": `"straight bourbon"`, "approval_date_from": "2024-01-01", "approval_date_to": "2025-12-31",
			}}},
			facts: each(1, "year", w.labels.where(ofClass("STRAIGHT BOURBON"), between("2024-01-01", "2025-12-31")).by(byYear)),
		},
		{
			id:  "ciders-by-year",
			ask: "How many labels in the cider category were approved in each year from 2021 to 2025?",
			plan: []call{
				{"suggest_values", args{"field": "category", "q": "cider"}},
				{"count_labels", args{
					"group_by": "year", "derived_subcategory": "$1/data/0/value",
					"approval_date_from": "2021-01-01", "approval_date_to": "2025-12-31",
				}},
			},
			facts: each(2, "year", ciders.by(byYear)),
		},
		{
			id:  "gin-companies",
			ask: "Which five permits had the most gin labels (category Gin) approved in 2025, and how many each?",
			plan: []call{{"count_labels", args{
				"group_by": "permit", "derived_subcategory": "Liquor > Gin", "top": 5,
				"approval_date_from": "2025-01-01", "approval_date_to": "2025-12-31",
			}}},
			facts: ranked("permit", year("2025").where(inCategory("Liquor > Gin")).by(byPermit)[:5]),
		},
		{
			id:  "new-brands",
			ask: "Which entirely new brands have appeared in the last 7 days, since 2026-11-13?",
			plan: []call{{"count_labels", args{
				"group_by": "brand", "brand_first_seen_from": "2026-11-13", "top": 100,
			}}},
			facts: append(saidValues(each(1, "brand", weekly.by(byBrand)), weekly.by(byBrand)),
				is("1/total", len(weekly)).unsaid()),
		},
		{
			id:  "types-in-2025",
			ask: "How do the labels approved in 2025 break down into wine, malt beverages and distilled spirits?",
			plan: []call{{"count_labels", args{
				"group_by": "product_type", "approval_date_from": "2025-01-01", "approval_date_to": "2025-12-31",
			}}},
			facts: append(each(1, "product_type", year("2025").by(byKind)), is("1/total", len(year("2025"))).unsaid()),
		},
		{
			id:  "types-by-year",
			ask: "Show the number of labels for each product type in 2023, 2024 and 2025.",
			plan: []call{{"count_labels", args{
				"group_by": []string{"product_type", "year"}, "approval_date_from": "2023-01-01", "approval_date_to": "2025-12-31",
			}}},
			facts: slices.Concat(
				each(1, "year=2023;product_type", year("2023").by(byKind)),
				each(1, "year=2024;product_type", year("2024").by(byKind)),
				each(1, "year=2025;product_type", year("2025").by(byKind)),
			),
		},
		{
			id:  "wine-origins",
			ask: "Which five countries had the most imported wine labels approved in 2025?",
			plan: []call{{"count_labels", args{
				"group_by": "origin", "product_type": "wine", "domestic_or_imported": "imported", "top": 5,
				"approval_date_from": "2025-01-01", "approval_date_to": "2025-12-31",
			}}},
			facts: ranked("origin", year("2025").where(ofKind(vocabulary.Wine), imported).by(byOrigin)[:5]),
		},
		{
			id:  "cans-and-bottles",
			ask: "How many malt beverage labels from 2025 were for cans, and how many for bottles?",
			plan: []call{{"count_labels", args{
				"group_by": "container", "product_type": "malt beverage", "container_type": []string{"can", "bottle"},
				"approval_date_from": "2025-01-01", "approval_date_to": "2025-12-31",
			}}},
			facts: each(1, "container", packaged.by(byContainer)),
		},
		{
			id:  "zinfandel-by-year",
			ask: "How many Zinfandel labels were approved per year from 2020 to 2024?",
			plan: []call{{"count_labels", args{
				"group_by": "year", "grape": "Zinfandel",
				"approval_date_from": "2020-01-01", "approval_date_to": "2024-12-31",
			}}},
			facts: each(1, "year", w.labels.where(ofGrape("Zinfandel"), between("2020-01-01", "2024-12-31")).by(byYear)),
		},
		{
			id:  "estimated-dates",
			ask: "How many labels from 2015 are there, and how many of them have only an estimated approval date?",
			plan: []call{
				{"count_labels", args{
					"group_by": "year", "approval_date_from": "2015-01-01", "approval_date_to": "2015-12-31",
				}},
				{"count_labels", args{
					"group_by": "year", "approval_date_from": "2015-01-01", "approval_date_to": "2015-12-31",
					"estimated_dates": "exclude",
				}},
			},
			facts: []fact{
				is("1/total", len(year("2015"))), is("2/total", len(year("2015").where(dated))).unsaid(),
				derived(len(year("2015")) - len(year("2015").where(dated))),
			},
		},
	}
}

// saidValues changes facts about groups so that an answer must contain each group's value rather
// than its count. It returns the changed facts.
func saidValues(facts []fact, groups []group) []fact {
	for i, g := range groups {
		facts[i] = facts[i].saying(g.value)
	}
	return facts
}
