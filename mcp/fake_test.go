package mcp

import (
	"context"
	"errors"
	"flag"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/registry"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// now is the current time in these tests.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const savedUUID = "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11"

const (
	testKey  = "lar_test"
	testHost = "registry.example"
)

var errBroken = errors.New("disk full of secrets")

// fake is a Service over a few records. Like the real one, it validates parameters with Normalize,
// counts calls toward the rate limit, and charges only for returned records. Unlike the real one,
// it also counts Suggest.
type fake struct {
	notes      []string // added to every response type that has notes
	labels     []cola.ColaSummary
	label      cola.Cola
	permittee  cola.PermitteeDetail
	permittees []cola.PermitteeSummary
	brands     []cola.BrandMatch
	ava        cola.AVADetail
	times      []cola.ProcessingTime
	reports    []cola.ProductionReport
	company    cola.Text // company name of labels, except those of permittee
	words      registry.Vocabulary

	tier   cola.Tier
	used   cola.Used
	limits cola.Limits
	spent  int   // requests counted toward the rate limit
	looks  int   // calls to Standing
	err    error // error for every call, if set
	panic  any
	wait   bool // calls block until canceled

	search cola.ColaSearch // latest, normalized
	target string          // latest requested ID

	saved    []cola.SavedSearch
	created  cola.SavedSearchParams       // latest
	changed  cola.SavedSearchChangeParams // latest
	repeated bool                         // creations return an earlier result
	paused   cola.Opt[string]             // reason why an active schedule does not run

	mu sync.Mutex // guards the counters and target during concurrent bridge calls
}

func newFake() *fake {
	f := &fake{tier: cola.TierFree, limits: cola.TierFree.Limits(), label: exampleLabel()}
	row := func(id cola.TTBID, product, class cola.Text, approved cola.Date) cola.ColaSummary {
		return cola.ColaSummary{
			TTBID: id, BrandName: "RAVEN & OAK", ProductName: product, ProductType: vocabulary.Wine, ClassName: class, OriginName: "OREGON",
			PermitNumber: "BWN-OR-16677", ApplicationStatus: vocabulary.StatusApproved, ApprovalDate: approved, ImageCount: 1, HasBarcode: true,
		}
	}
	f.company = "RAVEN & OAK WINERY LLC"
	f.labels = []cola.ColaSummary{
		row(26266001000016, "PINOT NOIR", "TABLE RED WINE", cola.NewDate(2026, 11, 4)),
		row(26282001000009, "", "TABLE WHITE WINE", cola.NewDate(2026, 10, 14)),
		row(26240001000003, "RESERVE", "TABLE RED WINE", cola.NewDate(2026, 9, 1)),
	}
	f.permittee = cola.PermitteeDetail{
		PermitteeSummary: cola.PermitteeSummary{
			PermitNumber: "NJ-I-721", CompanyName: "NIEDERHOFF IMPORTS INC", OperatingName: "NIEDERHOFF WINES", CompanyState: "NJ", CompanyZipCode: "07927",
			PermitteeType: "Importer (Alcohol)", IsActive: true, ActiveReason: cola.ActiveListed, Colas: 1,
			LastColaApplicationDate: cola.NewDate(2011, 2, 23),
		},
		RecentColas: []cola.ColaSummary{f.label.ColaSummary},
	}
	f.permittees = []cola.PermitteeSummary{f.permittee.PermitteeSummary, {
		PermitNumber: "BWN-CA-1180", CompanyName: "SILENT TRACE VINEYARDS L.P.", CompanyState: "CA", CompanyZipCode: "95448", PermitteeType: "Bonded Wine Cellar",
		IsActive: true, ActiveReason: cola.ActiveListed, Colas: 14, ColasApproved: 12, LastColaApplicationDate: cola.NewDate(2026, 8, 3),
	}}
	f.brands = []cola.BrandMatch{
		{
			BrandName: "RAVEN & OAK", Similarity: cola.SimilarSoundsAlike, Score: 91, ProductTypes: []string{"wine"}, Colas: 3,
			Statuses: cola.BrandStatuses{Approved: 3}, FirstApproval: cola.NewDate(2026, 9, 1), LastApproval: cola.NewDate(2026, 11, 4), TotalHolders: 1,
			Holders: []cola.BrandHolder{{PermitNumber: "BWN-OR-16677", CompanyName: "RAVEN & OAK WINERY LLC", Colas: 3}}, ExampleTTBID: 26266001000016,
		},
		{
			BrandName: "RAVINE OAKS", Similarity: cola.SimilarSoundsAlike, Score: 88, ProductTypes: []string{}, Colas: 1, Statuses: cola.BrandStatuses{Unknown: 1},
			TotalHolders: 1, Holders: []cola.BrandHolder{{PermitNumber: "NJ-I-721", Colas: 1}}, ExampleTTBID: 11054001000049,
		},
	}
	f.ava = cola.AVADetail{
		AVA:            cola.AVA{AVAID: "alexander_valley", Name: "Alexander Valley", States: []string{"CA"}, Counties: []string{"Sonoma"}, EstablishedDate: cola.NewDate(1984, 11, 23)},
		ValidStartDate: cola.NewDate(2008, 4, 10), ParentAVAs: []string{"North Coast"}, ChildAVAs: []string{}, CFRIndex: "9.53",
	}
	f.times = []cola.ProcessingTime{{Commodity: "Wine", SnapshotDate: cola.NewDate(2026, 11, 16), TurnaroundDaysMedian: cola.Some(4), QueueFrontierDate: cola.NewDate(2026, 11, 12), QueueDepthDays: cola.Some(4)}}
	f.reports = []cola.ProductionReport{
		{
			Commodity: "Beer", ReportType: "monthly", Year: 2019, MonthNumber: cola.Some(3), ReportDate: cola.NewDate(2019, 3, 31),
			StatisticalGroup: "Barrels Produced", StatisticalCategory: "Totals", StatisticalDetail: "Production", Value: cola.Some(15513319.0), ValueUnit: "barrels",
		}, {Commodity: "Beer", ReportType: "monthly", Year: 2019, MonthNumber: cola.Some(2), ReportDate: cola.NewDate(2019, 2, 28), IsRedacted: true},
	}
	f.saved = []cola.SavedSearch{{
		UUID: savedUUID, Name: "New Oak brands", Filters: cola.SavedSearchFilters{BrandName: "oak", TypeWine: cola.Some(true)},
		Schedule: &cola.Schedule{
			Active: true, Cadence: cola.CadenceWeekly, Day: 1, NextRunAt: cola.Some(cola.TimestampOf(time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC))),
		},
		CreatedAt: cola.TimestampOf(now), DashboardURL: "https://" + testHost + "/saved-searches", ManageURL: "https://" + testHost + "/saved-searches/" + savedUUID,
	}}
	f.words = registry.Vocabulary{
		Times: registry.ListVocabulary{"commodity": {"Distilled Spirits", "Malt Beverage", "Wine"}},
		Reports: registry.ListVocabulary{
			"year": {"2018", "2019"}, "commodity": {"Beer", "Wine"}, "report_type": {"monthly"}, "statistical_group": {"Barrels Produced"},
			"statistical_detail": {"Production"},
		},
		Categories: []string{"Wine", "Wine > Red Wine", "Wine > White Wine"}, Places: []string{"AUSTRIA", "FRANCE", "OREGON"}, States: []string{"CA", "CO", "NJ", "OR"}}
	return f
}

func exampleLabel() cola.Cola {
	label := cola.Cola{
		ColaSummary: cola.ColaSummary{
			TTBID: 11054001000049, BrandName: "LENZ MOSER", ProductName: "PRESTIGE", ProductType: vocabulary.Wine, ClassName: "TABLE RED WINE", OriginName: "AUSTRIA",
			PermitNumber: "NJ-I-721", ApplicationStatus: vocabulary.StatusSurrendered, ApprovalDate: cola.NewDate(2011, 3, 18),
		},
		ApplicationType: "LABEL APPROVAL", ApplicationDate: cola.NewDate(2011, 2, 23), ClassID: "80", OriginID: "64", DomesticOrImported: vocabulary.Imported,
		AddressRecipient: "NIEDERHOFF IMPORTS INC", AddressState: "NJ", GrapeVarietals: []string{"Zweigelt"}, WineVintageYear: cola.Some(2009),
		WineAppellation: "BURGENLAND", ABV: cola.Some(12.5), Volume: cola.Some(750.0), VolumeUnit: "milliliters", LLMContainerType: "bottle",
		LLMProductDescription: "A dry red wine from Burgenland.", LLMCategoryPath: "Wine > Red Wine > Zweigelt", LLMTastingNoteFlavors: []string{"cherry", "pepper"},
		Images:   []cola.Image{{TTBImageID: "11054001000049-1", ContainerPosition: "front", ImageURL: "https://registry.example/images/11054001000049-1"}},
		Barcodes: []cola.Barcode{{BarcodeValue: "9002980123459", BarcodeType: "EAN-13", TTBImageID: "11054001000049-1"}},
	}
	label.Derive()
	return label
}

func (f *fake) state() cola.QuotaState {
	return cola.QuotaState{Tier: f.tier, Period: cola.PeriodOf(now), Limits: f.limits, Used: f.used}
}

func (f *fake) charge(m cola.Meter, units int) cola.QuotaState {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used.Add(m, units)
	state := f.state()
	state.Charged = units
	return state
}

// admit is called first by every method that counts toward the rate limit.
func (f *fake) admit(ctx context.Context) (cola.QuotaState, error) {
	if f.panic != nil {
		panic(f.panic)
	}
	if f.wait {
		<-ctx.Done()
		return cola.QuotaState{}, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spent++
	return f.state(), f.err
}

func (f *fake) Standing(ctx context.Context, _ cola.Caller) (cola.QuotaState, error) {
	if err := ctx.Err(); err != nil {
		return cola.QuotaState{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	return f.state(), f.err
}

func (f *fake) Admit(ctx context.Context, _ cola.Caller) (cola.QuotaState, error) {
	return f.admit(ctx)
}

func (f *fake) Refuse(ctx context.Context, _ cola.Caller, refusal error) (cola.QuotaState, error) {
	state, err := f.admit(ctx)
	if err == nil {
		err = refusal
	}
	return state, err
}

// page returns the rows that fit and that the quota allows, and charges for them.
func page[T any](f *fake, rows []T, perPage int, fit registry.RowLimit[T]) (fitting []T, more bool, state cola.QuotaState) {
	fitting = rows[:min(len(rows), perPage)]
	if fit != nil {
		fitting = fitting[:fit(fitting)]
	}
	fitting = fitting[:min(len(fitting), f.state().ListRecordsRemaining())]
	return fitting, len(fitting) < len(rows), f.charge(cola.MeterListRecords, len(fitting))
}

func (f *fake) SearchColasLimited(ctx context.Context, _ cola.Caller, p cola.SearchParams, fit registry.RowLimit[cola.ColaSummary]) (registry.ColaPage, cola.QuotaState, error) {
	state, err := f.admit(ctx)
	if err == nil {
		f.search, err = p.Normalize(now)
	}
	if err != nil {
		return registry.ColaPage{}, state, err
	}
	found := f.matching(&f.search.Query)
	rows, more, state := page(f, found, f.search.PerPage, fit)
	result := registry.ColaPage{
		Colas: rows,
		Pagination: cola.Pagination{
			Mode: "offset", Page: 1, PerPage: f.search.PerPage, Total: len(found), Pages: pages(len(found), f.search.PerPage), HasMore: more,
		},
		Notes:    f.notes,
		DataAsOf: dataAsOf,
	}
	if more {
		result.Pagination.NextCursor = "AQAB"
	}
	if f.search.DefaultWindow {
		result.Defaults = &cola.DefaultsApplied{DateRange: true, DateFrom: f.search.From}
	}
	return result, state, nil
}

func (f *fake) CountColasLimited(ctx context.Context, _ cola.Caller, p cola.CountParams, fit registry.RowLimit[cola.LabelGroup]) (registry.ColaCounts, cola.QuotaState, error) {
	state, err := f.admit(ctx)
	if err != nil {
		return registry.ColaCounts{}, state, err
	}
	s, err := p.Normalize(now)
	if err != nil {
		return registry.ColaCounts{}, state, err
	}
	counts := registry.ColaCounts{
		Total: len(f.labels), Others: cola.OtherGroups{Groups: cola.Some(0)}, Notes: f.notes, DataAsOf: dataAsOf,
	}
	if s.DefaultWindow {
		counts.Defaults = &cola.DefaultsApplied{DateRange: true, DateFrom: s.From}
	}
	for i, label := range f.labels {
		g := cola.LabelGroup{Count: 1}
		for _, dimension := range s.GroupBy {
			switch dimension {
			case cola.ByYear:
				g.Set(dimension, cola.Text(strconv.Itoa(2026-i)))
			case cola.ByProductType:
				g.Set(dimension, cola.Text(label.ProductType))
			default:
				g.Set(dimension, label.ProductName)
			}
		}
		counts.Groups = append(counts.Groups, g)
	}
	groups := counts.Groups[:min(len(counts.Groups), s.Top)]
	given := min(len(groups), fit(groups))
	units := min((given+cola.GroupsPerRecord-1)/cola.GroupsPerRecord, f.state().ListRecordsRemaining())
	counts.Groups = counts.Others.Omit(counts.Groups, min(given, units*cola.GroupsPerRecord))
	return counts, f.charge(cola.MeterListRecords, units), nil
}

// tagged returns a record if the requested identifier matches.
func tagged[T any](ctx context.Context, f *fake, want, got string, value T, m cola.Meter) (registry.Tagged[T], cola.QuotaState, error) {
	state, err := f.admit(ctx)
	f.mu.Lock()
	f.target = got
	f.mu.Unlock()
	if err == nil && got != want {
		err = cola.Errorf(cola.CodeNotFound, "There is no %s.", cola.Quoted(got))
	}
	if err != nil {
		return registry.Tagged[T]{}, state, err
	}
	units := 1
	if m == cola.MeterNone {
		units = 0
	}
	return registry.Tagged[T]{Value: value}, f.charge(m, units), nil
}

func (f *fake) Cola(ctx context.Context, _ cola.Caller, id, _ string) (registry.Tagged[cola.Cola], cola.QuotaState, error) {
	return tagged(ctx, f, f.label.TTBID.String(), id, f.label, cola.MeterDetailViews)
}

func (f *fake) Permittee(ctx context.Context, _ cola.Caller, number, _ string) (registry.Tagged[cola.PermitteeDetail], cola.QuotaState, error) {
	return tagged(ctx, f, f.permittee.PermitNumber, number, f.permittee, cola.MeterDetailViews)
}

func (f *fake) AVA(ctx context.Context, _ cola.Caller, id, _ string) (registry.Tagged[cola.AVADetail], cola.QuotaState, error) {
	return tagged(ctx, f, f.ava.AVAID, id, f.ava, cola.MeterNone)
}

func (f *fake) SearchPermitteesLimited(ctx context.Context, _ cola.Caller, p cola.PermitteeParams, fit registry.RowLimit[cola.PermitteeSummary]) (registry.PermitteePage, cola.QuotaState, error) {
	state, err := f.admit(ctx)
	q, invalid := p.Normalize(now)
	if err == nil {
		err = invalid
	}
	if err != nil {
		return registry.PermitteePage{}, state, err
	}
	found := f.holders(&q)
	rows, more, state := page(f, found, q.PerPage, fit)
	return registry.PermitteePage{Permittees: rows, Pagination: cola.Pagination{
		Mode: "offset", Page: q.Page, PerPage: q.PerPage, Total: len(found), Pages: pages(len(found), q.PerPage), HasMore: more,
	}}, state, nil
}

func (f *fake) SearchBrandsLimited(ctx context.Context, _ cola.Caller, p cola.BrandParams, fit registry.RowLimit[cola.BrandMatch]) (registry.BrandPage, cola.QuotaState, error) {
	state, err := f.admit(ctx)
	q, invalid := p.Normalize()
	if err == nil {
		err = invalid
	}
	if err != nil {
		return registry.BrandPage{}, state, err
	}
	rows, more, state := page(f, f.brands, q.PerPage, fit)
	return registry.BrandPage{
		Brands: rows, Notes: []string{"No identical brands; 2 sound similar. This covers labels, not trademarks."}, DataAsOf: dataAsOf,
		Pagination: cola.Pagination{
			Mode: "offset", Page: q.Page, PerPage: q.PerPage, Total: len(f.brands), Pages: pages(len(f.brands), q.PerPage), HasMore: more,
		},
	}, state, nil
}

func (f *fake) BarcodeLimited(ctx context.Context, _ cola.Caller, value string, fit registry.RowLimit[cola.ColaSummary]) (cola.BarcodeResult, cola.QuotaState, error) {
	t, state, err := tagged(ctx, f, "036000291452", strings.NewReplacer(" ", "", "-", "").Replace(value), cola.BarcodeResult{}, cola.MeterNone)
	if err != nil {
		return t.Value, state, err
	}
	rows, _, state := page(f, f.labels, 100, fit)
	return cola.BarcodeResult{BarcodeValue: value, BarcodeType: "UPC-A", Colas: rows, TotalColas: len(f.labels)}, state, nil
}

// dataAsOf is the date of the fake's data.
var dataAsOf = cola.NewDate(2026, 11, 20)

func (f *fake) Usage(ctx context.Context, _ cola.Caller) (cola.UsageStats, cola.QuotaState, error) {
	state, err := f.admit(ctx)
	stats := state.Stats()
	stats.DataAsOf = dataAsOf
	return stats, state, err
}

// rowsFor returns a reference list with the given rows, or the error for invalid parameters.
func rowsFor[T any](ctx context.Context, f *fake, invalid error, rows ...T) (registry.List[T], cola.QuotaState, error) {
	state, err := f.admit(ctx)
	if err == nil {
		err = invalid
	}
	if err != nil {
		return registry.List[T]{}, state, err
	}
	return registry.List[T]{Rows: rows, Meta: cola.Meta{Total: len(rows)}, Notes: f.notes}, state, nil
}

func (f *fake) ProcessingTimes(ctx context.Context, _ cola.Caller, p cola.ProcessingTimeParams) (registry.List[cola.ProcessingTime], cola.QuotaState, error) {
	q, err := p.Normalize()
	return rowsFor(ctx, f, err, filterRows(f.times, func(t cola.ProcessingTime) bool {
		return equal(q.Commodity, t.Commodity)
	})...)
}

func (f *fake) FormulaProcessingTimes(ctx context.Context, _ cola.Caller, p cola.FormulaProcessingTimeParams) (registry.List[cola.FormulaProcessingTime], cola.QuotaState, error) {
	q, err := p.Normalize()
	row := cola.FormulaProcessingTime{Commodity: "Wine", FormulaType: "Formula Approval", SnapshotDate: cola.NewDate(2026, 11, 16)}
	return rowsFor(ctx, f, err, filterRows([]cola.FormulaProcessingTime{row}, func(t cola.FormulaProcessingTime) bool {
		return equal(q.Commodity, t.Commodity) && equal(q.FormulaType, t.FormulaType)
	})...)
}

func (f *fake) RegistrationProcessingTimes(ctx context.Context, _ cola.Caller, p cola.RegistrationProcessingTimeParams) (registry.List[cola.RegistrationProcessingTime], cola.QuotaState, error) {
	_, err := p.Normalize()
	return rowsFor[cola.RegistrationProcessingTime](ctx, f, err)
}

func (f *fake) ProductionReports(ctx context.Context, _ cola.Caller, p cola.ProductionReportParams) (registry.PageList[cola.ProductionReport], cola.QuotaState, error) {
	q, err := p.Normalize()
	l, state, err := rowsFor(ctx, f, err, f.reported(&q)...)
	if err != nil {
		return registry.PageList[cola.ProductionReport]{}, state, err
	}
	rows := l.Rows[:min(len(l.Rows), q.PerPage)]
	return registry.PageList[cola.ProductionReport]{Rows: rows, Meta: cola.PageMeta{Total: len(l.Rows), Page: q.Page, PerPage: q.PerPage, HasMore: len(rows) < len(l.Rows)}, Notes: f.notes}, state, nil
}

func (f *fake) Suggest(ctx context.Context, _ cola.Caller, p cola.SuggestParams) (registry.Suggestions, cola.QuotaState, error) {
	state, err := f.admit(ctx)
	q, invalid := p.Normalize()
	if err == nil {
		err = invalid
	}
	if err != nil {
		return registry.Suggestions{}, state, err
	}
	labels := map[string]int{}
	for i := range f.labels {
		if containsFold(f.labels[i].BrandName, q.Q) && q.Field == cola.SuggestBrand {
			labels[f.labels[i].BrandName]++
		}
	}
	found := []cola.Suggestion{}
	for _, brand := range slices.Sorted(maps.Keys(labels)) {
		found = append(found, cola.Suggestion{Value: brand, Count: labels[brand]})
	}
	return registry.Suggestions{Values: found[:min(len(found), q.Limit)], Notes: f.notes}, state, nil
}

func (f *fake) AVAs(ctx context.Context, _ cola.Caller, p cola.AVAParams) (registry.List[cola.AVA], cola.QuotaState, error) {
	q, err := p.Normalize()
	superseded := f.ava.AVA
	superseded.AVAID, superseded.ValidEndDate = "alexander_valley_19841123", cola.NewDate(2008, 4, 9)
	return rowsFor(ctx, f, err, filterRows([]cola.AVA{superseded, f.ava.AVA}, func(a cola.AVA) bool {
		return (!q.Current || a.IsCurrent(cola.DateOf(now))) && containsFold(a.Name, q.Q) && (q.State == "" || slices.Contains(a.States, q.State))
	})...)
}

func (f *fake) CreateSavedSearch(ctx context.Context, c cola.Caller, p cola.SavedSearchParams) (registry.CreatedSavedSearch, cola.QuotaState, error) {
	state, err := f.admit(ctx)
	if err == nil && !c.Has(cola.ScopeWriteSavedSearches) {
		err = cola.InsufficientScope(cola.ScopeWriteSavedSearches)
	}
	var made cola.SavedSearch
	if err == nil {
		f.created = p
		made, err = p.Normalize(now)
	}
	if err != nil {
		return registry.CreatedSavedSearch{}, state, err
	}
	made.UUID, made.CreatedAt = "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", cola.TimestampOf(now)
	made.DashboardURL = "https://" + testHost + "/saved-searches"
	made.ManageURL = made.DashboardURL + "/" + made.UUID
	if made.Schedule != nil {
		made.Schedule.PausedBecause = f.paused
	}
	return registry.CreatedSavedSearch{Search: made, Repeated: f.repeated}, state, nil
}

func (f *fake) SavedSearches(ctx context.Context, _ cola.Caller, p cola.SavedSearchListParams) (registry.PageList[cola.SavedSearch], cola.QuotaState, error) {
	q, err := p.Normalize()
	l, state, err := rowsFor(ctx, f, err, f.saved...)
	if err != nil {
		return registry.PageList[cola.SavedSearch]{}, state, err
	}
	first := min((q.Page-1)*q.PerPage, len(l.Rows))
	rows := l.Rows[first:min(len(l.Rows), first+q.PerPage)]
	return registry.PageList[cola.SavedSearch]{Rows: rows, Meta: cola.PageMeta{
		Total: len(l.Rows), Page: q.Page, PerPage: q.PerPage, HasMore: first+len(rows) < len(l.Rows),
	}}, state, nil
}

// writing admits a call that changes a saved search and returns the search's index.
func (f *fake) writing(ctx context.Context, c cola.Caller, id string) (i int, state cola.QuotaState, err error) {
	state, err = f.admit(ctx)
	i = slices.IndexFunc(f.saved, func(s cola.SavedSearch) bool { return s.UUID == id })
	switch {
	case err != nil:
	case !c.Has(cola.ScopeWriteSavedSearches):
		err = cola.InsufficientScope(cola.ScopeWriteSavedSearches)
	default:
		f.target = id
		if i < 0 {
			err = cola.Errorf(cola.CodeNotFound, "Your account has no saved search with the id %s.", cola.Quoted(id))
		}
	}
	return i, state, err
}

func (f *fake) ChangeSavedSearch(ctx context.Context, c cola.Caller, id string, p cola.SavedSearchChangeParams) (cola.SavedSearch, cola.QuotaState, error) {
	f.changed = p
	i, state, err := f.writing(ctx, c, id)
	if err != nil {
		return cola.SavedSearch{}, state, err
	}
	changed, err := p.Apply(f.saved[i], now)
	if err == nil {
		f.saved[i] = changed
	}
	return changed, state, err
}

func (f *fake) DeleteSavedSearch(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error) {
	i, state, err := f.writing(ctx, c, id)
	if err == nil {
		f.saved = slices.Delete(f.saved, i, i+1)
	}
	return state, err
}

func (f *fake) Rows(labels []cola.ColaSummary) (rows []cola.ColaRow) {
	rows = []cola.ColaRow{}
	for _, l := range labels {
		row := cola.ColaRow{ColaSummary: l, CompanyName: f.company}
		switch {
		case l.PermitNumber == f.permittee.PermitNumber:
			row.CompanyName, row.ABV, row.VolumeML = f.permittee.CompanyName, f.label.ABV, f.label.Volume
		case l.ClassName == "TABLE RED WINE":
			row.ABV, row.VolumeML = cola.Some(13.5), cola.Some(750.0)
		}
		rows = append(rows, row)
	}
	return rows
}

func (f *fake) Vocabulary(context.Context) (registry.Vocabulary, error) { return f.words, f.err }
