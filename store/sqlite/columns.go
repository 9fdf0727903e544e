package sqlite

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/records"
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
func targets(columns []records.Column) []any {
	list := make([]any, len(columns))
	for i, c := range columns {
		list[i] = target{c.Field}
	}
	return list
}

// placeholders returns "?, ?, …" for n values.
func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// encode returns what a column holds for a field: NULL for what is unknown.
func encode(field any) any {
	switch f := field.(type) {
	case *string:
		return *f
	case *cola.ProductType:
		return string(*f)
	case *cola.Text:
		return orNull(string(*f), *f != "")
	case *cola.Date:
		return orNull(f.String(), *f != 0)
	case *cola.TTBID:
		return orNull(int64(*f), *f != 0)
	case *int:
		return int64(*f)
	case *bool:
		return bit(*f)
	case *int64:
		return *f
	case *cola.AccountID:
		return int64(*f)
	case *cola.Revision:
		return int64(*f)
	case *cola.FilterSet:
		return int64(*f)
	case *cola.Timestamp:
		return int64(*f)
	case *cola.Tier:
		return string(*f)
	case *cola.Channel:
		return string(*f)
	case *cola.CredentialKind:
		return string(*f)
	case *cola.Meter:
		return string(*f)
	case *[]byte:
		return orNull(*f, *f != nil)
	case *store.KeyHash:
		return f[:]
	case **store.FeedHash:
		if *f == nil {
			return nil
		}
		return (*f)[:]
	case *cola.Opt[int]:
		return orNull(int64(f.V), f.OK)
	case *cola.Opt[float64]:
		return orNull(f.V, f.OK)
	case *cola.Opt[bool]:
		return orNull(bit(f.V), f.OK)
	case *cola.Opt[string]:
		return orNull(f.V, f.OK)
	case *cola.Opt[int64]:
		return orNull(f.V, f.OK)
	case *cola.Opt[cola.Timestamp]:
		return orNull(int64(f.V), f.OK)
	case *[]string:
		return orNull(encodeList(*f), len(*f) > 0)
	case *[]cola.Scope:
		return orNull(encodeList(*f), len(*f) > 0)
	case *time.Time:
		return orNull(f.UnixMicro(), !f.IsZero())
	}
	panic(fmt.Sprintf("sqlite: no column type for %T", field))
}

func orNull[T any](v T, known bool) any {
	if !known {
		return nil
	}
	return v
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func encodeList[T ~string](list []T) string {
	if len(list) == 0 {
		return ""
	}
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = cola.AppendJSONString(b, string(s))
	}
	return string(append(b, ']'))
}

// target is where one column of a row is scanned to.
type target struct{ field any }

// Scan implements sql.Scanner. NULL makes the field its zero value.
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
	switch f := t.field.(type) {
	case *int:
		*f = 0
	case *string:
		*f = ""
	case *cola.Text:
		*f = ""
	case *cola.Tier:
		*f = ""
	case *cola.Date:
		*f = 0
	case *cola.TTBID:
		*f = 0
	case *cola.AccountID:
		*f = 0
	case *cola.Revision:
		*f = 0
	case *int64:
		*f = 0
	case *[]byte:
		*f = nil
	case **store.FeedHash:
		*f = nil
	case *cola.Opt[int]:
		*f = cola.Opt[int]{}
	case *cola.Opt[float64]:
		*f = cola.Opt[float64]{}
	case *cola.Opt[bool]:
		*f = cola.Opt[bool]{}
	case *cola.Opt[string]:
		*f = cola.Opt[string]{}
	case *cola.Opt[int64]:
		*f = cola.Opt[int64]{}
	case *cola.Opt[cola.Timestamp]:
		*f = cola.Opt[cola.Timestamp]{}
	case *[]string:
		*f = []string{}
	case *[]cola.Scope:
		*f = []cola.Scope{}
	case *time.Time:
		*f = time.Time{}
	default:
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
	case *cola.ProductType:
		*f = cola.ProductType(v)
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
		*f = nil // a new list: the old one may have been handed out
		return json.Unmarshal([]byte(v), f)
	case *[]cola.Scope:
		*f = nil
		return json.Unmarshal([]byte(v), f)
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

// bytes copies a value that is only valid until the next row is read.
func (t target) bytes(v []byte) error {
	switch f := t.field.(type) {
	case *[]byte:
		*f = append([]byte{}, v...)
	case *store.KeyHash:
		return hash(v, f[:])
	case **store.FeedHash:
		*f = new(store.FeedHash)
		return hash(v, (*f)[:])
	default:
		return t.mismatch(v)
	}
	return nil
}

func hash(v, into []byte) error {
	if copy(into, v) != len(v) || len(v) != len(into) {
		return fmt.Errorf("a hash of %d bytes has %d", len(into), len(v))
	}
	return nil
}

func (t target) mismatch(src any) error {
	return fmt.Errorf("a column of %T cannot hold %T", t.field, src)
}
