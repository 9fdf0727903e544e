package similar

// Match describes how similar a name is to the query.
type Match struct {
	Kind  Kind
	Score int // 1 to 100; 0 if the names are not similar
}

// Part is a word of a name that is compared with a query.
type Part struct {
	Length    int
	Generic   bool       // as reported by IsGeneric
	Relations []Relation // to each word of the query; nil if it is similar to none of them
}

// Percentages that make up a score; docs/SEARCH.md has the formula.
const (
	sameForms    = 97 // the same words in other forms, or joined or split
	otherOrder   = 95 // the same words in a different order
	fullCore     = 80 // minimum if all words of both cores have a counterpart
	leadingCore  = 45 // minimum if all words of one core have a counterpart at the beginning of the other core
	containsCore = 40 // minimum if all words of one core have a counterpart elsewhere in the other core
	maxCoverage  = 50 // the most that coverage adds to leadingCore and containsCore
	minContained = 3  // minimum number of letters of a core that is contained in the other name
	perLetter    = 3  // for each letter of a word that is a prefix of a longer one, up to maxLetters
	maxLetters   = 8
)

// Compare compares a name with the query.
func (q *Query) Compare(n *Name) Match {
	if q.Key == n.Key && !q.Reading && !n.Reading {
		return q.CompareSame()
	}
	parts := make([]Part, len(n.Words))
	for j := range n.Words {
		w := &n.Words[j]
		parts[j] = Part{Length: w.Length, Generic: IsGeneric(w.Text), Relations: make([]Relation, len(q.Words))}
		for i := range q.Words {
			parts[j].Relations[i] = q.Relate(i, w)
		}
	}
	return q.CompareWords(parts, n.Key).Or(q.CompareJoined(n))
}

// Or returns the better of two matches: the one with the higher score or, on a tie, the stronger
// kind.
func (m Match) Or(other Match) Match {
	if other.Score > m.Score || other.Score == m.Score && other.Kind < m.Kind {
		return other
	}
	return m
}

// CompareSame returns the match for a name that has the same key as the query.
func (q *Query) CompareSame() Match {
	if q.allowed.Has(Exact) {
		return Match{Exact, 100}
	}
	return Match{}
}

// improve replaces m with a match of percent × factor if that scores higher. percent is the
// similarity of the words; factor is in hundredths of a percent.
func (q *Query) improve(m *Match, kind Kind, percent, factor int) {
	if score := (percent*factor + 5000) / 10000; score > m.Score && q.allowed.Has(kind) {
		*m = Match{kind, score}
	}
}

// CompareJoined compares the cores of a name and the query, each written as one word, unless the
// cores have the same number of words. If one name has one word and the other has two, it first
// compares all their words, written as one. The name must not be an exact match.
func (q *Query) CompareJoined(n *Name) (best Match) {
	if len(q.Words)+len(n.Words) == 3 && q.full() == n.full() {
		q.improve(&best, SameWords, sameForms, 10000)
		return best
	}
	if q.Size() == n.Size() {
		return best
	}
	covered := 100 * q.coreWeight / max(q.weight, 1)
	if n.weight > q.weight {
		covered = 100 * n.coreWeight / n.weight
	}
	factor := 100*fullCore + (100-fullCore)*covered
	if q.Joined.Text == n.Joined.Text {
		q.improve(&best, SameWords, sameForms, factor)
		return best
	}
	if r := q.compare(&q.Joined, &n.Joined, JoinedEditLimit(q.Joined.Length, n.Joined.Length), minJoinedLetters); r.Percent > 0 {
		q.improve(&best, r.Kind, int(r.Percent), factor)
	}
	return best
}

// CompareWords compares the words of a name with the query. key is the key of the name, which must
// not be an exact match.
func (q *Query) CompareWords(parts []Part, key string) (best Match) {
	m := q.pairWords(parts)
	switch all := m.paired == q.size && m.paired == m.size; {
	case m.paired == 0 || m.paired < q.size && m.paired < m.size:
	case all && m.same() && m.covered == 100 && m.ordered:
		kind := Plural
		if NewName(key).plain == q.plain { // only connectors differ
			kind = SameWords
		}
		q.improve(&best, kind, sameForms, 10000)
	case all && m.ordered:
		q.improve(&best, m.kindOr(Prefix), m.percent, 100*fullCore+(100-fullCore)*m.covered)
	case all:
		q.improve(&best, m.kindOr(SameWords), m.percent, otherOrder*fullCore+otherOrder*(100-fullCore)*m.covered/100)
	case m.letters < minContained:
	case m.leading:
		q.improve(&best, m.kindOr(Prefix), m.percent, 100*leadingCore+maxCoverage*m.covered)
	default:
		q.improve(&best, m.kindOr(Contains), m.percent, 100*containsCore+maxCoverage*m.covered)
	}
	if m.prefix > 0 {
		q.improve(&best, Prefix, 100,
			100*perLetter*min(m.prefix, maxLetters)+100*maxCoverage*4*m.prefix/max(q.weight, m.weight))
	}
	return best
}

// pairing pairs the words of the query and a name.
type pairing struct {
	name    [MaxWords]int8 // the counterpart of each word of the query, or -1
	taken   uint32         // words of the name that are counterparts
	core    uint32         // words of the name that are in its core
	size    int            // words in the name's core
	weight  int            // weight of the name
	paired  int            // words of the query's core that have a counterpart
	kind    Kind           // the weakest kind of the pairs, or Exact
	letters int            // letters of the query's paired core words
	percent int            // mean similarity of the paired core words
	covered int            // percentage of the heavier name that has a counterpart
	ordered bool           // whether the pairs are in the same order in both names
	leading bool           // whether the pairs are also the beginning of both cores
	prefix  int            // length of the one-word core that begins the first word of the other core, or 0
}

// same reports whether all pairs are of identical words.
func (m *pairing) same() bool { return m.kind == Exact }

// kindOr returns the kind of the weakest pair, or other if all pairs are of identical words.
func (m *pairing) kindOr(other Kind) Kind {
	if m.same() {
		return other
	}
	return m.kind
}

// pairWords pairs the words of the query and a name: first identical words, then the most similar
// ones. At most one pair has kind OneEdit.
func (q *Query) pairWords(parts []Part) (m pairing) {
	m.measure(parts)
	for i := range q.Words {
		m.name[i] = -1
		for j := range parts {
			if m.free(j) && m.inCore(j) == q.core[i] && parts[j].related(i).Percent == 100 {
				m.pair(q, i, j)
				break
			}
		}
	}
	edited := false
	for m.paired < min(q.size, m.size) {
		bestI, bestJ, best := 0, 0, Relation{}
		for i := range q.Words {
			if m.name[i] >= 0 || !q.core[i] {
				continue
			}
			for j := range parts {
				r := parts[j].related(i)
				if r.Percent > best.Percent && m.free(j) && m.inCore(j) && !(edited && r.Kind == OneEdit) {
					bestI, bestJ, best = i, j, r
				}
			}
		}
		if best.Percent == 0 {
			break
		}
		m.pair(q, bestI, bestJ)
		m.kind = max(m.kind, best.Kind)
		edited = edited || best.Kind == OneEdit
	}
	m.summarize(q, parts)
	return m
}

// related returns the relation to word i of the query.
func (p *Part) related(i int) Relation {
	if p.Relations == nil {
		return Relation{}
	}
	return p.Relations[i]
}

// measure finds the core and the weight of a name.
func (m *pairing) measure(parts []Part) {
	for j := range parts {
		if !parts[j].Generic {
			m.core |= 1 << j
			m.size++
		}
	}
	if m.size == 0 {
		m.core, m.size = 1<<len(parts)-1, len(parts)
	}
	for j := range parts {
		m.weight += weight(parts[j].Length, m.inCore(j))
	}
}

func (m *pairing) inCore(j int) bool { return m.core>>j&1 != 0 }

// free reports whether a word of the name is not paired yet.
func (m *pairing) free(j int) bool { return m.taken>>j&1 == 0 }

func (m *pairing) pair(q *Query, i, j int) {
	m.name[i] = int8(j)
	m.taken |= 1 << j
	if q.core[i] {
		m.paired++
	}
}

// summarize derives the remaining fields from the pairs.
func (m *pairing) summarize(q *Query, parts []Part) {
	m.ordered, m.leading = true, true
	total, weights, queryWeight, nameWeight, last, rank := 0, 0, 0, 0, -1, 0
	for i := range q.Words {
		j := int(m.name[i])
		if j < 0 {
			if q.core[i] && rank < m.paired { // a pair follows
				m.leading = false
			}
			continue
		}
		m.ordered = m.ordered && j > last
		last = j
		queryWeight += weight(q.Words[i].Length, q.core[i])
		nameWeight += weight(parts[j].Length, m.inCore(j))
		if q.core[i] {
			length := q.Words[i].Length + parts[j].Length
			total += int(parts[j].related(i).Percent) * length
			weights += length
			m.letters += q.Words[i].Length
			m.leading = m.leading && m.coreRank(j) == rank
			rank++
		}
	}
	m.percent = total / max(weights, 1)
	m.covered = 100 * nameWeight / max(m.weight, 1)
	if q.weight >= m.weight {
		m.covered = 100 * queryWeight / max(q.weight, 1)
	}
	m.prefix = m.beginning(q, parts)
}

// coreRank returns the number of words of the core before word j of the name.
func (m *pairing) coreRank(j int) (n int) {
	for i := range j {
		if m.inCore(i) {
			n++
		}
	}
	return n
}

// beginning returns the length of the one-word core of one name if it begins the first word of the
// other core, or 0.
func (m *pairing) beginning(q *Query, parts []Part) int {
	if q.first < 0 || q.size > 1 && m.size > 1 {
		return 0
	}
	for j := range parts {
		if !m.inCore(j) {
			continue
		}
		inQuery, inName := q.Words[q.first].Length, parts[j].Length
		if parts[j].related(q.first).Begins && (q.size == 1 && inQuery < inName || m.size == 1 && inName < inQuery) {
			return min(inQuery, inName)
		}
		break
	}
	return 0
}
