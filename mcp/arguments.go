package mcp

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/params"
	"github.com/colaregistry/colaregistry/internal/strictjson"
)

// idArgument is the one argument whose digits may begin with a zero, which a number cannot.
const idArgument = "ttb_id"

// taker tells which parameters there are, and which of them may have several values.
type taker interface {
	Takes(name string) (several, ok bool)
}

// values turns the arguments of a call into text, which is read as the values of a query string are, so that what is wrong is
// told in the same words. JSON types are taken as they are meant where nothing is lost by it: a number or a boolean for a text, a text for
// a number, one value for an array.
func (m *message) values(t taker) (values []params.Value, problems cola.Problems) {
	if m.malformed {
		problems.Add("arguments", "They are no object; send them by name, such as {\"q\": \"oak\"}.")
		return nil, problems
	}
	met := map[string]bool{}
	for _, a := range m.arguments {
		several, known := t.Takes(a.Name)
		switch {
		case known && met[a.Name]:
			problems.Add(a.Name, "It is given twice; give it once.")
		case !known:
			values = append(values, params.Value{Name: a.Name})
		case a.Value[0] == '[' && several:
			values = append(values, elements(a, &problems)...)
		default:
			values = append(values, scalar(a, several, &problems)...)
		}
		met[a.Name] = true
	}
	return values, problems
}

// scalar reads one value; none of null.
func scalar(a strictjson.Member, several bool, problems *cola.Problems) []params.Value {
	var value string
	switch a.Value[0] {
	case 'n':
		return nil
	case '"':
		value, _ = strictjson.Text(a.Value)
	case 't', 'f':
		value = string(a.Value)
	case '{', '[':
		if several {
			problems.Add(a.Name, "It is an object; send an array of strings.")
			return nil
		}
		problems.Add(a.Name, "It is an object or an array; send one value.")
		return nil
	default:
		value = digits(a.Value)
		if a.Name == idArgument {
			if value = idOf(value); value == "" {
				problems.Add(a.Name, `The number %s is no TTB id; send it as a string of 14 digits, such as "11054001000049".`, params.Shown(string(a.Value)))
				return nil
			}
		}
	}
	return []params.Value{{Name: a.Name, Text: value}}
}

// elements reads an array of strings.
func elements(a strictjson.Member, problems *cola.Problems) (values []params.Value) {
	for i, e := range strictjson.Elements(a.Value) {
		value, ok := strictjson.Text(e)
		if !ok {
			problems.Add(a.Name, "Its element %d is no string; send an array of strings.", i+1)
			continue
		}
		values = append(values, params.Value{Name: a.Name, Text: value})
	}
	return values
}

// digits writes a JSON number without an exponent where it is a whole number that any client writes without loss, and as it
// was sent elsewhere.
func digits(number json.RawMessage) string {
	sent := string(number)
	if !strings.ContainsAny(sent, ".eE") {
		return sent
	}
	const exact = 1 << 53
	f, err := strconv.ParseFloat(sent, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= exact {
		return sent
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// idOf returns the TTB id that a number stands for: of fourteen digits, or of thirteen and a leading zero that a number
// cannot have (the years before 2010). It is empty for any other.
func idOf(number string) string {
	if len(number) == 13 {
		number = "0" + number
	}
	if _, ok := cola.ParseTTBID(number); !ok {
		return ""
	}
	return number
}
