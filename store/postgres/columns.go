package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// values returns what the columns hold for the record they point into.
func values(columns []records.Column) []any {
	list := make([]any, len(columns))
	for i, c := range columns {
		list[i] = encode(c.Field)
	}
	return list
}

// targets returns what to scan a row into.
func targets(columns []records.Column) fields {
	list := make(fields, len(columns))
	for i, c := range columns {
		list[i] = c.Field
	}
	return list
}

// encode returns what a column holds for a field: NULL for what is unknown.
func encode(field any) any { return argument(sqlstore.Value(field)) }

// fields are pointers to where the columns of one row are scanned to. NULL makes a field its zero value.
type fields []any

// ScanRow implements pgx.RowScanner: a row is read by the fields' types at once, from the binary form, with nothing
// allocated but the texts.
func (f fields) ScanRow(rows pgx.Rows) error {
	raw, described := rows.RawValues(), rows.FieldDescriptions()
	if len(raw) != len(f) {
		return fmt.Errorf("%d columns for %d fields", len(raw), len(f))
	}
	for i := range f {
		if described[i].Format != pgx.BinaryFormatCode && !isText(described[i].DataTypeOID) {
			return fmt.Errorf("column %s does not come in binary", described[i].Name)
		}
		if err := decode(f[i], raw[i]); err != nil {
			return fmt.Errorf("column %s: %w", described[i].Name, err)
		}
	}
	return nil
}

// isText reports whether a type has the same form in binary and in text.
func isText(oid uint32) bool { return oid == pgtype.TextOID || oid == pgtype.VarcharOID }

// decode sets a field to a column's value; raw is nil for NULL.
func decode(field any, raw []byte) error {
	if raw == nil {
		return clearField(field)
	}
	switch f := field.(type) {
	case *string:
		*f = string(raw)
	case *cola.Text:
		*f = cola.Text(raw)
	case *cola.ProductType:
		*f = cola.ProductType(raw)
	case *cola.Tier:
		*f = cola.Tier(raw)
	case *cola.Channel:
		*f = cola.Channel(raw)
	case *cola.CredentialKind:
		*f = cola.CredentialKind(raw)
	case *cola.Meter:
		*f = cola.Meter(raw)
	case *cola.Opt[string]:
		*f = cola.Some(string(raw))
	case *cola.Opt[float64]:
		if len(raw) != 8 {
			return mismatch(field, raw)
		}
		*f = cola.Some(math.Float64frombits(binary.BigEndian.Uint64(raw)))
	case *bool, *cola.Opt[bool]:
		return decodeBool(field, raw)
	case *cola.Date, *time.Time, *cola.Timestamp, *cola.Opt[cola.Timestamp], *[]time.Time:
		return decodeTime(field, raw)
	case *[]byte:
		*f = append([]byte{}, raw...) // the driver reads the next row to the same place
	case *[]string:
		return decodeArray(raw, f, func(element []byte) (string, error) { return string(element), nil })
	case *[]cola.Scope:
		return decodeArray(raw, f, func(element []byte) (cola.Scope, error) { return cola.Scope(element), nil })
	default:
		return decodeInteger(field, raw)
	}
	return nil
}

func clearField(field any) error {
	switch f := field.(type) {
	case *[]time.Time:
		*f = nil
	case *[]int:
		*f = nil
	default:
		if !sqlstore.Clear(field) {
			return fmt.Errorf("%T cannot hold NULL", field)
		}
	}
	return nil
}

func decodeBool(field any, raw []byte) error {
	if len(raw) != 1 {
		return mismatch(field, raw)
	}
	switch f := field.(type) {
	case *bool:
		*f = raw[0] != 0
	case *cola.Opt[bool]:
		*f = cola.Some(raw[0] != 0)
	}
	return nil
}

func decodeInteger(field any, raw []byte) error {
	switch f := field.(type) {
	case *[]int:
		return decodeArray(raw, f, func(element []byte) (int, error) {
			v, err := integer(element)
			return int(v), err
		})
	case *store.KeyHash:
		return decodeHash(raw, f[:])
	case **store.FeedHash:
		*f = new(store.FeedHash)
		return decodeHash(raw, (*f)[:])
	}
	v, err := integer(raw)
	if err != nil {
		return err
	}
	switch f := field.(type) {
	case *int:
		*f = int(v)
	case *int64:
		*f = v
	case *cola.TTBID:
		*f = cola.TTBID(v)
	case *cola.AccountID:
		*f = cola.AccountID(v)
	case *cola.Revision:
		*f = cola.Revision(v)
	case *cola.FilterSet:
		*f = cola.FilterSet(v)
	case *cola.Opt[int]:
		*f = cola.Some(int(v))
	case *cola.Opt[int64]:
		*f = cola.Some(v)
	default:
		return mismatch(field, raw)
	}
	return nil
}

func decodeHash(raw, into []byte) error {
	if len(raw) != len(into) {
		return fmt.Errorf("%d bytes are no hash", len(raw))
	}
	copy(into, raw)
	return nil
}

func integer(raw []byte) (int64, error) {
	switch len(raw) {
	case 4:
		return int64(int32(binary.BigEndian.Uint32(raw))), nil
	case 8:
		return int64(binary.BigEndian.Uint64(raw)), nil
	}
	return 0, fmt.Errorf("%d bytes are no integer", len(raw))
}

const (
	firstDay     cola.Date = 730120             // 2000-01-01, from which PostgreSQL counts days
	firstInstant int64     = 946684800 * 1e6    // and microseconds
	endOfTime              = "is without bound" // infinity, which nothing here writes
)

func decodeTime(field any, raw []byte) error {
	switch f := field.(type) {
	case *cola.Date:
		v, err := integer(raw)
		switch {
		case err != nil || len(raw) != 4:
			return mismatch(field, raw)
		case v == math.MaxInt32 || v == math.MinInt32:
			return fmt.Errorf("the date %s", endOfTime)
		}
		*f = firstDay + cola.Date(v)
		return nil
	case *time.Time:
		var err error
		*f, err = instant(raw)
		return err
	case *cola.Timestamp:
		at, err := instant(raw)
		*f = cola.TimestampOf(at)
		return err
	case *cola.Opt[cola.Timestamp]:
		at, err := instant(raw)
		*f = cola.Some(cola.TimestampOf(at))
		return err
	case *[]time.Time:
		return decodeArray(raw, f, instant)
	}
	return mismatch(field, raw)
}

func instant(raw []byte) (time.Time, error) {
	v, err := integer(raw)
	switch {
	case err != nil || len(raw) != 8:
		return time.Time{}, mismatch(time.Time{}, raw)
	case v == math.MaxInt64 || v == math.MinInt64:
		return time.Time{}, fmt.Errorf("the instant %s", endOfTime)
	}
	return time.UnixMicro(v + firstInstant).UTC(), nil
}

var errArray = errors.New("not an array of one dimension without NULL")

// decodeArray reads an array of one dimension, or an empty one, into a new list: the old one may have been handed out.
func decodeArray[T any](raw []byte, into *[]T, element func([]byte) (T, error)) error {
	const header = 12 // number of dimensions, whether there are NULLs, type of the elements
	if len(raw) < header {
		return errArray
	}
	dimensions := binary.BigEndian.Uint32(raw)
	raw = raw[header:]
	if dimensions == 0 {
		*into = []T{}
		return nil
	}
	if dimensions > 1 || len(raw) < 8 { // length, first index
		return errArray
	}
	length := binary.BigEndian.Uint32(raw)
	list := make([]T, 0, min(length, uint32(len(raw)/4)))
	raw = raw[8:]
	for range length {
		if len(raw) < 4 {
			return errArray
		}
		size := binary.BigEndian.Uint32(raw) // of NULL it is larger than any
		if raw = raw[4:]; uint64(size) > uint64(len(raw)) {
			return errArray
		}
		v, err := element(raw[:size])
		if err != nil {
			return err
		}
		list, raw = append(list, v), raw[size:]
	}
	*into = list
	return nil
}

func mismatch(field any, raw []byte) error {
	return fmt.Errorf("a column of %T cannot hold %d bytes", field, len(raw))
}
