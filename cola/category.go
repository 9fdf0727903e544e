package cola

import (
	"strings"
	"unicode"
)

// pathSeparator joins the levels of a category path.
const pathSeparator = " > "

// CategoryRoots lists the roots of the category taxonomy.
func CategoryRoots() []string { return []string{"Beer", "Wine", "Liquor"} }

// SettlePath returns a category path with its levels joined by " > ", however they were spaced: white space around a level
// is dropped, runs within one become a single space, and empty levels go. Letter case stays. Settling twice is the same as
// once.
func SettlePath(path string) string { return strings.Join(pathLevels(path), pathSeparator) }

// SettleCategory returns a label's category path as it is stored: settled as by SettlePath, and its root in the spelling of
// CategoryRoots. A root that is none of those stays; see CheckCola.
func SettleCategory(path string) string {
	levels := pathLevels(path)
	if len(levels) > 0 {
		levels[0] = rootSpelling(levels[0])
	}
	return strings.Join(levels, pathSeparator)
}

// FoldPath returns the form in which paths are compared: settled, and each level folded as FoldText does.
func FoldPath(path string) string { return FoldText(SettlePath(path)) }

// pathLevels returns the levels of a path, each settled, without empty ones. Combining marks alone are nothing to read, so
// they make no level; thus folding leaves as many levels as there were.
func pathLevels(path string) []string {
	levels := make([]string, 0, strings.Count(path, ">")+1)
	for level := range strings.SplitSeq(path, ">") {
		level = strings.Join(strings.Fields(level), " ")
		if strings.ContainsFunc(level, isReadable) {
			levels = append(levels, level)
		}
	}
	return levels
}

func isReadable(r rune) bool { return r != ' ' && !unicode.Is(unicode.Mn, r) }

// CategoryLeaf returns the last level of a category path, empty for an empty one.
func CategoryLeaf(path string) string {
	levels := pathLevels(path)
	if len(levels) == 0 {
		return ""
	}
	return levels[len(levels)-1]
}

// CategoryRoot returns the first level of a category path, in the spelling of CategoryRoots when it is one of those in
// another letter case.
func CategoryRoot(path string) string {
	levels := pathLevels(path)
	if len(levels) == 0 {
		return ""
	}
	return rootSpelling(levels[0])
}

// rootSpelling returns a first level in the spelling of CategoryRoots, or as it is when it is none of them.
func rootSpelling(level string) string {
	for _, root := range CategoryRoots() {
		if strings.EqualFold(root, level) {
			return root
		}
	}
	return level
}

// PathWithin reports whether path is prefix or lies below it, level by level and without regard to letter case, accents or spacing:
// "Wine > Red Wine" is within "wine" but not within "Wine > Red". Every path is within the empty one.
func PathWithin(path, prefix string) bool {
	return levelsWithin(strings.Split(FoldPath(path), pathSeparator), FoldPath(prefix))
}

func levelsWithin(levels []string, prefix string) bool {
	if prefix == "" {
		return true
	}
	want := strings.Split(prefix, pathSeparator)
	if len(levels) < len(want) {
		return false
	}
	for i := range want {
		if levels[i] != want[i] {
			return false
		}
	}
	return true
}

// AliasTable returns the published transitions as ResolveCategory takes them: former path, as FoldPath makes it, to current
// path, settled. Of two transitions of one path the later counts; a transition from or to nothing is left out.
func AliasTable(aliases []CategoryAlias) map[string]string {
	table := make(map[string]string, len(aliases))
	for _, a := range aliases {
		from, to := FoldPath(a.Alias), SettlePath(a.Path)
		if from != "" && to != "" {
			table[from] = to
		}
	}
	return table
}

// ResolveCategory returns the current path for one that may be former: the longest former prefix (see AliasTable) is
// replaced by what took its place, what follows it is kept, and that is repeated while it applies. A transition from a path
// to one below itself applies once. A path that transitions lead around in a circle is returned settled and otherwise as it
// was, so resolving twice is always the same as once.
func ResolveCategory(path string, aliases map[string]string) string {
	settled := SettlePath(path)
	if len(aliases) == 0 || settled == "" {
		return settled
	}
	current := settled
	var used map[string]bool
	for {
		former, next := replacePrefix(current, aliases)
		if former == "" {
			return current
		}
		if used[former] {
			return settled
		}
		if used == nil {
			used = map[string]bool{}
		}
		used[former] = true
		current = next
	}
}

// replacePrefix applies the transition of the longest former prefix of a settled path and returns that prefix, empty when
// none applies. A path within the place that a transition leads to is current, also when that lies below the former path.
func replacePrefix(path string, aliases map[string]string) (former, next string) {
	levels := strings.Split(path, pathSeparator)
	folded := strings.Split(FoldText(path), pathSeparator)
	for n := len(levels); n > 0; n-- {
		former = strings.Join(folded[:n], pathSeparator)
		to, ok := aliases[former]
		if !ok || levelsWithin(folded, FoldText(to)) {
			continue
		}
		return former, strings.Join(append([]string{to}, levels[n:]...), pathSeparator)
	}
	return "", path
}
