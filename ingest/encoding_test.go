package ingest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
)

// mustWrite writes a file and returns its path.
func mustWrite(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstded(t *testing.T, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return string(w.EncodeAll([]byte(text), nil))
}

func asUTF16(t *testing.T, text string, order unicode.Endianness, bom unicode.BOMPolicy) string {
	t.Helper()
	s, err := unicode.UTF16(order, bom).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEncodings(t *testing.T) {
	text := `{` + strings.Replace(newRow, `"A"`, `"CHÂTEAU"`, 1) + "}\n"
	for name, content := range map[string]string{
		"plain":              text,
		"byte order mark":    "\ufeff" + text,
		"UTF-16LE, marked":   asUTF16(t, text, unicode.LittleEndian, unicode.UseBOM),
		"UTF-16BE, marked":   asUTF16(t, text, unicode.BigEndian, unicode.UseBOM),
		"UTF-16LE, unmarked": asUTF16(t, text, unicode.LittleEndian, unicode.IgnoreBOM),
		"UTF-16BE, unmarked": asUTF16(t, text, unicode.BigEndian, unicode.IgnoreBOM),
		"gzip":               gzipped(t, text),
		"gzip, two members":  gzipped(t, "\n") + gzipped(t, text),
		"gzip of UTF-16":     gzipped(t, asUTF16(t, text, unicode.LittleEndian, unicode.UseBOM)),
		"zstd":               zstded(t, text),
		"CSV in UTF-16": asUTF16(t, "ttb_id,brand_name,product_type,permit_number\n24001001000001,CHÂTEAU,wine,CA-W-1\n",
			unicode.LittleEndian, unicode.UseBOM),
		"text sequence": "\x1e" + text + "\x1e" + text,
	} {
		t.Run(name, func(t *testing.T) {
			st := newFakeStore()
			if mustImport(t, st, Colas, FileSource(mustWrite(t, content))); st.colas[theID].BrandName != "CHÂTEAU" {
				t.Errorf("stored labels = %+v, want brand CHÂTEAU", st.colas)
			}
		})
	}
}

func TestInvalidSources(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"workbook":        {"PK\x03\x04....", "Excel workbook"},
		"empty archive":   {"PK\x05\x06" + strings.Repeat("\x00", 18), "empty ZIP archive"},
		"error page":      {"\r\n<!DOCTYPE html><html>", "HTML"},
		"binary":          {"abc\x00\x01\x02", "binary data"},
		"database":        {"SQLite format 3\x00", "SQLite database"},
		"no header":       {"24001001000001,A,wine,CA-W-1\n", "ttb_id column"},
		"unknown columns": {"ttb id^brand name\n", "ttb_id column"},
		"permit list":     {"Permit_Number;Owner_Name\n", "as permittees"},
		"statistics":      {"Year,Statistical_Group\n", "as production-reports"},
		"formula times":   {"application_type,processing_new\n", "as formula-processing-times"},
		"label times":     {colaStatsXML, "as processing-times"},
		"damaged gzip":    {"\x1f\x8b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "damaged gzip data"},
		"damaged zstd":    {"\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff", "damaged zstd data"},
		"truncated gzip":  {gzipped(t, labelRows(3000))[:2000], "gzip"},
		"truncated zstd":  {zstded(t, labelRows(3000))[:2000], "zstd"},
		"nested gzip":     {gzipped(t, gzipped(t, "x")), "binary data"},
		"broken checksum": {breakEnd(gzipped(t, labelRow(1))), "damaged gzip data"},
	} {
		t.Run(name, func(t *testing.T) {
			st := newFakeStore()
			report, err := Import(t.Context(), st, Colas, texts(test.content), Options{})
			var failure *SourceError
			if !errors.As(err, &failure) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error = %v, want %q", err, test.want)
			}
			if report.Added != len(st.colas) || report.Rejected > 0 {
				t.Errorf("report = %s, %d labels stored", report.Summary(), len(st.colas))
			}
		})
	}
}

// breakEnd corrupts the length and checksum at the end of compressed data.
func breakEnd(s string) string { return s[:len(s)-6] + "\x01\x02\x03\x04\x05\x06" }

// TestTruncatedGzip checks that the complete rows of a truncated gzip file are stored.
func TestTruncatedGzip(t *testing.T) {
	whole := gzipped(t, labelRows(3000))
	st := newFakeStore()
	report, err := Import(t.Context(), st, Colas, texts(whole[:len(whole)/2]), Options{})
	if err == nil || report.Added < 100 || report.Added > 2900 || report.Rejected != 0 || len(st.colas) != report.Added {
		t.Errorf("error = %v, report = %s; want an error after some labels", err, report.Summary())
	}
}
