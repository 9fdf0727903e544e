package ingest

import (
	"fmt"
	"strings"

	"github.com/colaregistry/colaregistry/cola"
)

// idSet is a set of TTB IDs, with a bit for each: bit n of word i is ID 64*i+n. IDs from the same
// day are nearly consecutive, so a full registry needs a few megabytes. Scattered IDs need about 40
// bytes each.
type idSet map[cola.TTBID]uint64

// add adds an ID and reports whether it was already in the set.
func (s idSet) add(id cola.TTBID) (seen bool) {
	word, bit := id/64, uint64(1)<<(id%64)
	seen = s[word]&bit != 0
	s[word] |= bit
	return seen
}

// repeatedIDs counts the rows of a file that repeat the TTB ID of an earlier row.
type repeatedIDs struct {
	rows     int
	examples []string
}

// maxExamples is the maximum number of examples in a warning or for a rejection reason.
const maxExamples = 3

// noteID records the TTB ID of a stored row.
func (r *run) noteID(id cola.TTBID, line int) {
	if r.seen == nil {
		r.seen = idSet{}
	}
	if !r.seen.add(id) {
		return
	}
	if r.repeated.rows++; len(r.repeated.examples) < maxExamples {
		r.repeated.examples = append(r.repeated.examples, fmt.Sprintf("%s on line %d", id, line))
	}
}

// reportDuplicates adds a warning about repeated IDs at the end of a file. The same ID may appear
// in several files, such as an export and a file of full records.
func (r *run) reportDuplicates(source string) {
	if r.repeated.rows > 0 {
		r.report.warn(Warning{
			Source:  source,
			Message: "duplicate TTB IDs (the last row wins): " + strings.Join(r.repeated.examples, ", "),
			Rows:    r.repeated.rows,
		})
	}
	r.seen, r.repeated = nil, repeatedIDs{}
}
