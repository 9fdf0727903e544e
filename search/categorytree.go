package search

import (
	"strings"

	"github.com/colaregistry/colaregistry/cola/vocabulary"
)

// categoryTree is what the category paths of a layer, transitions applied, are made of: a node for each path and each beginning of one.
type categoryTree struct {
	nodes []categoryNode
	of    []int32 // of each value of the column, its node; noNode for none
}

// categoryNode is one path.
type categoryNode struct {
	folded   string // as vocabulary.FoldPath makes it
	spelling string // of the value with the most labels
	labels   int    // of that value
	parent   int32  // noNode for a root
}

const noNode = -1

// growTree makes the tree of a segment whose values are moved so.
func (s *segment) growTree(moved []movedCategory) *categoryTree {
	c := &s.t.text[colCategory]
	now := make(map[uint32]string, len(moved))
	for _, m := range moved {
		now[m.value] = m.now
	}
	t := &categoryTree{of: make([]int32, c.len())}
	known := map[string]int32{}
	for v := range uint32(c.len()) {
		path, ok := now[v]
		if !ok {
			path = c.at(v)
		}
		t.of[v] = t.add(path, s.categories.values.list(v).n, known)
	}
	return t
}

// add puts a path that so many labels have into the tree, and returns its node.
func (t *categoryTree) add(path string, labels int, known map[string]int32) int32 {
	spelling := vocabulary.NormalizeCategory(path)
	node := int32(noNode)
	for folded := range eachNode(path) {
		end := levelsEnd(spelling, 1+strings.Count(folded, categorySeparator))
		i, ok := known[folded]
		if !ok {
			i = int32(len(t.nodes))
			known[folded] = i
			t.nodes = append(t.nodes, categoryNode{folded: folded, spelling: spelling[:end], labels: labels, parent: node})
		}
		if n := &t.nodes[i]; labels > n.labels || labels == n.labels && spelling[:end] < n.spelling {
			n.spelling, n.labels = spelling[:end], labels
		}
		node = i
	}
	return node
}

// levelsEnd returns where the first levels of a settled path end.
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

// rollUp turns the counts of values into those of nodes, each with all that lies below it.
func (t *categoryTree) rollUp(byValue []uint32) []int {
	counts := make([]int, len(t.nodes))
	for v, n := range byValue {
		if node := t.of[v]; node != noNode && n > 0 {
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
