package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
	"github.com/colaregistry/colaregistry/store/sqlstore"
)

// values returns the column values of the record that the columns point into.
func values(columns []records.Column) []any {
	list := make([]any, len(columns))
	for i, c := range columns {
		list[i] = encode(c.Field)
	}
	return list
}

// targets returns the fields of columns.
func targets(columns []records.Column) fields {
	list := make(fields, len(columns))
	for i, c := range columns {
		list[i] = c.Field
	}
	return list
}

// encode returns the column value for a field, or nil (NULL) if the field's value is unknown.
func encode(field any) any { return argument(sqlstore.Value(field)) }

// fields are pointers into which the columns of a row are scanned. NULL becomes the zero value;
// scanning fails with errNull for a field that can't represent NULL.
type fields []any

// ScanRow implements pgx.RowScanner.
func (f fields) ScanRow(rows pgx.Rows) error {
	into := make([]any, len(f))
	for i := range f {
		into[i] = target(f[i])
	}
	return rows.Scan(into...)
}

// target returns the pgx scan target for a field.
func target(field any) any {
	switch f := field.(type) {
	case *[]string:
		return (*list[string])(f)
	case *[]cola.Scope:
		return (*list[cola.Scope])(f)
	case *[]int:
		return (*list[int])(f)
	case *[]time.Time:
		return (*list[time.Time])(f)
	}
	return column{field}
}

// column receives the value of one column for a field.
type column struct{ field any }

// errNull means that a field can't represent NULL.
var errNull = errors.New("column is NULL")

// mismatch returns the error for a value that the field can't hold.
func (c column) mismatch(valid bool) error {
	if !valid {
		return fmt.Errorf("%T: %w", c.field, errNull)
	}
	return fmt.Errorf("%T can't hold a column of this type", c.field)
}

// ScanBytes implements pgtype.BytesScanner, for text and bytea. v is nil for NULL and is reused
// after the call.
func (c column) ScanBytes(v []byte) error {
	switch f := c.field.(type) {
	case *string:
		*f = string(v)
		return nil
	case *cola.Text:
		*f = cola.Text(v)
		return nil
	case *cola.Tier:
		*f = cola.Tier(v)
		return nil
	case *cola.Opt[string]:
		*f = cola.Opt[string]{V: string(v), OK: v != nil}
		return nil
	case *[]byte:
		*f = bytes.Clone(v)
		return nil
	case *cola.Networks:
		if *f = nil; v != nil {
			f.SetString(string(v))
		}
		return nil
	case **store.FeedHash:
		if *f = nil; v == nil {
			return nil
		}
		*f = new(store.FeedHash)
		return copyHash((*f)[:], v)
	}
	if v == nil {
		return c.mismatch(false)
	}
	switch f := c.field.(type) {
	case *vocabulary.ProductType:
		*f = vocabulary.ProductType(v)
	case *cola.Channel:
		*f = cola.Channel(v)
	case *cola.CredentialKind:
		*f = cola.CredentialKind(v)
	case *cola.Meter:
		*f = cola.Meter(v)
	case *store.KeyHash:
		return copyHash(f[:], v)
	default:
		return c.mismatch(true)
	}
	return nil
}

func copyHash(into, v []byte) error {
	if copy(into, v) != len(v) || len(v) != len(into) {
		return fmt.Errorf("hash has %d bytes, want %d", len(v), len(into))
	}
	return nil
}

// ScanInt64 implements pgtype.Int64Scanner.
func (c column) ScanInt64(v pgtype.Int8) error {
	switch f := c.field.(type) {
	case *int:
		*f = int(v.Int64)
		return nil
	case *cola.TTBID:
		*f = cola.TTBID(v.Int64)
		return nil
	case *cola.AccountID:
		*f = cola.AccountID(v.Int64)
		return nil
	case *int64:
		*f = v.Int64
		return nil
	case *cola.Revision:
		*f = cola.Revision(v.Int64)
		return nil
	case *cola.Opt[int]:
		*f = cola.Opt[int]{V: int(v.Int64), OK: v.Valid}
		return nil
	case *cola.Opt[int64]:
		*f = cola.Opt[int64]{V: v.Int64, OK: v.Valid}
		return nil
	}
	if !v.Valid {
		return c.mismatch(false)
	}
	f, ok := c.field.(*cola.FilterSet)
	if !ok {
		return c.mismatch(true)
	}
	*f = cola.FilterSet(v.Int64)
	return nil
}

// ScanFloat64 implements pgtype.Float64Scanner.
func (c column) ScanFloat64(v pgtype.Float8) error {
	f, ok := c.field.(*cola.Opt[float64])
	if !ok {
		return c.mismatch(v.Valid)
	}
	*f = cola.Opt[float64]{V: v.Float64, OK: v.Valid}
	return nil
}

// ScanBool implements pgtype.BoolScanner.
func (c column) ScanBool(v pgtype.Bool) error {
	switch f := c.field.(type) {
	case *cola.Opt[bool]:
		*f = cola.Opt[bool]{V: v.Bool, OK: v.Valid}
		return nil
	case *bool:
		if *f = v.Bool; v.Valid {
			return nil
		}
	}
	return c.mismatch(v.Valid)
}

// ScanDate implements pgtype.DateScanner.
func (c column) ScanDate(v pgtype.Date) error {
	f, ok := c.field.(*cola.Date)
	switch {
	case !ok:
		return c.mismatch(v.Valid)
	case v.InfinityModifier != pgtype.Finite:
		return errInfinite
	case !v.Valid:
		*f = 0
	default:
		*f = cola.DateOf(v.Time)
	}
	return nil
}

// errInfinite is the error for infinite dates and times, which this package never writes.
var errInfinite = errors.New("infinite time")

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (c column) ScanTimestamptz(v pgtype.Timestamptz) error {
	if v.InfinityModifier != pgtype.Finite {
		return errInfinite
	}
	at := v.Time.UTC()
	switch f := c.field.(type) {
	case *time.Time:
		*f = at // zero for NULL
		return nil
	case *cola.Opt[cola.Timestamp]:
		*f = cola.Opt[cola.Timestamp]{}
		if v.Valid {
			*f = cola.Some(cola.TimestampOf(at))
		}
		return nil
	case *cola.Timestamp:
		if *f = cola.TimestampOf(at); v.Valid {
			return nil
		}
	}
	return c.mismatch(v.Valid)
}

// list receives a one-dimensional array without NULL elements. A NULL array becomes an empty list.
type list[T any] []T

// SetDimensions implements pgtype.ArraySetter. It makes a new list: the old one may be in use.
func (l *list[T]) SetDimensions(dimensions []pgtype.ArrayDimension) error {
	n := 0
	switch len(dimensions) {
	case 0:
	case 1:
		n = int(dimensions[0].Length)
	default:
		return errors.New("multidimensional array")
	}
	*l = make([]T, n)
	return nil
}

// ScanIndex implements pgtype.ArraySetter.
func (l *list[T]) ScanIndex(i int) any { return element(&(*l)[i]) }

// ScanIndexType implements pgtype.ArraySetter.
func (l *list[T]) ScanIndexType() any { return element(new(T)) }

// element returns the pgx scan target for an element of a list. Times are scanned into a column,
// which converts them to UTC.
func element(field any) any {
	if t, ok := field.(*time.Time); ok {
		return column{t}
	}
	return field
}
