package vocabulary

import (
	"strings"
	"unicode"
)

// pathSeparator joins the levels of a category path.
const pathSeparator = " > "

// CategoryRoots lists the roots of the category taxonomy.
func CategoryRoots() []string { return []string{"Beer", "Wine", "Liquor"} }

// NormalizePath joins the levels of a category path with " > ". It trims and collapses white space,
// drops empty levels, and keeps the letter case. It is idempotent.
func NormalizePath(path string) string { return strings.Join(pathLevels(path), pathSeparator) }

// NormalizeCategory returns the stored form of a category path: normalized, with the root spelled
// as in CategoryRoots. An unknown root is unchanged.
func NormalizeCategory(path string) string {
	levels := pathLevels(path)
	if len(levels) > 0 {
		levels[0] = rootSpelling(levels[0])
	}
	return strings.Join(levels, pathSeparator)
}

// FoldPath returns the form in which paths are compared: normalized and folded.
func FoldPath(path string) string { return FoldText(NormalizePath(path)) }

// pathLevels returns the normalized, non-empty levels of a path. A level that consists of combining
// marks counts as empty; otherwise, folding would remove it and change the number of levels.
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

// CategoryLeaf returns the last level of a category path.
func CategoryLeaf(path string) string {
	levels := pathLevels(path)
	if len(levels) == 0 {
		return ""
	}
	return levels[len(levels)-1]
}

// CategoryRoot returns the first level of a category path. A known root is spelled as in
// CategoryRoots.
func CategoryRoot(path string) string {
	levels := pathLevels(path)
	if len(levels) == 0 {
		return ""
	}
	return rootSpelling(levels[0])
}

// rootSpelling returns a known root as spelled in CategoryRoots, and an unknown root unchanged.
func rootSpelling(level string) string {
	for _, root := range CategoryRoots() {
		if strings.EqualFold(root, level) {
			return root
		}
	}
	return level
}

// PathWithin reports whether path equals prefix or is below it, ignoring letter case, accents and
// spacing. "Wine > Red Wine" is within "wine" but not within "Wine > Red". Every path is within the
// empty path.
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

// CategoryAlias maps a former category path to the path that replaced it.
type CategoryAlias struct {
	Alias string `json:"alias"` // former path, levels joined by " > "
	Path  string `json:"path"`  // current path
}

// AliasTable returns the table for ResolveCategory, which maps folded former paths to normalized
// current paths. The last alias of a path wins. Aliases with an empty side are ignored.
func AliasTable(aliases []CategoryAlias) map[string]string {
	table := make(map[string]string, len(aliases))
	for _, a := range aliases {
		from, to := FoldPath(a.Alias), NormalizePath(a.Path)
		if from != "" && to != "" {
			table[from] = to
		}
	}
	return table
}

// ResolveCategory returns the current path for a path that may be a former one. It replaces the
// longest former prefix with its current path, keeps the rest, and repeats until no alias applies.
// An alias to a path below itself applies once. A path that leads to a cycle of aliases is only
// normalized. ResolveCategory is idempotent.
func ResolveCategory(path string, aliases map[string]string) string {
	normalized := NormalizePath(path)
	if len(aliases) == 0 || normalized == "" {
		return normalized
	}
	current := normalized
	var used map[string]bool
	for {
		former, next := replacePrefix(current, aliases)
		if former == "" {
			return current
		}
		if used[former] {
			return normalized
		}
		if used == nil {
			used = map[string]bool{}
		}
		used[former] = true
		current = next
	}
}

// replacePrefix applies the alias of the longest former prefix of a normalized path and returns
// that prefix, or "" if no alias applies. A path within an alias's target is current, even if the
// target is below the former path.
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
