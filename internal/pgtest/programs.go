package pgtest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	debianFolder = "/usr/lib/postgresql"           // contains a folder for each major version
	sourceFolder = "/usr/local/pgsql/bin"          // default location of a build from source
	programNames = "initdb postgres pg_basebackup" // required programs
)

// programs is the program folder of one PostgreSQL installation. All programs come from the same
// folder, because versions don't mix.
type programs string

func (p programs) path(name string) string { return filepath.Join(string(p), name) }

// findPrograms returns the first folder that contains all programs.
func findPrograms(folders []string) (programs, error) {
	for _, folder := range folders {
		if filepath.IsAbs(folder) && hasPrograms(folder) {
			return programs(folder), nil
		}
	}
	return "", fmt.Errorf("PostgreSQL not found: no directory in %s contains all of %s; "+
		"on Debian and Ubuntu run \"make tools\" (package postgresql); elsewhere install the server and add its programs to PATH",
		strings.Join(folders, string(filepath.ListSeparator)), programNames)
}

func hasPrograms(folder string) bool {
	for _, name := range strings.Fields(programNames) {
		if _, err := exec.LookPath(filepath.Join(folder, name)); err != nil {
			return false
		}
	}
	return true
}

// searchFolders returns the folders to search for PostgreSQL, in order of preference: the PATH,
// Debian's packages from newest to oldest, and a build from source.
func searchFolders(path, debian, source string) []string {
	return slices.Concat(filepath.SplitList(path), versionFolders(debian), []string{source})
}

// versionFolders returns the folders VERSION/bin below root, highest version first.
func versionFolders(root string) []string {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil // not Debian, or not installed
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return compareVersions(b.Name(), a.Name()) })
	var folders []string
	for _, entry := range entries {
		folders = append(folders, filepath.Join(root, entry.Name(), "bin"))
	}
	return folders
}

// compareVersions compares versions numerically: 9.6 comes before 15. A part that is not a number
// counts as 0.
func compareVersions(a, b string) int {
	numbers := func(version string) (ns []int) {
		for part := range strings.SplitSeq(version, ".") {
			n, _ := strconv.Atoi(part)
			ns = append(ns, n)
		}
		return ns
	}
	return cmp.Or(slices.Compare(numbers(a), numbers(b)), cmp.Compare(a, b))
}
