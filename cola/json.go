package cola

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the summary exactly as encoding/json writes it with SetEscapeHTML(false). It
// allocates only to grow the buffer, because it runs for every record of a search page.
func (c *ColaSummary) AppendJSON(b []byte) []byte {
	b = append(b, `{"ttb_id":`...)
	if c.TTBID == 0 {
		b = append(b, "null"...)
	} else {
		b = append(c.TTBID.AppendTo(append(b, '"')), '"')
	}
	b = AppendJSONString(append(b, `,"brand_name":`...), c.BrandName)
	b = c.ProductName.appendJSON(append(b, `,"product_name":`...))
	b = AppendJSONString(append(b, `,"product_type":`...), string(c.ProductType))
	b = c.ClassName.appendJSON(append(b, `,"class_name":`...))
	b = c.OriginName.appendJSON(append(b, `,"origin_name":`...))
	b = AppendJSONString(append(b, `,"permit_number":`...), c.PermitNumber)
	b = c.ApplicationStatus.appendJSON(append(b, `,"application_status":`...))
	b = c.ApprovalDate.appendJSON(append(b, `,"approval_date":`...))
	if c.ApprovalDateEstimate != 0 {
		b = c.ApprovalDateEstimate.appendJSON(append(b, `,"approval_date_estimate":`...))
	}
	if c.DateIsEstimated {
		b = append(b, `,"date_is_estimated":true`...)
	}
	b = append(b, `,"image_count":`...)
	b = strconv.AppendInt(b, int64(c.ImageCount), 10)
	b = strconv.AppendBool(append(b, `,"has_barcode":`...), c.HasBarcode)
	return append(b, '}')
}

// AppendJSON appends any value as encoding/json does, without escaping < > &: responses are JSON,
// never inlined in HTML.
func AppendJSON(b []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return b, fmt.Errorf("encode %T: %w", v, err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}

func (t Text) appendJSON(b []byte) []byte {
	if t == "" {
		return append(b, "null"...)
	}
	return AppendJSONString(b, string(t))
}

func (d Date) appendJSON(b []byte) []byte {
	if d == 0 {
		return append(b, "null"...)
	}
	return append(d.AppendTo(append(b, '"')), '"')
}

const hexDigits = "0123456789abcdef"

// AppendJSONString appends s as a JSON string, as encoding/json does with SetEscapeHTML(false): it
// escapes control characters, quotes, backslashes and JavaScript's line separators, and writes the
// replacement character for invalid UTF-8.
func AppendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = appendEscape(append(b, s[start:i]...), c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			b = append(append(b, s[start:i]...), `\u202`...)
			b = append(b, hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	return append(append(b, s[start:]...), '"')
}

// appendEscape appends the escape sequence of an ASCII character that needs one.
func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
