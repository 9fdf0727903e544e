package httpapi

import (
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Example responses. Each matches the example call of its operation: rows match the filters, and
// counts agree with rows. An operation needs an example here if one assembled from the examples
// of the individual fields would be inconsistent.

func exampleColas() colaPage {
	row := func(id cola.TTBID, product, class cola.Text, approved cola.Date, images int) cola.ColaSummary {
		return cola.ColaSummary{
			TTBID: id, BrandName: "RAVEN & OAK", ProductName: product, ProductType: vocabulary.Wine, ClassName: class,
			OriginName: "OREGON", PermitNumber: "BWN-OR-16677", ApplicationStatus: vocabulary.StatusApproved,
			ApprovalDate: approved,
			ImageCount:   images, HasBarcode: images > 1,
		}
	}
	return colaPage{
		Data: []cola.ColaSummary{
			row(26266001000016, "PINOT NOIR", "TABLE RED WINE", cola.NewDate(2026, 11, 4), 2),
			row(26282001000009, "", "TABLE WHITE WINE", cola.NewDate(2026, 10, 14), 1),
		},
		Pagination: cola.Pagination{
			Mode: "offset", Page: 1, PerPage: 2, Total: 7, Pages: 4, HasMore: true,
			NextCursor: "AQG_lC0BF-dBVWZJ089FaGGxcxz3kS1WQn7W",
		},
		DefaultsApplied: &cola.DefaultsApplied{DateRange: true, DateFrom: cola.NewDate(2025, 11, 20)},
	}
}

func exampleCounts() colaCounts {
	group := func(year cola.Text, count int) cola.LabelGroup {
		return cola.LabelGroup{Year: cola.Some(year), Count: count}
	}
	return colaCounts{
		Data:   []cola.LabelGroup{group("2026", 118), group("2025", 131)},
		Total:  1943,
		Others: cola.OtherGroups{Groups: cola.Some(20), Labels: 1694},
	}
}

// exampleLabel is a wine, so the beer and spirits fields are null or empty.
func exampleLabel() cola.Cola {
	const permit = "NJ-I-721"
	label := cola.Cola{
		ColaSummary: cola.ColaSummary{
			TTBID: 11054001000049, BrandName: "LENZ MOSER", ProductName: "PRESTIGE", ProductType: vocabulary.Wine,
			ClassName: "TABLE RED WINE", OriginName: "AUSTRIA", PermitNumber: permit,
			ApplicationStatus: vocabulary.StatusSurrendered, ApprovalDate: cola.NewDate(2011, 3, 18),
		},
		ApplicationType: "LABEL APPROVAL", ApplicationDate: cola.NewDate(2011, 2, 23),
		LatestUpdateDate: cola.NewDate(2025, 7, 16),
		ClassID:          "80", OriginID: "64", DomesticOrImported: vocabulary.Imported,
		IsDistinctiveContainer: cola.Some(false), IsResubmission: cola.Some(false),
		AddressRecipient: "NIEDERHOFF IMPORTS INC", AddressZipCode: "07927", AddressState: "NJ",
		GrapeVarietals: []string{"Zweigelt"}, WineVintageYear: cola.Some(2009), WineAppellation: "BURGENLAND",
		ABV: cola.Some(12.5), Volume: cola.Some(750.0), VolumeUnit: "milliliters",
		LLMContainerType: "bottle", LLMProductDescription: "A dry red wine from Burgenland.",
		LLMBrandEstablishedYear: cola.Some(1849), LLMCategoryPath: "Wine > Red Wine > Zweigelt",
		LLMTastingNoteFlavors: []string{"cherry", "pepper"},
		Images:                []cola.Image{exampleImage(0, "front", 0), exampleImage(1, "back", 1)},
		Barcodes: []cola.Barcode{{
			BarcodeType: "UPC-A", BarcodeValue: "036000291452", TTBImageID: "11054001000049-2",
			WidthPixels: cola.Some(240), HeightPixels: cola.Some(120), Orientation: "horizontal",
			RelativeImagePosition: "bottom right",
		}},
	}
	label.Derive()
	return label
}

func exampleImage(index int, position cola.Text, barcodes int) cola.Image {
	id := [...]string{"11054001000049-1", "11054001000049-2"}[index]
	return cola.Image{
		TTBImageID: id, ImageIndex: index, ContainerPosition: position, ExtensionType: "jpg",
		WidthPixels: cola.Some(900), HeightPixels: cola.Some(1200), WidthInches: cola.Some(3.0),
		HeightInches: cola.Some(4.0),
		FileSizeMB:   cola.Some(0.42), BarcodeCount: cola.Some(barcodes), QRCodeCount: cola.Some(0),
		ImageURL: cola.Text("https://example.com/images/" + id),
	}
}

func exampleBarcode() cola.BarcodeResult {
	label := exampleLabel()
	return cola.BarcodeResult{
		BarcodeValue: string(label.BarcodeValue), BarcodeType: label.BarcodeType,
		Colas: []cola.ColaSummary{label.ColaSummary}, TotalColas: 1,
	}
}

func exampleBrands() brandPage {
	return brandPage{
		Data: []cola.BrandMatch{
			{
				BrandName: "RAVEN & OAK", Similarity: cola.SimilarSoundsAlike, Score: 91,
				ProductTypes: []string{string(vocabulary.Wine)}, Colas: 7,
				Statuses:      cola.BrandStatuses{Approved: 5, Expired: 2},
				FirstApproval: cola.NewDate(2012, 4, 2), LastApproval: cola.NewDate(2026, 10, 16), TotalHolders: 1,
				Holders:      []cola.BrandHolder{{PermitNumber: "BWN-OR-16677", CompanyName: "RAVEN & OAK WINERY LLC", Colas: 7}},
				ExampleTTBID: 26266001000016,
			},
			{
				BrandName: "OAK", Similarity: cola.SimilarContains, Score: 59,
				ProductTypes: []string{string(vocabulary.Wine), string(vocabulary.DistilledSpirits)}, Colas: 3,
				Statuses:      cola.BrandStatuses{Approved: 3},
				FirstApproval: cola.NewDate(2019, 6, 27), LastApproval: cola.NewDate(2024, 1, 9), TotalHolders: 2,
				Holders: []cola.BrandHolder{
					{PermitNumber: "DSP-KY-20044", CompanyName: "SILENT TRACE SPIRITS INC", Colas: 2},
					{PermitNumber: "BWN-CA-1180", CompanyName: "SILENT TRACE VINEYARDS L.P.", Colas: 1},
				},
				ExampleTTBID: 23340001000021,
			},
		},
		Pagination: cola.Pagination{Mode: "offset", Page: 1, PerPage: 2, Total: 3, Pages: 2, HasMore: true},
		Notes: []string{
			"No identical brands; 1 sounds similar, 2 share the main words. This covers labels, not trademarks.",
			"Brands that score below 50 were left out.",
		},
	}
}

func examplePermittees() permitteePage {
	return permitteePage{
		Data: []cola.PermitteeSummary{
			{
				PermitNumber: "BWN-CA-20118", CompanyName: "LINDQVIST HOLLOW LLC",
				OperatingName: "SLEEPY QUARRY VINEYARDS",
				CompanyState:  "CA", CompanyZipCode: "95434", PermitteeType: "Bonded Winery", IsActive: true,
				ActiveReason: cola.ActiveListed,
				Colas:        20, ColasApproved: 19, LastColaApplicationDate: cola.NewDate(2026, 10, 16),
			},
			{
				PermitNumber: "BWN-CA-1180", CompanyName: "SILENT TRACE VINEYARDS L.P.",
				CompanyState: "CA", CompanyZipCode: "93477", PermitteeType: "Bonded Winery", IsActive: true,
				ActiveReason: cola.ActiveListed,
				Colas:        14, ColasApproved: 12, LastColaApplicationDate: cola.NewDate(2021, 2, 12),
			},
		},
		Pagination: cola.Pagination{Mode: "offset", Page: 1, PerPage: 2, Total: 20, Pages: 10, HasMore: true},
	}
}

func exampleSuggestions() suggestionList {
	return suggestionList{Data: []cola.Suggestion{
		{Value: "OAK RIDGE", Count: 27}, {Value: "OAKEN LANTERN", Count: 9}, {Value: "RAVEN & OAK", Count: 110},
	}}
}

// examplePermittee is the applicant for exampleLabel and has no other labels.
func examplePermittee() cola.PermitteeDetail {
	label := exampleLabel()
	return cola.PermitteeDetail{
		PermitteeSummary: cola.PermitteeSummary{
			PermitNumber: label.PermitNumber, CompanyName: label.AddressRecipient, OperatingName: "NIEDERHOFF WINES",
			CompanyState: label.AddressState, CompanyZipCode: label.AddressZipCode, PermitteeType: "Importer (Alcohol)",
			IsActive: true, ActiveReason: cola.ActiveListed, Colas: 1, LastColaApplicationDate: label.ApplicationDate,
		},
		RecentColas: []cola.ColaSummary{label.ColaSummary},
	}
}

// exampleUsage is consistent with the examples of the quota headers.
func exampleUsage() cola.UsageStats {
	state := cola.QuotaState{
		Tier:   cola.TierFree,
		Limits: cola.TierFree.Limits(),
		Used:   cola.Used{DetailViews: 12, ListRecords: 400},
	}
	usage := state.Stats()
	usage.CurrentPeriod, usage.DataAsOf = "2026-11", cola.NewDate(2026, 11, 20)
	return usage
}

func exampleReports() pageOf[cola.ProductionReport] {
	return pageOf[cola.ProductionReport]{
		Data: []cola.ProductionReport{{
			Commodity: "Beer", ReportType: "monthly", Year: 2019, MonthNumber: cola.Some(3),
			ReportDate:       cola.NewDate(2019, 3, 31),
			StatisticalGroup: "Barrels Produced", StatisticalCategory: "Totals", StatisticalDetail: "Production",
			Value: cola.Some(15513319.0), ValueUnit: "barrels",
		}},
		Meta: cola.PageMeta{Total: 14, Page: 1, PerPage: 1, HasMore: true},
	}
}

func exampleAVA() cola.AVADetail {
	return cola.AVADetail{
		AVA: cola.AVA{
			AVAID: "alexander_valley", Name: "Alexander Valley", States: []string{"CA"}, Counties: []string{"Sonoma"},
			EstablishedDate: cola.NewDate(1984, 11, 23),
		},
		ValidStartDate: cola.NewDate(2008, 4, 10),
		ParentAVAs:     []string{"North Coast", "Northern Sonoma"}, ChildAVAs: []string{},
		Petitioner: "Patrick Shabram", CFRAuthor: "N. A. Sutton", CFRIndex: "9.53",
	}
}

const exampleUUID = "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"

// exampleSavedSearchBody is the request that creates exampleSavedSearch.
func exampleSavedSearchBody() cola.SavedSearchParams {
	return cola.SavedSearchParams{
		Name:     "Wines called oak",
		Filters:  &cola.SavedSearchFilters{BrandName: "oak", TypeWine: cola.Some(true)},
		Schedule: &cola.ScheduleParams{Cadence: cola.CadenceWeekly, Day: cola.Some(1)},
	}
}

func exampleSavedSearch() cola.SavedSearch {
	requested := exampleSavedSearchBody()
	created := time.Date(2026, 11, 20, 13, 14, 15, 0, time.UTC)
	schedule := cola.Schedule{Active: true, Cadence: requested.Schedule.Cadence, Day: requested.Schedule.Day.V}
	schedule.NextRunAt = cola.Some(cola.TimestampOf(schedule.Next(created)))
	return cola.SavedSearch{
		UUID: exampleUUID, Name: requested.Name, Filters: *requested.Filters, Schedule: &schedule,
		CreatedAt:    cola.TimestampOf(created),
		ManageURL:    "https://example.com/saved-searches/" + exampleUUID,
		DashboardURL: "https://example.com/saved-searches",
	}
}

// exampleSavedSearches is the first of two pages.
func exampleSavedSearches() pageOf[cola.SavedSearch] {
	return pageOf[cola.SavedSearch]{
		Data: []cola.SavedSearch{exampleSavedSearch()},
		Meta: cola.PageMeta{Total: 2, Page: 1, PerPage: 1, HasMore: true},
	}
}

// exampleChangeBody is the request that pauses exampleSavedSearch; the result is
// examplePausedSearch.
func exampleChangeBody() cola.SavedSearchChangeParams {
	return cola.SavedSearchChangeParams{Schedule: &cola.ScheduleChangeParams{Active: cola.Some(false)}}
}

func examplePausedSearch() cola.SavedSearch {
	s := exampleSavedSearch()
	s.Schedule.Active, s.Schedule.NextRunAt = false, cola.Opt[cola.Timestamp]{}
	return s
}

func examplePreviewBody() cola.PreviewParams {
	return cola.PreviewParams{Filters: exampleSavedSearchBody().Filters}
}

// examplePreview finds a few labels on weekdays.
func examplePreview() cola.SavedSearchPreview {
	today := cola.NewDate(2026, 11, 20)
	preview := cola.SavedSearchPreview{}
	for i := range cola.PreviewDays {
		day := cola.PreviewDay{Date: today.AddDays(-i)}
		if weekday := day.Date.Time().Weekday(); weekday != time.Saturday && weekday != time.Sunday {
			day.Count = i % 3
		}
		preview.Days = append(preview.Days, day)
		preview.Total += day.Count
	}
	return preview
}

const (
	exampleDestinationUUID = "5b1d3c52-0c5c-4a52-8f6d-7d1f6f0a9b10"
	exampleFeedToken       = "2hZ0mJ7c0cT1rK9vQxYp3sVbN8eLwGdUoF5iMa4tXyE"
	exampleMailToken       = "0f3a9c5b7e1d2468ace013579bdf02468ace1357"
)

// exampleDestinationBody is the request that creates exampleNewWebhook.
func exampleDestinationBody() cola.DestinationParams {
	return cola.DestinationParams{Kind: cola.KindWebhook, Address: "https://hooks.example.com/labels"}
}

func exampleNewWebhook() cola.DestinationWithSecret {
	return cola.DestinationWithSecret{
		Destination: cola.Destination{
			UUID: exampleDestinationUUID, Kind: cola.KindWebhook, Address: cola.Some(exampleDestinationBody().Address),
			State:     cola.DestinationPending,
			CreatedAt: cola.TimestampOf(time.Date(2026, 11, 20, 13, 20, 0, 0, time.UTC)),
		},
		Secret: cola.Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw7X0nqS5yJ1k="),
	}
}

// exampleWebhook is the destination once exampleDelivery has been delivered.
func exampleWebhook() cola.Destination {
	d := exampleNewWebhook().Destination
	d.State = cola.DestinationActive
	d.LastDeliveredAt = exampleDelivery().SettledAt
	return d
}

// exampleMailbox is the account's own email address as a destination.
func exampleMailbox() cola.Destination {
	return cola.Destination{
		UUID: "c0a1f6f2-93a7-4c0e-8d0b-6f2f5f1f7a11", Kind: cola.KindEmail, Address: cola.Some("taster@example.com"),
		State:     cola.DestinationActive,
		CreatedAt: cola.TimestampOf(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)),
	}
}

// exampleDestinations is the first of two pages.
func exampleDestinations() pageOf[cola.Destination] {
	return pageOf[cola.Destination]{
		Data: []cola.Destination{exampleMailbox()},
		Meta: cola.PageMeta{Total: 2, Page: 1, PerPage: 1, HasMore: true},
	}
}

// exampleDestinationChange is the request that changes the destination to exampleWebhook.
func exampleDestinationChange() cola.DestinationChangeParams {
	return cola.DestinationChangeParams{Active: cola.Some(true)}
}

// exampleDelivery delivers the later run in exampleRuns to the webhook. It succeeded on the second
// attempt.
func exampleDelivery() cola.DeliveryDetail {
	run := exampleRuns().Data[0]
	first := run.RanAt.Time().Add(300 * time.Millisecond)
	second := first.Add(11 * time.Second)
	const took = 184
	return cola.DeliveryDetail{
		Delivery: cola.Delivery{
			ID: 5127, MessageID: "msg_9d3f1c7a52e84b60a1f4c2d07be8365a", Event: cola.EventRan,
			Destination: exampleDestinationUUID, Kind: cola.KindWebhook,
			SavedSearch: cola.Some(exampleUUID), RunID: cola.Some(run.ID), State: cola.DeliveryDelivered,
			AttemptCount: 2,
			CreatedAt:    run.RanAt, SettledAt: cola.Some(cola.TimestampOf(second.Add(took * time.Millisecond))),
		},
		Attempts: []cola.DeliveryAttempt{
			{At: cola.TimestampOf(first), DurationMS: 97, Status: cola.Some(503),
				Error: cola.Some("The receiver responded with status 503.")},
			{At: cola.TimestampOf(second), DurationMS: took, Status: cola.Some(204)},
		},
	}
}

// exampleDeliveries is the first of two pages.
func exampleDeliveries() pageOf[cola.Delivery] {
	return pageOf[cola.Delivery]{
		Data: []cola.Delivery{exampleDelivery().Delivery},
		Meta: cola.PageMeta{Total: 2, Page: 1, PerPage: 1, HasMore: true},
	}
}

// exampleReplayed is exampleDelivery right after the request to replay it.
func exampleReplayed() cola.Delivery {
	d := exampleDelivery().Delivery
	d.State, d.SettledAt = cola.DeliveryPending, cola.Opt[cola.Timestamp]{}
	d.NextAttemptAt = cola.Some(cola.TimestampOf(time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC)))
	return d
}

// exampleNewDelivery is a delivery right after it was requested.
func exampleNewDelivery(event string) cola.Delivery {
	requested := cola.TimestampOf(time.Date(2026, 11, 20, 13, 21, 0, 0, time.UTC))
	return cola.Delivery{
		ID: 5101, MessageID: "msg_4b8a0e6d1f2c49d7b3a5968c7d0e1f23", Event: event, Destination: exampleDestinationUUID,
		Kind:  cola.KindWebhook,
		State: cola.DeliveryPending, CreatedAt: requested, NextAttemptAt: cola.Some(requested),
	}
}

func exampleFeed() cola.SavedSearchFeed {
	return cola.SavedSearchFeed{URL: "https://example.com/feeds/" + exampleFeedToken}
}
