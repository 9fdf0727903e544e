package postgres

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"

	"github.com/colaregistry/colaregistry/cola"
)

// inBinary returns a value as the server sends it.
func inBinary(t interface{ Fatal(...any) }, oid uint32, value any) []byte {
	raw, err := pgtype.NewMap().Encode(oid, pgtype.BinaryFormatCode, value, nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestColumnsRoundTrip: what a field holds survives being a column.
func TestColumnsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.String()).Draw(t, "list")
		date := cola.Date(rapid.Int32Range(1, 3652059).Draw(t, "date")) // 0001-01-01 to 9999-12-31
		at := time.UnixMicro(rapid.Int64Range(-6e16, 2e17).Draw(t, "instant")).UTC()
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
			{&got.list, pgtype.TextArrayOID, list}, {&got.date, pgtype.DateOID, encode(&date)}, {&got.at, pgtype.TimestamptzOID, encode(&at)},
			{&got.times, pgtype.TimestamptzArrayOID, []time.Time{at, at}}, {&got.number, pgtype.Float8OID, number},
			{&got.count, pgtype.Int4OID, count}, {&got.counts, pgtype.Int8ArrayOID, []int32{count, -count}},
		} {
			if err := decode(c.field, inBinary(t, c.oid, c.value)); err != nil {
				t.Fatalf("%T: %v", c.field, err)
			}
		}
		for what, diff := range map[string]string{
			"list": cmp.Diff(list, got.list), "date": cmp.Diff(date, got.date), "instant": cmp.Diff(at, got.at),
			"instants": cmp.Diff([]time.Time{at, at}, got.times), "number": cmp.Diff(cola.Some(number), got.number),
			"count": cmp.Diff(int(count), got.count), "counts": cmp.Diff([]int{int(count), int(-count)}, got.counts),
		} {
			if diff != "" {
				t.Fatalf("%s (-want +got):\n%s", what, diff)
			}
		}
	})
}

// TestWrongColumns: a value that a field cannot hold is an error, not a zero.
func TestWrongColumns(t *testing.T) {
	var n int
	var date cola.Date
	var at time.Time
	var list []string
	var known cola.Opt[float64]
	var truth bool
	infinite := pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	for name, c := range map[string]struct {
		field any
		raw   []byte
	}{
		"text as a number":          {&n, []byte("1")},
		"NULL as a truth":           {&truth, nil},
		"a number as a truth":       {&truth, inBinary(t, pgtype.Int4OID, int32(1))},
		"text as a date":            {&date, []byte("2024-01-02")},
		"an instant as a date":      {&date, inBinary(t, pgtype.TimestamptzOID, time.Now())},
		"a date as an instant":      {&at, inBinary(t, pgtype.DateOID, time.Now())},
		"the end of time":           {&at, inBinary(t, pgtype.TimestamptzOID, infinite)},
		"the last day":              {&date, inBinary(t, pgtype.DateOID, pgtype.Date{InfinityModifier: pgtype.NegativeInfinity, Valid: true})},
		"a short number":            {&known, inBinary(t, pgtype.Float4OID, float32(1))},
		"text as a list":            {&list, []byte(`{"a"}`)},
		"a list cut off":            {&list, inBinary(t, pgtype.TextArrayOID, []string{"abc"})[:22]},
		"a list with NULL":          {&list, inBinary(t, pgtype.TextArrayOID, []*string{nil})},
		"a list of lists":           {&list, inBinary(t, pgtype.TextArrayOID, [][]string{{"a"}})},
		"something of unknown type": {&struct{}{}, inBinary(t, pgtype.Int4OID, int32(1))},
	} {
		if err := decode(c.field, c.raw); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
