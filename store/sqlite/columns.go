package sqlite

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

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

// targets returns the scan targets of a row.
func targets(columns []records.Column) []any {
	list := make([]any, len(columns))
	for i, c := range columns {
		list[i] = target{c.Field}
	}
	return list
}

// placeholders returns "?, ?, …" for n values.
func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// encode returns the column value for a field, or nil (NULL) if the field's value is unknown.
func encode(field any) any { return argument(sqlstore.Value(field)) }

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// target is the scan target of one column.
type target struct{ field any }

// Scan implements sql.Scanner. NULL becomes the zero value.
func (t target) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		return t.clear()
	case string:
		return t.text(v)
	case []byte:
		return t.bytes(v)
	case int64:
		return t.integer(v)
	case float64:
		if f, ok := t.field.(*cola.Opt[float64]); ok {
			*f = cola.Some(v)
			return nil
		}
	}
	return t.mismatch(src)
}

func (t target) clear() error {
	if !sqlstore.Clear(t.field) {
		return t.mismatch(nil)
	}
	return nil
}

func (t target) text(v string) error {
	switch f := t.field.(type) {
	case *string:
		*f = v
	case *cola.Text:
		*f = cola.Text(v)
	case *vocabulary.ProductType:
		*f = vocabulary.ProductType(v)
	case *cola.Tier:
		*f = cola.Tier(v)
	case *cola.Channel:
		*f = cola.Channel(v)
	case *cola.CredentialKind:
		*f = cola.CredentialKind(v)
	case *cola.Meter:
		*f = cola.Meter(v)
	case *cola.Opt[string]:
		*f = cola.Some(v)
	case *cola.Date:
		d, err := cola.ParseDate(v)
		*f = d
		return err
	case *[]string:
		*f = nil // make a new list: the caller may still use the old one
		return json.Unmarshal([]byte(v), f)
	case *[]cola.Scope:
		*f = nil
		return json.Unmarshal([]byte(v), f)
	case *cola.Networks:
		f.SetString(v)
	default:
		return t.mismatch(v)
	}
	return nil
}

func (t target) integer(v int64) error {
	switch f := t.field.(type) {
	case *int:
		*f = int(v)
	case *int64:
		*f = v
	case *bool:
		*f = v != 0
	case *cola.TTBID:
		*f = cola.TTBID(v)
	case *cola.AccountID:
		*f = cola.AccountID(v)
	case *cola.Revision:
		*f = cola.Revision(v)
	case *cola.FilterSet:
		*f = cola.FilterSet(v)
	case *cola.Timestamp:
		*f = cola.Timestamp(v)
	case *cola.Opt[int]:
		*f = cola.Some(int(v))
	case *cola.Opt[bool]:
		*f = cola.Some(v != 0)
	case *cola.Opt[int64]:
		*f = cola.Some(v)
	case *cola.Opt[cola.Timestamp]:
		*f = cola.Some(cola.Timestamp(v))
	case *time.Time:
		*f = time.UnixMicro(v).UTC()
	default:
		return t.mismatch(v)
	}
	return nil
}

// bytes copies a value, which is only valid until the next row.
func (t target) bytes(v []byte) error {
	switch f := t.field.(type) {
	case *[]byte:
		*f = append([]byte{}, v...)
	case *store.KeyHash:
		return copyHash(f[:], v)
	case **store.FeedHash:
		*f = new(store.FeedHash)
		return copyHash((*f)[:], v)
	default:
		return t.mismatch(v)
	}
	return nil
}

func copyHash(into, v []byte) error {
	if copy(into, v) != len(v) || len(v) != len(into) {
		return fmt.Errorf("hash has %d bytes, want %d", len(v), len(into))
	}
	return nil
}

func (t target) mismatch(src any) error {
	return fmt.Errorf("cannot scan %T into %T", src, t.field)
}
