package cola

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"strconv"
)

// Cursor is the content of next_cursor: a position in the results. It is not a secret and grants no
// access; the checksum only detects damage.
type Cursor struct {
	Position
	From          Date   // first day of the default window if DefaultWindow, else zero
	DefaultWindow bool   // the first page used the default date window
	Page          int    // pages read, from 1
	Fingerprint   uint64 // hash of the first page's filters
}

// The encoded form, base64url without padding: version and flags (one byte each), date and page
// (variable-length integers), TTB ID (six bytes; 14 digits need 47 bits), fingerprint (eight
// bytes), the window's first day and the length-prefixed brand, each if present, and a CRC (four
// bytes).
const (
	cursorVersion  = 1
	cursorWindowed = 1 << 0 // flag: the default window's first day follows
	cursorBranded  = 1 << 1 // flag: a brand follows
	cursorMaxText  = 180
)

var errCursor = errors.New("not a cursor")

// Encode returns the cursor as URL-safe text.
func (c Cursor) Encode() string {
	b := make([]byte, 0, 48)
	b = append(b, cursorVersion, 0)
	b = binary.AppendUvarint(b, uint64(uint32(c.Date)))
	b = binary.AppendUvarint(b, uint64(uint32(c.Page)))
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], uint64(c.TTBID))
	b = append(b, id[2:]...)
	b = binary.BigEndian.AppendUint64(b, c.Fingerprint)
	if c.DefaultWindow {
		b[1] |= cursorWindowed
		b = binary.AppendUvarint(b, uint64(uint32(c.From)))
	}
	if c.Brand != "" {
		b[1] |= cursorBranded
		b = append(binary.AppendUvarint(b, uint64(len(c.Brand))), c.Brand...)
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// DecodeCursor reads the output of Encode and rejects everything else, so each cursor has exactly
// one encoded form.
func DecodeCursor(s string) (Cursor, error) {
	if len(s) > cursorMaxText {
		return Cursor{}, errCursor
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) < 6 || b[0] != cursorVersion {
		return Cursor{}, errCursor
	}
	body := b[:len(b)-4]
	if binary.BigEndian.Uint32(b[len(body):]) != crc32.ChecksumIEEE(body) {
		return Cursor{}, errCursor
	}
	c, ok := readCursor(body[1], body[2:])
	if !ok || c.Encode() != s {
		return Cursor{}, errCursor
	}
	return c, nil
}

// readCursor reads the fields after the flags.
func readCursor(flags byte, b []byte) (c Cursor, ok bool) {
	date, b, ok1 := uvarint(b, uint64(maxDate))
	page, b, ok2 := uvarint(b, math.MaxInt32)
	if !ok1 || !ok2 || len(b) < 14 {
		return c, false
	}
	var id [8]byte
	copy(id[2:], b[:6])
	c = Cursor{
		Position:    Position{Date: Date(date), TTBID: TTBID(binary.BigEndian.Uint64(id[:]))},
		Page:        int(page),
		Fingerprint: binary.BigEndian.Uint64(b[6:14]),
	}
	b = b[14:]
	if flags&cursorWindowed != 0 {
		from, rest, ok := uvarint(b, uint64(maxDate))
		if !ok || from == 0 {
			return c, false
		}
		c.From, c.DefaultWindow, b = Date(from), true, rest
	}
	if flags&cursorBranded != 0 {
		n, rest, ok := uvarint(b, MaxBrandPosition)
		if !ok || n == 0 || n > uint64(len(rest)) {
			return c, false
		}
		c.Brand, b = string(rest[:n]), rest[n:]
	}
	return c, len(b) == 0 && c.Page >= 1 && c.TTBID >= 1 && c.TTBID <= maxTTBID
}

// uvarint reads a variable-length integer up to maximum and returns the rest.
func uvarint(b []byte, maximum uint64) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 || v > maximum {
		return 0, nil, false
	}
	return v, b[n:], true
}

// CursorAfter returns the next_cursor for a page that ends at p.
func (s ColaSearch) CursorAfter(p Position) string {
	c := Cursor{Position: p, Page: s.Page, Fingerprint: s.Fingerprint}
	if s.DefaultWindow {
		c.From, c.DefaultWindow = s.From, true
	}
	return c.Encode()
}

// fingerprint hashes normalized parameters, except page, per_page and cursor. Differences that
// don't change the result don't count: letter case, accents, order of values, white space, and a
// volume unit without a volume.
//
// The value is the same in every process and, as long as a filter keeps its meaning, in every
// version, because clients keep cursors across deployments. Each parameter is hashed with its name,
// and only if given. If early is true, fingerprint returns the value that earlier, case-sensitive
// versions computed.
func (p *SearchParams) fingerprint(early bool) uint64 {
	h := fnvOffset
	for i := range filters {
		f := &filters[i]
		if f.Param == "" || f.Kind == UnitFilter && !p.VolumeMin.OK && !p.VolumeMax.OK {
			continue
		}
		v := valueAt(f.param(p))
		if f.fold != nil && !(early && f.unfolded) {
			v.text = f.fold(v.text)
		}
		h = h.text(f.Param, v.text).list(f.Param, v.words).number(f.Param, v.number).text(f.Param, v.date.String())
	}
	return uint64(h.text("sort", p.Sort)) // empty for the default
}

// fnv is a running FNV-1a hash.
type fnv uint64

const (
	fnvOffset fnv = 14695981039346656037
	fnvPrime  fnv = 1099511628211
)

// text adds a non-empty parameter. Normalized values have no control characters, so a zero byte
// ends each part.
func (h fnv) text(name, value string) fnv {
	if value == "" {
		return h
	}
	return h.part(name).part(value)
}

// list adds each value of a parameter.
func (h fnv) list(name string, values []string) fnv {
	for _, v := range values {
		h = h.text(name, v)
	}
	return h
}

// number adds a number, if set.
func (h fnv) number(name string, v Opt[float64]) fnv {
	if !v.OK {
		return h
	}
	return h.text(name, strconv.FormatFloat(v.V, 'g', -1, 64))
}

func (h fnv) part(s string) fnv {
	for i := range len(s) {
		h = (h ^ fnv(s[i])) * fnvPrime
	}
	return h * fnvPrime // the zero byte
}
