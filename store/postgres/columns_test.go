package postgres

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// inBinary returns a value in the server's binary format.
func inBinary(t interface{ Fatal(...any) }, oid uint32, value any) []byte {
	raw, err := pgtype.NewMap().Encode(oid, pgtype.BinaryFormatCode, value, nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// scan scans a value of the given type, as sent by the server, into a field.
func scan(field any, oid uint32, raw []byte) error {
	return pgtype.NewMap().Scan(oid, pgtype.BinaryFormatCode, raw, target(field))
}

// TestColumnsRoundTrip checks that field values survive encoding and scanning.
func TestColumnsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.String()).Draw(t, "list")
		date := cola.Date(rapid.Int32Range(1, 3652059).Draw(t, "date")) // 0001-01-01 to 9999-12-31
		at := time.UnixMicro(rapid.Int64Range(-6e16, 2e17).Draw(t, "time")).UTC()
		number := rapid.Float64().Draw(t, "number")
		count := rapid.Int32().Draw(t, "count")
		var got struct {
			list   []string
			date   cola.Date
			at     time.Time
			times  []time.Time
			number cola.Opt[float64]
			count  int
			counts []int
		}
		for _, c := range []struct {
			field any
			oid   uint32
			value any
		}{
			{&got.list, pgtype.TextArrayOID, list}, {&got.date, pgtype.DateOID, encode(&date)},
			{&got.at, pgtype.TimestamptzOID, encode(&at)},
			{&got.times, pgtype.TimestamptzArrayOID, []time.Time{at, at}}, {&got.number, pgtype.Float8OID, number},
			{&got.count, pgtype.Int4OID, count}, {&got.counts, pgtype.Int8ArrayOID, []int32{count, -count}},
		} {
			if err := scan(c.field, c.oid, inBinary(t, c.oid, c.value)); err != nil {
				t.Fatalf("scan into %T: %v", c.field, err)
			}
		}
		for field, diff := range map[string]string{
			"list": cmp.Diff(list, got.list), "date": cmp.Diff(date, got.date), "time": cmp.Diff(at, got.at),
			"times": cmp.Diff([]time.Time{at, at}, got.times), "number": cmp.Diff(cola.Some(number), got.number),
			"count": cmp.Diff(int(count), got.count), "counts": cmp.Diff([]int{int(count), int(-count)}, got.counts),
		} {
			if diff != "" {
				t.Fatalf("%s (-want +got):\n%s", field, diff)
			}
		}
	})
}

// TestWrongColumns checks that a value that does not fit a field is an error, not a zero.
func TestWrongColumns(t *testing.T) {
	var n int
	var date cola.Date
	var at time.Time
	var list []string
	var known cola.Opt[float64]
	var truth bool
	var numbers []int
	var hash store.KeyHash
	infinite := pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	for name, c := range map[string]struct {
		field any
		oid   uint32
		value any // bytes are sent unchanged
	}{
		"text as integer":   {&n, pgtype.TextOID, "1"},
		"truncated integer": {&n, pgtype.Int4OID, []byte("1")},
		"NULL as bool":      {&truth, pgtype.BoolOID, []byte(nil)},
		"integer as bool":   {&truth, pgtype.Int4OID, int32(1)},
		"text as date":      {&date, pgtype.TextOID, "2024-01-02"},
		"time as date":      {&date, pgtype.TimestamptzOID, time.Now()},
		"date as time":      {&at, pgtype.DateOID, time.Now()},
		"infinite time":     {&at, pgtype.TimestamptzOID, infinite},
		"infinite date": {
			&date, pgtype.DateOID,
			pgtype.Date{InfinityModifier: pgtype.NegativeInfinity, Valid: true},
		},
		"integer as float": {&known, pgtype.Int4OID, int32(1)},
		"text as list":     {&list, pgtype.TextArrayOID, []byte(`{"a"}`)},
		"truncated list": {
			&list, pgtype.TextArrayOID,
			inBinary(t, pgtype.TextArrayOID, []string{"abc"})[:22],
		},
		"list with NULL":            {&list, pgtype.TextArrayOID, []*string{nil}},
		"nested list":               {&list, pgtype.TextArrayOID, [][]string{{"a"}}},
		"text list as integer list": {&numbers, pgtype.TextArrayOID, []string{"a"}},
		"short hash":                {&hash, pgtype.ByteaOID, []byte("1234")},
		"unknown field type":        {&struct{}{}, pgtype.Int4OID, int32(1)},
	} {
		raw, ok := c.value.([]byte)
		if !ok {
			raw = inBinary(t, c.oid, c.value)
		}
		if err := scan(c.field, c.oid, raw); err == nil {
			t.Errorf("%s: scan error = nil, want non-nil", name)
		}
	}
}

// TestNullColumns checks that NULL resets a field to its zero value and a list to an empty list.
func TestNullColumns(t *testing.T) {
	text, n, date, at, known, list := "x", 1, cola.Date(1), time.Now(), cola.Some(1.5), []string{"x"}
	hash := &store.FeedHash{}
	for field, oid := range map[any]uint32{
		&text: pgtype.TextOID, &n: pgtype.Int8OID, &date: pgtype.DateOID,
		&at: pgtype.TimestamptzOID, &known: pgtype.Float8OID,
		&list: pgtype.TextArrayOID, &hash: pgtype.ByteaOID,
	} {
		if err := scan(field, oid, nil); err != nil {
			t.Errorf("scan NULL into %T: %v", field, err)
		}
	}
	if text != "" || n != 0 || date != 0 || !at.IsZero() || known.OK || list == nil || len(list) != 0 || hash != nil {
		t.Errorf("NULL scanned as %q, %d, %v, %v, %v, %v, %v; want zero values", text, n, date, at, known, list, hash)
	}
}
