package main

import (
	"fmt"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// listed returns facts stating that the list at a path starts with the labels in ids, in that
// order.
func listed(at string, ids []string) (facts []fact) {
	for i, id := range ids {
		facts = append(facts, is(fmt.Sprintf("%s/%d/ttb_id", at, i), id))
	}
	return facts
}

// labelRequests returns requests about individual labels and lists of labels.
func labelRequests(w *world) []request {
	const label, barcode, spaced = "26009001000010", "836007269924", "8 36007 26992 4"
	detail := w.labels.where(withID(label)).first()
	pinot := w.labels.where(withID("26266001000016")).first()
	french := w.labels.where(ofKind(vocabulary.Wine), fromOrigin("FRANCE"), atLeastABV(14), ofLiters(1.5))
	revoked := w.labels.where(ofKind(vocabulary.DistilledSpirits), withStatus(vocabulary.StatusRevoked))
	sameCode := w.labels.where(withBarcode(barcode))
	oldest := w.labels.where(branded("raven and oak")).last()
	stouts := w.labels.where(mentioning("barrel aged stout"))
	plains := w.labels.where(fromArea("TEXAS HIGH PLAINS"), inYear("2025"))
	return []request{
		{
			id:  "french-magnums",
			ask: "List the TTB IDs of the five newest French wines with at least 14% alcohol in 1.5 liter bottles.",
			plan: []call{{"search_colas", args{
				"product_type": "wine", "origin": "french", "abv_min": 14, "volume_unit": "liters", "volume_min": 1.5,
				"volume_max": 1.5, "date_range": "all", "per_page": 5,
			}}},
			facts: listed("1/data", french.ids(5)),
		},
		{
			id:   "barcode",
			ask:  "Which product has the barcode " + spaced + "?",
			plan: []call{{"lookup_barcode", args{"barcode_value": spaced}}},
			facts: []fact{
				is("1/data/total_colas", len(sameCode)).unsaid(), is("1/data/colas/0/brand_name", sameCode.first().BrandName),
				lists("1/data/colas/*/ttb_id", sameCode.ids(len(sameCode))),
			},
		},
		{
			id:   "label-details",
			ask:  "What are the grape, vintage, appellation and alcohol content of label 26266001000016?",
			plan: []call{{"get_cola", args{"ttb_id": "26266001000016"}}},
			facts: []fact{
				is("1/data/grape_varietals/0", pinot.GrapeVarietals[0]), is("1/data/wine_vintage_year", pinot.WineVintageYear),
				is("1/data/wine_appellation", pinot.WineAppellation), is("1/data/abv", pinot.ABV),
			},
		},
		{
			id:   "label-form",
			ask:  "What are the serial number and TTB class code on the application for label " + label + "?",
			plan: []call{{"get_cola", args{"ttb_id": label, "response_format": "detailed"}}},
			facts: []fact{
				is("1/data/serial_number", detail.SerialNumber), is("1/data/class_id", detail.ClassID),
			},
		},
		{
			id:  "same-barcode",
			ask: "List the TTB IDs of all labels with the same barcode as label " + sameCode.first().TTBID.String() + ".",
			plan: []call{
				{"get_cola", args{"ttb_id": sameCode.first().TTBID.String()}},
				{"lookup_barcode", args{"barcode_value": "$1/data/barcode_value"}},
			},
			facts: listed("2/data/colas", sameCode.ids(len(sameCode))),
		},
		{
			id:    "revoked-spirits",
			ask:   "List the TTB IDs of all distilled spirits labels that were revoked.",
			plan:  []call{{"search_colas", args{"product_type": "distilled spirits", "status": "revoked"}}},
			facts: append(listed("1/data", revoked.ids(20)), is("1/pagination/total", len(revoked)).unsaid()),
		},
		{
			id:  "oldest-label",
			ask: "What is the TTB ID of the oldest Raven & Oak label, and when was it approved?",
			plan: []call{{"search_colas", args{
				"brand_name": "Raven & Oak", "date_range": "all", "sort": "approval_date", "per_page": 1,
			}}},
			facts: []fact{
				is("1/data/0/ttb_id", oldest.TTBID), is("1/data/0/approval_date", oldest.ApprovalDate),
			},
		},
		{
			id:   "barrel-aged-stouts",
			ask:  "How many barrel-aged stouts have ever been approved, and what is the TTB ID of the newest?",
			plan: []call{{"search_colas", args{"q": "barrel aged stout", "date_range": "all", "per_page": 1}}},
			facts: []fact{
				is("1/pagination/total", len(stouts)), is("1/data/0/ttb_id", stouts.first().TTBID),
			},
		},
		{
			id:  "area-of-label",
			ask: "When was the American Viticultural Area on label 26266001000016 established?",
			plan: []call{
				{"get_cola", args{"ttb_id": "26266001000016"}},
				{"search_avas", args{"q": "$1/data/wine_appellation"}},
			},
			facts: []fact{is("2/data/0/established_date", w.area(string(pinot.WineAppellation)).EstablishedDate)},
		},
		{
			id:  "texas-high-plains",
			ask: "How many wines from the Texas High Plains were approved in 2025, and which permit has the newest?",
			plan: []call{{"search_colas", args{
				"appellation": "Texas High Plains", "approval_date_from": "2025-01-01", "approval_date_to": "2025-12-31",
				"per_page": 1,
			}}},
			facts: []fact{
				is("1/pagination/total", len(plains)), is("1/data/0/permit_number", plains.first().PermitNumber),
			},
		},
	}
}
