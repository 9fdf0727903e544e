package mcp

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/colaregistry/colaregistry/internal/strictjson"
)

// maxID is the largest number that every client writes and reads without loss.
const maxID = 1 << 53

// readID returns the id of a message; nil for one that has none. ok is false for what is none: null is not the absence of an id.
func readID(all []strictjson.Member) (id json.RawMessage, ok bool) {
	id = strictjson.Find(all, "id")
	if id == nil || id[0] == '"' || isWhole(string(id)) {
		return id, true
	}
	return nil, false
}

// isWhole reports whether a JSON value is a whole number that nobody rounds.
func isWhole(number string) bool {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return n >= -maxID && n <= maxID
	}
	f, err := strconv.ParseFloat(number, 64) // such as 1.0
	return err == nil && f == math.Trunc(f) && math.Abs(f) < maxID
}

// answerHead begins every answer that mcp-go writes; the id follows.
var answerHead = []byte(`{"jsonrpc":"2.0","id":`)

// withID returns an answer of mcp-go with the id as it was sent. mcp-go reads ids, and some come out in another form.
func (m *message) withID(answer []byte) []byte {
	rest, ok := bytes.CutPrefix(answer, answerHead)
	if !ok || m.id == nil {
		return answer
	}
	if after, same := bytes.CutPrefix(rest, m.id); same && bytes.HasPrefix(after, []byte{','}) {
		return answer
	}
	var written json.RawMessage
	d := json.NewDecoder(bytes.NewReader(rest))
	if d.Decode(&written) != nil {
		return answer
	}
	return slices.Concat(answerHead, m.id, rest[d.InputOffset():])
}
