package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/colaregistry/colaregistry/internal/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// texts returns sources with the given contents, named "-", "2", "3" and so on.
func texts(contents ...string) []Source {
	var sources []Source
	for i, content := range contents {
		name := "-"
		if i > 0 {
			name = fmt.Sprint(i + 1)
		}
		sources = append(sources, ReaderSource(name, strings.NewReader(content)))
	}
	return sources
}

// labelRow returns the JSON line for the nth label.
func labelRow(n int) string {
	return fmt.Sprintf(`{"ttb_id":"%d","brand_name":"BRAND %d","product_type":"wine","permit_number":"CA-W-1","approval_date":"2024-01-01"}`+"\n",
		24001001000000+n, n)
}

func labelRows(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(labelRow(i))
	}
	return b.String()
}

func TestImportDuplicateRows(t *testing.T) {
	const id = `{"ttb_id":"24001001000001",`
	text := `{` + newRow + "}\n" + id + `"brand_name":"B"}` + "\n" + id + `"brand_name":"B"}` + "\n" + id + `"brand_name":"C","approval_date":"2024-01-01"}` + "\n"
	st := newFakeStore()
	report := mustImport(t, st, Colas, texts(text)...)
	if report.Counts != (Counts{Read: 4, Added: 1, Changed: 2, Unchanged: 1}) || st.colas[theID].BrandName != "C" || report.Undated != 0 {
		t.Errorf("report = %s, undated = %d, brand = %s", report.Summary(), report.Undated, st.colas[theID].BrandName)
	}
	report = mustImport(t, st, Colas, texts(id+`"brand_name":"C"}`+"\n"+id+`"approval_date":null}`)...)
	if report.Undated != 1 {
		t.Errorf("undated = %d after the date was cleared, want 1", report.Undated)
	}
}

func TestImportOrder(t *testing.T) {
	const labels = 4000
	st := newFakeStore()
	text := labelRows(labels) + "oops\n" + strings.ReplaceAll(labelRows(labels), "BRAND", "LATER")
	report, err := Import(t.Context(), st, Colas, texts(text), Options{Workers: 4})
	if !errors.Is(err, ErrRejected) {
		t.Error(err)
	}
	if report.Counts != (Counts{Read: 2*labels + 1, Added: labels, Changed: labels, Rejected: 1}) || report.Rejections[0].Line != labels+1 {
		t.Errorf("report = %s %v, want one rejected row", report.Summary(), report.Rejections)
	}
	for id, label := range st.colas {
		if !strings.HasPrefix(label.BrandName, "LATER") {
			t.Fatalf("label %s = %s, want the later row", id, label.BrandName)
		}
	}
}

func TestImportDryRun(t *testing.T) {
	st := newFakeStore()
	mustImport(t, st, Colas, texts(labelRows(2))...)
	text := labelRow(0) + strings.Replace(labelRow(1), "BRAND", "NEW", 1) + labelRow(2) + `{"ttb_id":"24001001000009"}`
	report, err := Import(t.Context(), st, Colas, texts(text), Options{DryRun: true, SkipInvalid: true})
	if err != nil || report.Counts != (Counts{Read: 4, Added: 1, Changed: 1, Unchanged: 1, Rejected: 1}) {
		t.Errorf("error = %v, report = %s", err, report.Summary())
	}
	if len(st.colas) != 2 || st.colas[24001001000001].BrandName != "BRAND 1" {
		t.Errorf("dry run changed the store: %v", st.colas)
	}
}

func TestImportBrokenSource(t *testing.T) {
	array := "[" + strings.ReplaceAll(strings.TrimSpace(labelRows(600)), "\n", ",\n") + ",\n{\"ttb_id\":"
	missing := FileSource(t.TempDir() + "/no.jsonl")
	folder := FileSource(t.TempDir())
	sources := append(texts(array, labelRow(1000)), missing, folder)
	st := newFakeStore()
	report, err := Import(t.Context(), st, Colas, sources, Options{})
	if report.Counts != (Counts{Read: 601, Added: 601}) || len(st.colas) != 601 {
		t.Errorf("report = %s, want the rows before the failure and the other source stored", report.Summary())
	}
	var failure *SourceError
	if !errors.As(err, &failure) || failure.Source != "-" || failure.Line != 601 || !errors.Is(err, errCutOff) || len(report.Failures) != 3 {
		t.Errorf("error = %v, failures = %v", err, report.Failures)
	}
	for _, want := range []string{"no.jsonl", "has no files to import"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q in it", err, want)
		}
	}
}

func TestImportStoreError(t *testing.T) {
	st := newFakeStore()
	st.failAt, st.err = 2, errors.New("disk full")
	report, err := Import(t.Context(), st, Colas, texts(labelRows(5*batchRows), labelRow(9999)), Options{})
	if !errors.Is(err, st.err) || !strings.Contains(err.Error(), "rows of -") {
		t.Error(err)
	}
	stored := batchRows + batchRows/2
	if report.Counts != (Counts{Read: stored, Added: stored}) || len(st.colas) != stored {
		t.Errorf("report = %s, %d labels stored, want %d", report.Summary(), len(st.colas), stored)
	}
}

func TestImportCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	st := newFakeStore()
	st.onBatch = func(n, _ int) {
		if n == 2 {
			cancel() // while the batch is being written
		}
	}
	report, err := Import(ctx, st, Colas, texts(labelRows(20*batchRows)), Options{})
	if !errors.Is(err, context.Canceled) || report.Counts != (Counts{Read: 2 * batchRows, Added: 2 * batchRows}) || len(st.colas) != 2*batchRows {
		t.Errorf("error = %v, report = %s; want context.Canceled after two batches", err, report.Summary())
	}
}

// TestImportCanceledWhileWaiting checks that an import waiting for input ends when it is canceled.
func TestImportCanceledWhileWaiting(t *testing.T) {
	for _, content := range []string{"", labelRows(batchRows) + `{"ttb_id":`} {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		sentAll := make(chan struct{})
		go func() {
			io.WriteString(w, content)
			close(sentAll)
		}()
		opts := Options{Progress: func(p Progress) {
			if !p.Done {
				cancel()
			}
		}}
		if content == "" {
			cancel()
		}
		report, err := Import(ctx, newFakeStore(), Colas, []Source{ReaderSource("-", r)}, opts)
		if !errors.Is(err, context.Canceled) || report.Read != report.Added || report.Read > batchRows {
			t.Errorf("error = %v, report = %s; want context.Canceled within a batch", err, report.Summary())
		}
		<-sentAll
	}
}

func TestImportProgress(t *testing.T) {
	var seen []Progress
	opts := Options{Progress: func(p Progress) { seen = append(seen, p) }}
	path := mustWrite(t, labelRows(2*batchRows+1))
	sources := append([]Source{FileSource(path)}, texts(labelRow(1))...)
	if _, err := Import(t.Context(), newFakeStore(), Colas, sources, opts); err != nil {
		t.Fatal(err)
	}
	var rows []int
	for i, p := range seen {
		rows = append(rows, p.Read)
		if p.Sources != 2 || p.Source != sources[p.Index].Name || p.BytesTotal != sources[p.Index].Size {
			t.Errorf("progress %d = %+v", i, p)
		}
		if p.Done && p.Index == 0 && p.BytesRead != p.BytesTotal {
			t.Errorf("at the end: %d of %d bytes", p.BytesRead, p.BytesTotal)
		}
	}
	if diff := cmp.Diff([]int{batchRows, 2 * batchRows, 2*batchRows + 1, 2*batchRows + 2}, rows); diff != "" || !seen[2].Done || !seen[3].Done {
		t.Errorf("progress = %+v (-want +got):\n%s", seen, diff)
	}
}

func TestImportRejectionLimit(t *testing.T) {
	text := labelRow(1) + strings.Repeat("{\"ttb_id\":1}\n", maxRejections+234)
	report, err := Import(t.Context(), newFakeStore(), Colas, texts(text), Options{})
	if !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "1234 of 1235 rows were rejected") {
		t.Error(err)
	}
	if report.Rejected != maxRejections+234 || len(report.Rejections) != maxRejections {
		t.Errorf("%d rejected, %d listed", report.Rejected, len(report.Rejections))
	}
}

// TestReportReasons checks that rejected rows are grouped by reason, with examples.
func TestReportReasons(t *testing.T) {
	text := labelRow(1) + strings.Repeat("{\"ttb_id\":1}\n", 4) + strings.Repeat("oops\n", maxRejections+1)
	for i := range 5 {
		text += fmt.Sprintf("{\"ttb_id\":\"2400100100000%d\",\"product_type\":\"x%d\"}\n", i, i)
	}
	text += "{\"brand_name\":\"A\"}\n"
	reports := golden.Load(t, "report_reasons")
	for name, rejects := range map[string]io.Writer{"grouped": nil, "grouped, all written": io.Discard} {
		report, err := Import(t.Context(), newFakeStore(), Colas, texts(text), Options{Rejects: rejects})
		if !errors.Is(err, ErrRejected) {
			t.Error(err)
		}
		var b strings.Builder
		if _, err := report.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		reports.Check(t, name, strings.Split(b.String(), "\n"))
	}
	var many Report
	for i := range maxReasons + 7 {
		many.reject(Rejection{Reason: strings.Repeat("x", i)})
	}
	if len(many.reasons.list) != maxReasons || many.reasons.other != 7 {
		t.Errorf("%d reasons and %d other rows, want %d and 7", len(many.reasons.list), many.reasons.other, maxReasons)
	}
}

// TestReasonWithZeroByte checks that a zero byte in a reason is not mistaken for a number or quoted
// value.
func TestReasonWithZeroByte(t *testing.T) {
	var report Report
	for _, reason := range []string{"a\x00b", "a1b", "a2b", `a"x"b`, "a10b", `a1"x"b`} {
		report.reject(Rejection{Reason: reason})
	}
	var rows []int
	for _, count := range report.reasons.list {
		rows = append(rows, count.rows)
	}
	if want := []int{1, 4, 1}; !slices.Equal(rows, want) {
		t.Errorf("rows by reason = %v, want %v", rows, want)
	}
}

// TestDuplicates checks that an ID repeated within a source causes a warning, and that one repeated
// in another source does not.
func TestDuplicates(t *testing.T) {
	text := labelRows(70) + labelRow(3) + labelRow(69) + labelRow(3) + labelRow(5)
	report := mustImport(t, newFakeStore(), Colas, texts(text, labelRow(3))...)
	if len(report.Warnings) != 1 || report.Warnings[0].Rows != 4 || report.Warnings[0].Source != "-" {
		t.Fatalf("warnings = %v, want one about 4 rows", report.Warnings)
	}
	for _, want := range []string{"24001001000003 on line 71", "24001001000069 on line 72", "24001001000003 on line 73"} {
		if !strings.Contains(report.Warnings[0].Message, want) {
			t.Errorf("warning %q has no example %q", report.Warnings[0].Message, want)
		}
	}
}

func TestReportWriteTo(t *testing.T) {
	text := labelRow(1) + `{"ttb_id":"24001001000002"}` + "\n" + strings.Replace(labelRow(3), "brand_name", "brandname", 1) +
		strings.Replace(labelRow(4), `"2024-01-01"`, "null", 1)
	report, err := Import(t.Context(), newFakeStore(), Colas, texts(text, "[1"), Options{DryRun: true})
	if err == nil {
		t.Error("Import succeeded with a truncated source and rejected rows, want an error")
	}
	var b strings.Builder
	n, err := report.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Errorf("WriteTo = %d, length = %d, %v", n, b.Len(), err)
	}
	golden.Load(t, "report").Check(t, "report", strings.Split(b.String(), "\n"))
	long := Report{}
	long.reject(Rejection{Reason: strings.Repeat("É", maxReason)})
	if reason := long.Rejections[0].Reason; len(reason) > maxReason+3 || !strings.HasSuffix(reason, "É…") {
		t.Errorf("reason of %d bytes is not shortened: …%q", len(reason), reason[len(reason)-10:])
	}
}

func TestImportUnknownKind(t *testing.T) {
	_, err := Import(t.Context(), newFakeStore(), "cola", texts(""), Options{})
	if err == nil || !strings.Contains(err.Error(), `did you mean "colas"?`) || !strings.Contains(err.Error(), "category-aliases") {
		t.Error(err)
	}
}

func TestImportEmpty(t *testing.T) {
	for _, kind := range Kinds() {
		report, err := Import(t.Context(), newFakeStore(), kind, texts("[]"), Options{})
		if err != nil || report.Counts != (Counts{}) || len(report.Warnings) != 1 {
			t.Errorf("%s: Import = %v, report = %+v, want a warning about the empty list", kind, err, report)
		}
		for name, content := range map[string]string{
			"empty": "", "blank": " \r\n\n\t", "only a byte order mark": "\ufeff", "compressed": gzipped(t, "\n"),
		} {
			_, err := Import(t.Context(), newFakeStore(), kind, texts(content), Options{SkipInvalid: true})
			if failure := (*SourceError)(nil); !errors.As(err, &failure) || !errors.Is(err, errEmpty) {
				t.Errorf("%s, %s: error = %v, want errEmpty", kind, name, err)
			}
			report, err := Import(t.Context(), newFakeStore(), kind, texts(content), Options{AllowEmpty: true})
			if err != nil || len(report.Warnings) != 1 {
				t.Errorf("%s, %s: allowed: error = %v, warnings = %v, want one", kind, name, err, report.Warnings)
			}
		}
	}
}

// TestImportEmptyAmongOthers checks that an empty source does not affect the others.
func TestImportEmptyAmongOthers(t *testing.T) {
	report, err := Import(t.Context(), newFakeStore(), Colas, texts(labelRow(1), "", labelRow(2)), Options{})
	if !errors.Is(err, errEmpty) || report.Counts != (Counts{Read: 2, Added: 2}) || len(report.Failures) != 1 || report.Failures[0].Source != "2" {
		t.Errorf("error = %v, report = %s, failures = %v", err, report.Summary(), report.Failures)
	}
}

// TestImportUndated checks that a label is read only if neither the row nor the outcome
// shows whether it has a date.
func TestImportUndated(t *testing.T) {
	st := newFakeStore()
	mustImport(t, st, Colas, texts(labelRows(50))...)
	mustImport(t, st, Colas, texts(`{`+newRow+`}`)...)
	if st.reads != 1 {
		t.Errorf("%d lookups, want 1", st.reads)
	}
}

// TestImportEstimated checks which labels count as having an estimated date, and that an import
// accepts the fields that the API computes.
func TestImportEstimated(t *testing.T) {
	undated := strings.Replace(labelRow(1), `"2024-01-01"`, `null,"approval_date_estimate":"2024-05-05","date_is_estimated":true`, 1)
	future := strings.Replace(undated, "24001001000001", "24002001000001", 1)
	impossible := strings.Replace(undated, "24001001000001", "24999001000001", 1)
	now := func() time.Time { return time.Date(2024, time.January, 1, 12, 0, 0, 0, time.UTC) }
	report, err := Import(t.Context(), newFakeStore(), Colas, texts(undated+future+impossible), Options{Now: now})
	if err != nil || report.Added != 3 || report.Undated != 3 || report.Estimated != 1 || len(report.Warnings) > 0 {
		t.Errorf("report = %+v, %v; want 3 labels without an approval date, 1 of them with an estimate", report, err)
	}
	dated := strings.Replace(labelRow(1), "BRAND", "LATER", 1)
	report, err = Import(t.Context(), newFakeStore(), Colas, texts(undated+undated+dated+impossible), Options{Now: now})
	if err != nil || report.Undated != 1 || report.Estimated != 0 {
		t.Errorf("report = %+v, %v; want 1 label without a date", report, err)
	}
}
