package ingest

import "bytes"

// csvField is one field of a CSV record, without its quotes and without white space around.
type csvField struct {
	text   []byte
	quoted bool
	spaced bool // white space stood before an unquoted field
}

// splitCSV returns the fields of a record, appended to fields. The record's own bytes are used and changed. Quotes that are
// not closed, or closed before the field's end, are an error, unless loose: then they are part of the text.
func splitCSV(record []byte, fields []csvField, loose bool) ([]csvField, error) {
	for {
		field, rest, more, err := nextField(record, loose)
		if err != nil {
			return fields, err
		}
		fields = append(fields, field)
		if !more {
			return fields, nil
		}
		record = rest
	}
}

// nextField splits off the first field; more tells whether a comma followed it.
func nextField(record []byte, loose bool) (field csvField, rest []byte, more bool, err error) {
	text := bytes.TrimLeft(record, " \t")
	if len(text) > 0 && text[0] == '"' {
		field, rest, more, err = quotedField(text[1:])
		if err == nil || !loose {
			return field, rest, more, err
		}
	}
	value, rest, more := bytes.Cut(record, []byte{','})
	return csvField{text: bytes.TrimSpace(value), spaced: len(text) < len(record)}, rest, more, nil
}

// quotedField reads a field after its opening quote.
func quotedField(text []byte) (field csvField, rest []byte, more bool, err error) {
	end := closingQuote(text)
	if end < 0 {
		return field, nil, false, errOpenQuote
	}
	after := bytes.TrimLeft(text[end+1:], " \t")
	if len(after) > 0 && after[0] != ',' {
		return field, nil, false, errBareQuote
	}
	field = csvField{text: bytes.TrimSpace(unquote(text[:end])), quoted: true}
	if len(after) == 0 {
		return field, nil, false, nil
	}
	return field, after[1:], true, nil
}

// unquote makes each doubled quote one, in place.
func unquote(text []byte) []byte {
	i := bytes.IndexByte(text, '"')
	if i < 0 {
		return text
	}
	to := text[:i]
	for ; i < len(text); i++ {
		to = append(to, text[i])
		if text[i] == '"' {
			i++
		}
	}
	return to
}
