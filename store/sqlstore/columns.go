package sqlstore

import (
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/store"
)

// Value returns the column value of the field that a pointer points to: nil if the column is NULL,
// otherwise a string, int64, float64, bool, []byte, []string, time.Time or cola.Date.
func Value(field any) any {
	switch f := field.(type) {
	case *cola.Text:
		return known(string(*f), *f != "")
	case *cola.Opt[string]:
		return known(f.V, f.OK)
	case *int:
		return int64(*f)
	case *int64:
		return *f
	case *cola.AccountID:
		return int64(*f)
	case *cola.Revision:
		return int64(*f)
	case *cola.FilterSet:
		return int64(*f)
	case *cola.TTBID:
		return known(int64(*f), *f != 0)
	case *cola.Opt[int]:
		return known(int64(f.V), f.OK)
	case *cola.Opt[int64]:
		return known(f.V, f.OK)
	case *cola.Opt[float64]:
		return known(f.V, f.OK)
	case *bool:
		return *f
	case *cola.Opt[bool]:
		return known(f.V, f.OK)
	case *cola.Date:
		return known(*f, *f != 0)
	case *time.Time:
		return known(*f, !f.IsZero())
	case *cola.Timestamp:
		return f.Time()
	case *cola.Opt[cola.Timestamp]:
		return known(f.V.Time(), f.OK)
	case *[]byte:
		return known(*f, *f != nil)
	case *store.KeyHash:
		return f[:]
	case **store.FeedHash:
		if *f == nil {
			return nil
		}
		return (*f)[:]
	case *[]string:
		return known(*f, len(*f) > 0)
	case *cola.Networks:
		return known(f.String(), len(*f) > 0)
	case *[]cola.Scope:
		list := make([]string, len(*f))
		for i, scope := range *f {
			list[i] = string(scope)
		}
		return known(list, len(list) > 0)
	}
	return text(field)
}

// text returns the string behind a pointer to a string type. It panics for any other field.
func text(field any) string {
	switch f := field.(type) {
	case *string:
		return *f
	case *vocabulary.ProductType:
		return string(*f)
	case *cola.Tier:
		return string(*f)
	case *cola.Channel:
		return string(*f)
	case *cola.CredentialKind:
		return string(*f)
	case *cola.Meter:
		return string(*f)
	}
	panic(fmt.Sprintf("sqlstore: no column type for %T", field))
}

func known[T any](v T, ok bool) any {
	if !ok {
		return nil
	}
	return v
}

// Clear sets a field to the value that represents NULL, and reports whether it can be NULL.
func Clear(field any) bool {
	switch f := field.(type) {
	case *int:
		*f = 0
	case *int64:
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
	case *cola.Networks:
		*f = nil
	case *time.Time:
		*f = time.Time{}
	case **store.FeedHash:
		*f = nil
	case *[]byte:
		*f = nil
	default:
		return false
	}
	return true
}
