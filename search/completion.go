package search

import (
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/search/internal/column"
	"github.com/colaregistry/colaregistry/search/internal/text"
)

// How a value completes a query.
const (
	nameBegins = iota // at its start
	wordBegins        // at a later word
	noMatch
)

// completion is a query to complete, in the forms that are compared with the beginnings of values.
type completion struct {
	keys []string // the query's BrandKey and, if different, the result of text.JoinDetached: "d yquem", "dyquem"
	// If the last word may be the beginning of "and", which keys omit, head is the key before that
	// word, including the space, and spelled is the query with connectors. Otherwise both are
	// empty.
	head, spelled string
}

func newCompletion(q string) *completion {
	key := text.BrandKey(q)
	c := &completion{keys: []string{key}}
	if joined := text.JoinDetached(key); joined != key {
		c.keys = append(c.keys, joined)
	}
	if at := strings.LastIndexByte(key, ' ') + 1; at > 0 && (key[at:] == "a" || key[at:] == "an") {
		c.head, c.spelled = key[:at], text.SpelledKey(q)
	}
	return c
}

// isEmpty reports whether every value completes the query.
func (c *completion) isEmpty() bool { return c.keys[0] == "" }

// match returns how a value with the given key completes the query.
func (c *completion) match(key, value string) int {
	best := c.matchKey(key)
	if c.head != "" && best != nameBegins {
		if head := matchOf(key, c.head); head < best {
			best = min(best, max(head, matchOf(text.SpelledKey(value), c.spelled)))
		}
	}
	return best
}

// matchKey returns how a key completes the query, ignoring connectors.
func (c *completion) matchKey(key string) int {
	best := noMatch
	for _, k := range c.keys {
		best = min(best, matchOf(key, k))
	}
	return best
}

// matchOf returns how name completes key. Both are in the same form.
func matchOf(name, key string) int {
	switch {
	case strings.HasPrefix(name, key):
		return nameBegins
	case strings.Contains(name, " "+key):
		return wordBegins
	}
	return noMatch
}

// maySpell reports whether a value may contain "and", & or +, which its key omits.
func maySpell(value string) bool {
	return strings.ContainsAny(value, "&+") || strings.Contains(text.Fold(value), "and")
}

// eachCandidate calls yield with the indexes of the keys whose values may complete the query in the
// given way, without duplicates and in ascending order.
func (c *completion) eachCandidate(keys *column.Dict, match int, yield func(k uint32)) {
	visit, parts := yield, c.keys
	var found []uint32
	if c.head != "" { // keys[0] begins with head
		parts = append([]string{c.head}, c.keys[1:]...)
	}
	if len(parts) > 1 {
		visit = func(k uint32) { found = append(found, k) }
	}
	for _, part := range parts {
		if match == wordBegins {
			keys.EachContaining(" "+part, visit)
			continue
		}
		lo, hi := keys.PrefixRange(part)
		for k := lo; k < hi; k++ {
			visit(k)
		}
	}
	slices.Sort(found)
	for _, k := range slices.Compact(found) {
		yield(k)
	}
}
