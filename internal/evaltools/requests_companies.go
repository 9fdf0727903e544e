package main

// companyRequests returns requests about permittees and their labels.
func companyRequests(w *world) []request {
	const permit, brewery = "NJ-I-15730", "BR-PA-19181"
	held := w.labels.where(heldBy(permit))
	newest := w.labels.where(heldBy(brewery)).first()
	distillery := w.labels.where(heldIn("OR", "Distilled Spirits Plant", w)).by(byPermit)[0]
	return []request{
		{
			id:   "permit-holder",
			ask:  "Who holds permit " + permit + ", how many labels does it have, and what are the TTB IDs of its two newest?",
			plan: []call{{"get_permittee", args{"permit_number": permit}}},
			facts: append(listed("1/data/recent_colas", held.ids(2)),
				is("1/data/company_name", w.company(permit)), is("1/data/colas", len(held))),
		},
		{
			id:  "company-by-year",
			ask: "How many labels did Rufus Trask Selections get approved in 2024 and in 2025?",
			plan: []call{
				{"search_permittees", args{"q": "Rufus Trask Selections"}},
				{"count_labels", args{
					"group_by": "year", "permit_number": "$1/data/0/permit_number",
					"approval_date_from": "2024-01-01", "approval_date_to": "2025-12-31",
				}},
			},
			facts: append(each(2, "year", held.where(between("2024-01-01", "2025-12-31")).by(byYear)),
				is("1/data/0/permit_number", permit).unsaid()),
		},
		{
			id:  "oregon-distillery",
			ask: "Which distillery in Oregon has the most labels, and how many?",
			plan: []call{{"search_permittees", args{
				"state": "Oregon", "permittee_type": "Distilled Spirits Plant", "per_page": 1,
			}}},
			facts: []fact{
				is("1/data/0/permit_number", distillery.value).unsaid(), is("1/data/0/colas", distillery.count),
				is("1/data/0/company_name", w.company(distillery.value)),
			},
		},
		{
			id:  "newest-beer",
			ask: "What is the TTB ID of the newest label from Warwick's Brewing of Pennsylvania, and when did they apply for it?",
			plan: []call{
				{"search_permittees", args{"q": "warwicks brewing", "state": "PA"}},
				{"search_colas", args{"permit_number": "$1/data/0/permit_number", "date_range": "all", "per_page": 1}},
				{"get_cola", args{"ttb_id": "$2/data/0/ttb_id"}},
			},
			facts: []fact{
				is("1/data/0/permit_number", brewery).unsaid(), is("2/data/0/ttb_id", newest.TTBID),
				is("3/data/application_date", newest.ApplicationDate),
			},
		},
	}
}
