package httpapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/registry"
)

// now is the current time in these tests.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fake is a Service with a few records. Like the real one, it validates parameters with Normalize,
// counts calls toward the rate limit, charges only for returned records, and returns the quota
// state even with an error. Unlike the real one, it also counts calls to Suggest.
type fake struct {
	notes     []string // added to every response type that has notes
	label     cola.Cola
	permittee cola.PermitteeDetail
	ava       cola.AVADetail
	defaults  *cola.DefaultsApplied
	others    cola.OtherGroups

	used  cola.Used
	spent int   // requests counted toward the rate limit
	err   error // error for every call, if set
	blank bool  // failed calls return no quota state
	ready error
	panic any

	overload error // returned by Overloaded
	full     error // returned by Enter
	working  int   // requests between Enter and leave
	entered  int   // successful calls to Enter

	search   cola.ColaSearch        // latest, normalized
	received string                 // latest path value
	created  cola.SavedSearchParams // latest
	repeated bool                   // creations return an earlier result
	listed   cola.SavedSearchPage   // latest, normalized
	changed  cola.SavedSearchChangeParams
	preview  cola.SavedSearchFilters
	deleted  string // latest ID
	sending  sending

	imageReads atomic.Int64        // calls to ImageFile
	file       *registry.ImageFile // file of the first image; nil if it is drawn
	content    []byte              // content of file
	widths     []int               // widths requested from ImageContent
	contentErr error               // error from ImageContent
}

const (
	testKey  = "lar_test"
	testETag = `W/"one"`
)

func newFake() *fake {
	label := cola.Cola{ColaSummary: cola.ColaSummary{
		TTBID: 11054001000049, BrandName: `LENZ <&> "MOSER"`, ProductName: "PRESTIGE", ProductType: vocabulary.Wine,
		ClassName: "TABLE RED WINE", OriginName: "AUSTRIA", PermitNumber: "NJ-I-721", ApplicationStatus: "surrendered",
		ApprovalDate: cola.NewDate(2011, 3, 18),
	}}
	label.Images = []cola.Image{{
		TTBImageID: "11054001000049-1", ContainerPosition: "front", ImageURL: "http://127.0.0.1:8080/images/11054001000049-1",
		WidthPixels: cola.Some(300), HeightPixels: cola.Some(400),
	}}
	label.Barcodes = []cola.Barcode{{BarcodeValue: "036000291452", BarcodeType: "UPC-A", TTBImageID: "11054001000049-1"}}
	label.ABV = cola.Some(12.5)
	label.Derive()
	f := &fake{label: label, sending: newSending()}
	f.permittee = cola.PermitteeDetail{
		PermitteeSummary: cola.PermitteeSummary{
			PermitNumber:            "NJ-I-721",
			CompanyName:             "NIEDERHOFF IMPORTS INC",
			Colas:                   1,
			LastColaApplicationDate: cola.NewDate(2011, 2, 23),
		},
		RecentColas: []cola.ColaSummary{label.ColaSummary},
	}
	f.ava = cola.AVADetail{
		AVA:        cola.AVA{AVAID: "alexander_valley", Name: "Alexander Valley", States: []string{"CA"}, Counties: []string{"Sonoma"}},
		ParentAVAs: []string{"North Coast"}, ChildAVAs: []string{}, CFRIndex: "9.53",
	}
	f.others = cola.OtherGroups{Groups: cola.Some(2), Labels: 5}
	f.defaults = &cola.DefaultsApplied{DateRange: true, DateFrom: cola.NewDate(2025, 11, 20)}
	return f
}

func (f *fake) state() cola.QuotaState {
	return cola.QuotaState{Tier: cola.TierFree, Period: cola.PeriodOf(now), Limits: cola.TierFree.Limits(), Used: f.used}
}

// charge spends units and returns the resulting state.
func (f *fake) charge(m cola.Meter, units int) cola.QuotaState {
	switch m {
	case cola.MeterDetailViews:
		f.used.DetailViews += units
	case cola.MeterListRecords:
		f.used.ListRecords += units
	}
	state := f.state()
	state.Charged = units
	return state
}

// admit runs the checks common to all calls.
func (f *fake) admit() (cola.QuotaState, error) {
	if f.panic != nil {
		panic(f.panic)
	}
	f.spent++
	if f.err != nil && f.blank {
		return cola.QuotaState{}, f.err
	}
	return f.state(), f.err
}

func (f *fake) Overloaded() error { return f.overload }

func (f *fake) Enter(context.Context) (leave func(), err error) {
	if f.full != nil {
		return nil, f.full
	}
	f.entered++
	f.working++
	return func() { f.working-- }, nil
}

func (f *fake) Refuse(ctx context.Context, _ cola.Caller, refusal error) (cola.QuotaState, error) {
	if err := ctx.Err(); err != nil {
		return cola.QuotaState{}, err
	}
	state, err := f.admit()
	if err != nil {
		return state, err
	}
	return state, refusal
}

func (f *fake) SearchColas(_ context.Context, _ cola.Caller, p cola.SearchParams) (registry.ColaPage, cola.QuotaState, error) {
	state, err := f.admit()
	if err != nil {
		return registry.ColaPage{}, state, err
	}
	if f.search, err = p.Normalize(now); err != nil {
		return registry.ColaPage{}, state, err
	}
	return registry.ColaPage{
		Colas:      []cola.ColaSummary{f.label.ColaSummary},
		Pagination: cola.Pagination{Mode: "offset", Page: 1, PerPage: 20, Total: 41, Pages: 3, HasMore: true, NextCursor: "AQAB"},
		Defaults:   f.defaults,
	}, f.charge(cola.MeterListRecords, 1), nil
}

func (f *fake) Rows(labels []cola.ColaSummary) (rows []cola.ColaRow) {
	for _, l := range labels {
		rows = append(rows, cola.ColaRow{ColaSummary: l, CompanyName: "KNOWN", ABV: cola.Some(12.5)})
	}
	return rows
}

func (f *fake) CountColas(_ context.Context, _ cola.Caller, p cola.CountParams) (registry.ColaCounts, cola.QuotaState, error) {
	state, err := f.admit()
	if err != nil {
		return registry.ColaCounts{}, state, err
	}
	s, err := p.Normalize(now)
	if err != nil {
		return registry.ColaCounts{}, state, err
	}
	f.search = s.ColaSearch
	known, unknown := cola.LabelGroup{Count: 3}, cola.LabelGroup{Count: 1}
	for _, dimension := range s.GroupBy {
		known.Set(dimension, "known")
		unknown.Set(dimension, "")
	}
	return registry.ColaCounts{
		GroupBy: s.GroupBy,
		Groups:  []cola.LabelGroup{known, unknown}, Total: 9, Others: f.others,
		Defaults: f.defaults,
	}, f.charge(cola.MeterListRecords, 1), nil
}

// tagged returns a record if the requested identifier matches.
func tagged[T any](f *fake, want, got, ifNoneMatch string, value T, m cola.Meter) (registry.Tagged[T], cola.QuotaState, error) {
	state, err := f.admit()
	f.received = got
	switch {
	case err != nil:
		return registry.Tagged[T]{}, state, err
	case got != want:
		return registry.Tagged[T]{}, state, cola.Errorf(cola.CodeNotFound, "No record has the ID %s.", cola.Quoted(got))
	case ifNoneMatch == testETag:
		return registry.Tagged[T]{ETag: testETag, NotModified: true}, state, nil
	}
	units := 1
	if m == cola.MeterNone {
		units = 0
	}
	return registry.Tagged[T]{Value: value, ETag: testETag}, f.charge(m, units), nil
}

func (f *fake) Cola(_ context.Context, _ cola.Caller, id, ifNoneMatch string) (registry.Tagged[cola.Cola], cola.QuotaState, error) {
	return tagged(f, f.label.TTBID.String(), id, ifNoneMatch, f.label, cola.MeterDetailViews)
}

func (f *fake) Permittee(_ context.Context, _ cola.Caller, number, ifNoneMatch string) (registry.Tagged[cola.PermitteeDetail], cola.QuotaState, error) {
	return tagged(f, f.permittee.PermitNumber, number, ifNoneMatch, f.permittee, cola.MeterDetailViews)
}

func (f *fake) AVA(_ context.Context, _ cola.Caller, id, ifNoneMatch string) (registry.Tagged[cola.AVADetail], cola.QuotaState, error) {
	return tagged(f, f.ava.AVAID, id, ifNoneMatch, f.ava, cola.MeterNone)
}

func (f *fake) SearchBrands(_ context.Context, _ cola.Caller, p cola.BrandParams) (registry.BrandPage, cola.QuotaState, error) {
	state, err := f.admit()
	if err == nil {
		_, err = p.Normalize()
	}
	if err != nil {
		return registry.BrandPage{}, state, err
	}
	example := exampleBrands()
	return registry.BrandPage{
		Brands: example.Data[:1], Notes: example.Notes,
		Pagination: cola.Pagination{Mode: "offset", Page: 1, PerPage: 20, Total: 1, Pages: 1},
	}, f.charge(cola.MeterListRecords, 1), nil
}

func (f *fake) SearchPermittees(_ context.Context, _ cola.Caller, p cola.PermitteeParams) (registry.PermitteePage, cola.QuotaState, error) {
	state, err := f.admit()
	if err == nil {
		_, err = p.Normalize(now)
	}
	if err != nil {
		return registry.PermitteePage{}, state, err
	}
	return registry.PermitteePage{
		Permittees: []cola.PermitteeSummary{f.permittee.PermitteeSummary},
		Pagination: cola.Pagination{Mode: "offset", Page: 1, PerPage: 20, Total: 1, Pages: 1},
	}, f.charge(cola.MeterListRecords, 1), nil
}

func (f *fake) Barcode(_ context.Context, _ cola.Caller, value string) (cola.BarcodeResult, cola.QuotaState, error) {
	t, state, err := tagged(f, "036000291452", value, "", cola.BarcodeResult{}, cola.MeterNone)
	if err != nil {
		return t.Value, state, err
	}
	return cola.BarcodeResult{BarcodeValue: value, BarcodeType: "UPC-A", Colas: []cola.ColaSummary{f.label.ColaSummary}, TotalColas: 1}, f.charge(cola.MeterListRecords, 1), nil
}

func (f *fake) Coverage(context.Context, cola.Caller) (cola.Coverage, cola.QuotaState, error) {
	state, err := f.admit()
	return exampleCoverage(), state, err
}

func (f *fake) Usage(context.Context, cola.Caller) (cola.UsageStats, cola.QuotaState, error) {
	state, err := f.admit()
	return state.Stats(), state, err
}

// rowsFor returns a reference list with the given rows, or the error for invalid parameters.
func rowsFor[T any](f *fake, invalid error, rows ...T) (registry.List[T], cola.QuotaState, error) {
	state, err := f.admit()
	if err == nil {
		err = invalid
	}
	if err != nil {
		return registry.List[T]{}, state, err
	}
	return registry.List[T]{Rows: rows, Meta: cola.Meta{Total: len(rows)}}, state, nil
}

func (f *fake) ProcessingTimes(_ context.Context, _ cola.Caller, p cola.ProcessingTimeParams) (registry.List[cola.ProcessingTime], cola.QuotaState, error) {
	_, err := p.Normalize()
	return rowsFor(f, err, cola.ProcessingTime{Commodity: "Wine", SnapshotDate: cola.NewDate(2025, 6, 30), TurnaroundDaysMedian: cola.Some(4)})
}

func (f *fake) FormulaProcessingTimes(_ context.Context, _ cola.Caller, p cola.FormulaProcessingTimeParams) (registry.List[cola.FormulaProcessingTime], cola.QuotaState, error) {
	_, err := p.Normalize()
	return rowsFor(f, err, cola.FormulaProcessingTime{Commodity: "Wine", FormulaType: "Formula Approval", SnapshotDate: cola.NewDate(2025, 6, 30)})
}

func (f *fake) RegistrationProcessingTimes(_ context.Context, _ cola.Caller, p cola.RegistrationProcessingTimeParams) (registry.List[cola.RegistrationProcessingTime], cola.QuotaState, error) {
	_, err := p.Normalize()
	return rowsFor[cola.RegistrationProcessingTime](f, err) // no rows: an empty array, never null
}

func (f *fake) ProductionReports(_ context.Context, _ cola.Caller, p cola.ProductionReportParams) (registry.PageList[cola.ProductionReport], cola.QuotaState, error) {
	_, err := p.Normalize()
	l, state, err := rowsFor(f, err, cola.ProductionReport{
		Commodity: "Beer", ReportType: "monthly", Year: 2019, MonthNumber: cola.Some(3), ReportDate: cola.NewDate(2019, 3, 31), IsRedacted: true,
	})
	return registry.PageList[cola.ProductionReport]{Rows: l.Rows, Meta: cola.PageMeta{Total: 1, Page: 1, PerPage: 20}}, state, err
}

func (f *fake) Suggest(_ context.Context, _ cola.Caller, p cola.SuggestParams) (registry.Suggestions, cola.QuotaState, error) {
	state, err := f.admit()
	if err == nil {
		_, err = p.Normalize()
	}
	if err != nil {
		return registry.Suggestions{}, state, err
	}
	return registry.Suggestions{Values: []cola.Suggestion{{Value: f.label.BrandName, Count: 1}}}, state, nil
}

func (f *fake) AVAs(_ context.Context, _ cola.Caller, p cola.AVAParams) (registry.List[cola.AVA], cola.QuotaState, error) {
	_, err := p.Normalize()
	return rowsFor(f, err, f.ava.AVA)
}

func (f *fake) LabelOfImage(id string) (cola.TTBID, error) {
	if number, _, _ := strings.Cut(id, "-"); number != f.label.TTBID.String() {
		return 0, cola.Errorf(cola.CodeNotFound, "There is no image %s.", cola.Quoted(id))
	}
	return f.label.TTBID, nil
}

func (f *fake) ImageFile(_ context.Context, id string) (registry.ImageFile, error) {
	f.imageReads.Add(1)
	if f.err != nil {
		return registry.ImageFile{}, f.err
	}
	if f.file == nil || id != f.label.Images[0].TTBImageID {
		return registry.ImageFile{}, cola.Errorf(cola.CodeNotFound, "No file is stored for %s.", cola.Quoted(id))
	}
	return *f.file, nil
}

func (f *fake) ImageContent(_ context.Context, file registry.ImageFile, width int) ([]byte, error) {
	f.widths = append(f.widths, width)
	if f.contentErr != nil {
		return nil, f.contentErr
	}
	return f.content, nil
}

func (f *fake) DrawableImage(_ context.Context, id string) (cola.Cola, cola.Image, error) {
	if f.err != nil {
		return cola.Cola{}, cola.Image{}, f.err
	}
	if id != f.label.Images[0].TTBImageID {
		return cola.Cola{}, cola.Image{}, cola.Errorf(cola.CodeNotFound, "There is no image %s.", cola.Quoted(id))
	}
	return f.label, f.label.Images[0], nil
}

func (f *fake) Ready(context.Context) error { return f.ready }

// keys is an Authenticator with one valid key and one access token without scopes.
type keys struct{ err error }

const testToken = "token"

func (k keys) Authenticate(_ context.Context, h http.Header, ch cola.Channel) (cola.Caller, error) {
	if k.err != nil {
		return cola.Caller{}, k.err
	}
	if h.Get("Authorization") == "Bearer "+testToken {
		return cola.Caller{Account: 7, Credential: cola.Credential{Kind: cola.CredentialLink, ID: 1}, Channel: ch}, nil
	}
	if h.Get("X-Api-Key") != testKey && h.Get("Authorization") != "Bearer "+testKey {
		return cola.Caller{}, cola.Errorf(cola.CodeUnauthorized, "The API key is not known.")
	}
	return cola.Caller{Account: 7, Credential: cola.Credential{Kind: cola.CredentialKey, ID: 3}, Channel: ch, Scopes: cola.Scopes()}, nil
}

// mustServe returns the handler for a service. The log goes to out.
func mustServe(t testing.TB, svc Service, out io.Writer) http.Handler {
	t.Helper()
	return New(svc, keys{}, Options{
		PublicURL: "http://127.0.0.1:8080", Version: "test",
		Logger: slog.New(slog.NewJSONHandler(out, nil)),
	})
}

// get sends a request with the test key. Header lines ("Name: value") are added to the defaults; a
// line without a value ("Name: ") removes the header.
func get(t *testing.T, h http.Handler, target string, lines ...string) *http.Response {
	t.Helper()
	return send(t, h, http.MethodGet, target, append([]string{"X-API-Key: " + testKey}, lines...)...)
}

func send(t *testing.T, h http.Handler, method, target string, lines ...string) *http.Response {
	t.Helper()
	return sendBody(t, h, method, target, nil, lines...)
}

// post sends a JSON body with the test key. Header lines work as in get.
func post(t *testing.T, h http.Handler, target, body string, lines ...string) *http.Response {
	t.Helper()
	return write(t, h, http.MethodPost, target, body, lines...)
}

// write is post with any method and an optional body.
func write(t *testing.T, h http.Handler, method, target, body string, lines ...string) *http.Response {
	t.Helper()
	headers := []string{"X-API-Key: " + testKey}
	if body != "" {
		headers = append(headers, "Content-Type: application/json")
	}
	return sendBody(t, h, method, target, strings.NewReader(body), append(headers, lines...)...)
}

// ask sends an operation's request, with its example body if it has one.
func ask(t *testing.T, h http.Handler, op *operation, target string, lines ...string) *http.Response {
	t.Helper()
	body := ""
	if op.Body != nil {
		body = string(mustEncodeJSON(op.Body.Example))
	}
	return write(t, h, op.method(), target, body, lines...)
}

func sendBody(t *testing.T, h http.Handler, method, target string, body io.Reader, lines ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, body)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		if value == "" {
			r.Header.Del(name)
			continue
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func mustRead(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var errBroken = errors.New("disk full of secrets")
