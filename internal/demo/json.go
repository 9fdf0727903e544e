package demo

import (
	"strconv"

	"github.com/colaregistry/colaregistry/cola"
)

// object appends the fields of a JSON object. A field whose value is unknown is left out: an import that does not find a
// field leaves it as it is, and a fifth of every line is saved. encoding/json reads the result back into an equal record;
// it could write it too, at less than a tenth of the speed.
type object struct {
	b     []byte
	comma bool
}

func (o *object) open() {
	o.b = append(o.b, '{')
	o.comma = false
}

func (o *object) close() {
	o.b = append(o.b, '}')
	o.comma = true
}

// name starts a field; names need no escapes.
func (o *object) name(name string) {
	if o.comma {
		o.b = append(o.b, ',')
	}
	o.comma = true
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) text(name string, v cola.Text) {
	if v != "" {
		o.name(name)
		o.b = cola.AppendJSONString(o.b, string(v))
	}
}

func (o *object) id(name string, v cola.TTBID) {
	if v != 0 {
		o.name(name)
		o.b = append(v.AppendTo(append(o.b, '"')), '"')
	}
}

func (o *object) date(name string, v cola.Date) {
	if v != 0 {
		o.name(name)
		o.b = append(v.AppendTo(append(o.b, '"')), '"')
	}
}

func (o *object) integer(name string, v cola.Opt[int]) {
	if v.OK {
		o.name(name)
		o.b = strconv.AppendInt(o.b, int64(v.V), 10)
	}
}

func (o *object) number(name string, v cola.Opt[float64]) {
	if v.OK {
		o.name(name)
		o.b = strconv.AppendFloat(o.b, v.V, 'g', -1, 64)
	}
}

func (o *object) flag(name string, v cola.Opt[bool]) {
	if v.OK {
		o.name(name)
		o.b = strconv.AppendBool(o.b, v.V)
	}
}

func (o *object) list(name string, values []string) {
	if len(values) == 0 {
		return
	}
	o.name(name)
	o.b = append(o.b, '[')
	for i, v := range values {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = cola.AppendJSONString(o.b, v)
	}
	o.b = append(o.b, ']')
}

// objects starts a field that holds a list of n objects and writes each.
func (o *object) objects(name string, n int, write func(i int)) {
	if n == 0 {
		return
	}
	o.name(name)
	o.b = append(o.b, '[')
	for i := range n {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.open()
		write(i)
		o.close()
	}
	o.b = append(o.b, ']')
}
