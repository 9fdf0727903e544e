package cola

import (
	"bytes"
	"encoding/json"
)

// Opt is a value that may be unknown or not given. The zero Opt is unknown; it is JSON null. Unlike a pointer it compares
// with == and costs no allocation.
type Opt[T comparable] struct {
	V  T    // the value; zero when OK is false
	OK bool // whether the value is known
}

// Some returns a known value.
func Some[T comparable](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// Or returns the value, or fallback when it is unknown.
func (o Opt[T]) Or(fallback T) T {
	if o.OK {
		return o.V
	}
	return fallback
}

// MarshalJSON writes the value, or null when it is unknown.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.OK {
		return []byte("null"), nil
	}
	return json.Marshal(o.V)
}

// UnmarshalJSON reads the value; null makes it unknown.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	*o = Opt[T]{}
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	if err := json.Unmarshal(b, &o.V); err != nil {
		return err
	}
	o.OK = true
	return nil
}

// Text is a string whose empty value means unknown and is JSON null.
type Text string

// MarshalJSON writes the text, or null when it is empty. It leaves <, > and & as they are; an encoder that is to escape them
// does so with what MarshalJSON returns.
func (t Text) MarshalJSON() ([]byte, error) { return t.appendJSON(nil), nil }

// UnmarshalJSON reads a string; null makes it empty.
func (t *Text) UnmarshalJSON(b []byte) error {
	*t = ""
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
}
