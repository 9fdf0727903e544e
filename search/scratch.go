package search

import "sync"

// scratch is the working memory of one search at a time.
type scratch struct {
	block [blockWords]uint64
	other [blockWords]uint64
	lists []list
	free  [][]uint64
}

// scratches keeps the working memory of searches for the next ones.
type scratches struct{ pool sync.Pool }

func (s *scratches) get() *scratch {
	if sc, ok := s.pool.Get().(*scratch); ok {
		return sc
	}
	return &scratch{}
}

func (s *scratches) put(sc *scratch) {
	clear(sc.lists)
	sc.lists = sc.lists[:0]
	s.pool.Put(sc)
}

// bitmap returns a bitmap over n documents that is clear in the span's blocks and holds anything outside them.
func (sc *scratch) bitmap(n uint32, s span) []uint64 {
	need := wordsFor(n)
	var w []uint64
	for i, f := range sc.free {
		if cap(f) >= need {
			sc.free = append(sc.free[:i], sc.free[i+1:]...)
			w = f[:need]
			break
		}
	}
	if w == nil {
		w = make([]uint64, need)
	}
	if lo := int(s.first) * blockWords; lo < need {
		clear(w[lo:min(int(s.last+1)*blockWords, need)])
	}
	return w
}

// bitmapsKept bounds what a scratch holds between searches.
const bitmapsKept = 8

// release gives a bitmap back; nil is none.
func (sc *scratch) release(w []uint64) {
	if w != nil && len(sc.free) < bitmapsKept {
		sc.free = append(sc.free, w)
	}
}

// unite returns the union of lists in the span's blocks.
func (sc *scratch) unite(n uint32, s span, lists []list) []uint64 {
	w := sc.bitmap(n, s)
	for _, l := range lists {
		l.orInto(w, s)
	}
	return w
}
