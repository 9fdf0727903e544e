package cola

import (
	"bytes"
	"encoding/json"
)

// Opt is an optional value. The zero Opt is unknown and null in JSON. Unlike a pointer, it compares
// by value with == and doesn't allocate.
type Opt[T comparable] struct {
	V  T    // zero if OK is false
	OK bool // the value is known
}

// Some returns a known value.
func Some[T comparable](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// Or returns the value, or fallback if it is unknown.
func (o Opt[T]) Or(fallback T) T {
	if o.OK {
		return o.V
	}
	return fallback
}

// MarshalJSON writes the value, or null if it is unknown. It leaves escaping <, > and & to the
// encoder.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.OK {
		return []byte("null"), nil
	}
	return AppendJSON(nil, o.V)
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

// Text is a string. An empty Text is unknown and null in JSON.
type Text string

// MarshalJSON writes the text, or null if empty. It leaves escaping <, > and & to the encoder.
func (t Text) MarshalJSON() ([]byte, error) { return t.appendJSON(nil), nil }

// UnmarshalJSON reads a string; null makes it empty.
func (t *Text) UnmarshalJSON(b []byte) error {
	*t = ""
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
}
