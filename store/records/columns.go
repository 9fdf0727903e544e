// Package records says what the records of a store are made of, column by column, and works out what becomes of them when
// patches meet what is stored. The backends share it: they differ in how they read and write, not in what.
package records

import (
	"fmt"
	"slices"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// Column ties a column of a table to the field of one record that it keeps. Reading, writing and the comparison of two
// records go by the same list of columns.
type Column struct {
	Name  string
	Field any // pointer to the field
}

// Names returns the names of columns.
func Names(columns []Column) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.Name
	}
	return list
}

// Same reports whether two records say the same in the same columns.
func Same(a, b []Column) bool {
	return slices.EqualFunc(a, b, func(a, b Column) bool { return sameField(a.Field, b.Field) })
}

// sameField compares the fields behind two pointers. An empty list is an unknown one.
func sameField(a, b any) bool {
	switch a := a.(type) {
	case *string:
		return equal(a, b)
	case *vocabulary.ProductType:
		return equal(a, b)
	case *cola.Text:
		return equal(a, b)
	case *cola.Date:
		return equal(a, b)
	case *cola.TTBID:
		return equal(a, b)
	case *int:
		return equal(a, b)
	case *bool:
		return equal(a, b)
	case *cola.Opt[int]:
		return equal(a, b)
	case *cola.Opt[float64]:
		return equal(a, b)
	case *cola.Opt[bool]:
		return equal(a, b)
	case *[]string:
		return slices.Equal(*a, *b.(*[]string))
	}
	panic(fmt.Sprintf("records: no column of %T", a))
}

func equal[T comparable](a *T, b any) bool { return *a == *b.(*T) }
