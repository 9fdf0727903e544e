package search

import (
	"iter"
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/search/internal/codec"
	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/postings"
)

// categoryIndex finds documents by category path or path prefix.
type categoryIndex struct {
	nodes  column.Dict    // folded paths of all levels, sorted
	lists  postings.Lists // documents at or below each node
	values postings.Lists // documents with each value of the column
}

// buildCategoryIndex indexes the categories of a table.
func buildCategoryIndex(t *table) (cs categoryIndex) {
	c := &t.text[colCategory]
	values := postings.NewBuilder(t.n, c.Len())
	values.AddGroups(postings.GroupBy(t.n, c.Len(), func(doc uint32, put func(uint32)) { put(c.IDs.At(doc)) }))
	cs.values = values.Lists()
	in := column.NewInterner()
	var within [][]uint32 // values at or below each node, by ID
	for v := range uint32(c.Len()) {
		for node := range eachNode(c.At(v)) {
			id := in.ID(node)
			for int(id) >= len(within) {
				within = append(within, nil)
			}
			within[id] = append(within[id], v)
		}
	}
	var number []uint32
	nodes := in.Len()
	cs.nodes, number = in.Sorted()
	old := make([]uint32, nodes)
	for i, n := range number {
		old[n] = uint32(i)
	}
	lists, u := postings.NewBuilder(t.n, nodes), postings.NewUnion(t.n)
	for _, id := range old {
		if int(id) < len(within) {
			for _, v := range within[id] {
				u.Add(cs.values.At(v))
			}
		}
		u.AppendTo(lists)
	}
	cs.lists = lists.Lists()
	return cs
}

// categorySeparator separates the levels of a path.
const categorySeparator = " > "

// eachNode returns the folded ancestors of a path, from the root down, and the folded path itself.
func eachNode(path string) iter.Seq[string] {
	return func(yield func(node string) bool) {
		folded := vocabulary.FoldPath(path)
		for i := 0; i < len(folded); i += len(categorySeparator) {
			j := strings.Index(folded[i:], categorySeparator)
			if j < 0 {
				yield(folded)
				return
			}
			if i += j; !yield(folded[:i]) {
				return
			}
		}
	}
}

// within returns the documents at or below a path.
func (cs *categoryIndex) within(path string) postings.List {
	if i, ok := cs.nodes.Find(vocabulary.FoldPath(path)); ok {
		return cs.lists.At(i)
	}
	return postings.List{}
}

func (cs *categoryIndex) serialize(c codec.Codec) {
	cs.nodes.Serialize(c)
	cs.lists.Serialize(c)
	cs.values.Serialize(c)
}

// categoryTree is the tree of a segment's categories with aliases applied. It has a node for each
// path and each of its ancestors.
type categoryTree struct {
	nodes  []categoryNode
	nodeOf []int32 // node of each value of the column, or noNode
}

// categoryNode is one path.
type categoryNode struct {
	folded   string // in vocabulary.FoldPath's form
	spelling string // from the column value with the most labels
	labels   int    // with that spelling
	parent   int32  // or noNode for a root
}

const noNode = -1

// newCategoryTree builds the tree of a segment's categories.
func (s *segment) newCategoryTree(redirected []redirectedCategory) *categoryTree {
	c := &s.t.text[colCategory]
	current := make(map[uint32]string, len(redirected))
	for _, r := range redirected {
		current[r.value] = r.to
	}
	t := &categoryTree{nodeOf: make([]int32, c.Len())}
	known := map[string]int32{}
	for v := range uint32(c.Len()) {
		path, ok := current[v]
		if !ok {
			path = c.At(v)
		}
		t.nodeOf[v] = t.add(path, s.categories.values.At(v).Len(), known)
	}
	return t
}

// add adds a path and its ancestors, and returns the node of the path. labels is the number of
// labels with the path. known maps folded paths to nodes.
func (t *categoryTree) add(path string, labels int, known map[string]int32) int32 {
	spelling := vocabulary.NormalizeCategory(path)
	node := int32(noNode)
	for folded := range eachNode(path) {
		end := levelsEnd(spelling, 1+strings.Count(folded, categorySeparator))
		i, ok := known[folded]
		if !ok {
			i = int32(len(t.nodes))
			known[folded] = i
			t.nodes = append(t.nodes,
				categoryNode{folded: folded, spelling: spelling[:end], labels: labels, parent: node})
		}
		if n := &t.nodes[i]; labels > n.labels || labels == n.labels && spelling[:end] < n.spelling {
			n.spelling, n.labels = spelling[:end], labels
		}
		node = i
	}
	return node
}

// levelsEnd returns the length of the first levels of a normalized path.
func levelsEnd(path string, levels int) int {
	end := 0
	for range levels {
		i := strings.Index(path[end:], categorySeparator)
		if i < 0 {
			return len(path)
		}
		end += i + len(categorySeparator)
	}
	return end - len(categorySeparator)
}

// rollUp converts counts by value to counts by node, each including its descendants.
func (t *categoryTree) rollUp(byValue []uint32) []int {
	counts := make([]int, len(t.nodes))
	for v, n := range byValue {
		if node := t.nodeOf[v]; node != noNode && n > 0 {
			counts[node] += int(n)
		}
	}
	for i := len(counts) - 1; i >= 0; i-- { // nodes come after their parents
		if parent := t.nodes[i].parent; parent != noNode {
			counts[parent] += counts[i]
		}
	}
	return counts
}
