package main

// brandRequests returns requests about brand names. The closest brand and its similarity are
// hardcoded, because a scan would have to repeat the ranking of package search.
func brandRequests(w *world) []request {
	ravens, cypres := w.labels.where(branded("raven and oak")), w.labels.where(branded("domaine des cypres"))
	hills, cuatros := w.labels.where(branded("high hill")), w.labels.where(branded("cuatro cerros"))
	hargroves := w.labels.where(branded("hargroves brewing"))
	return []request{
		{
			id:   "similar-brand",
			ask:  `Is the brand name "Ravin and Oak" available? If not, name the closest brand, its holder and how many labels it has.`,
			plan: []call{{"check_brand", args{"q": "Ravin and Oak"}}},
			facts: []fact{
				is("1/data/0/brand_name", "RAVEN & OAK"), is("1/data/0/similarity", "sounds_alike").unsaid(),
				is("1/data/0/colas", len(ravens)), is("1/data/0/holders/0/permit_number", ravens.first().PermitNumber).unsaid(),
				is("1/data/0/holders/0/company_name", w.company(ravens.first().PermitNumber)),
			},
		},
		{
			id:   "plural-brand",
			ask:  `Does any spirits brand conflict with "High Hills", and when was its first label approved?`,
			plan: []call{{"check_brand", args{"q": "High Hills", "product_type": "distilled spirits"}}},
			facts: []fact{
				is("1/data/0/brand_name", "HIGH HILL"), is("1/data/0/colas", len(hills)).unsaid(),
				is("1/data/0/first_approval_date", hills.where(dated).last().ApprovalDate),
			},
		},
		{
			id:   "free-brand",
			ask:  `Is the brand name "Zephyrquill" available?`,
			plan: []call{{"check_brand", args{"q": "Zephyrquill"}}},
			facts: []fact{
				is("1/pagination/total", len(w.labels.where(branded("zephyrquill")))).
					saying("free", "available", "no brand", "no identical", "not in use", "no conflict", "no match"),
			},
		},
		{
			id:    "brand-statuses",
			ask:   "How many Raven and Oak labels are approved, expired and surrendered?",
			plan:  []call{{"count_labels", args{"group_by": "status", "brand_name": "raven and oak", "date_range": "all"}}},
			facts: each(1, "status", ravens.by(byStatus)),
		},
		{
			id:   "brand-accents",
			ask:  "How many labels has domaine des cypres had since 2005, and which importer (company) holds them?",
			plan: []call{{"count_labels", args{"group_by": "permit", "brand_name": "domaine des cypres", "date_range": "all"}}},
			facts: []fact{
				is("1/total", len(cypres)), is("1/data/0/permit", cypres.first().PermitNumber).unsaid(),
				is("1/data/0/company_name", w.company(cypres.first().PermitNumber)),
			},
		},
		{
			id:   "brand-apostrophe",
			ask:  "What is the TTB ID of the newest label from hargroves brewing, and when was it approved?",
			plan: []call{{"search_colas", args{"brand_name": "hargroves brewing", "date_range": "all", "per_page": 1}}},
			facts: []fact{
				is("1/pagination/total", len(hargroves)).unsaid(), is("1/data/0/ttb_id", hargroves.first().TTBID),
				is("1/data/0/approval_date", hargroves.first().ApprovalDate),
			},
		},
		{
			id:    "brand-completion",
			ask:   `I don't remember the full name of a brand that starts with "cuatro". Which has the most labels, and how many?`,
			plan:  []call{{"suggest_values", args{"field": "brand", "q": "cuatro"}}},
			facts: []fact{is("1/data/0/value", "CUATRO CERROS"), is("1/data/0/count", len(cuatros))},
		},
	}
}
