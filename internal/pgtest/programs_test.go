package pgtest

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindPrograms(t *testing.T) {
	root := t.TempDir()
	install := func(folder string, mode os.FileMode, names ...string) string {
		folder = filepath.Join(root, folder)
		mustDo(t, os.MkdirAll(folder, 0o700))
		for _, name := range names {
			mustDo(t, os.WriteFile(filepath.Join(folder, name), nil, mode))
		}
		return folder
	}
	all := strings.Fields(programNames)
	wrappers := install("usr", 0o700, "pg_basebackup", "psql") // like /usr/bin on Debian
	notExecutable := install("notexecutable", 0o600, all...)
	onPath := install("path", 0o700, all...)
	install("debian/9.6/bin", 0o700, all...)
	fifteen := install("debian/15/bin", 0o700, all...)
	install("debian/17/bin", 0o700, "psql")
	source := install("source", 0o700, all...)
	debian := filepath.Join(root, "debian")
	path := strings.Join([]string{"", ".", wrappers, notExecutable}, string(filepath.ListSeparator))

	for name, tt := range map[string]struct {
		folders []string
		want    string
	}{
		"on the path":                  {searchFolders(path+string(filepath.ListSeparator)+onPath, debian, source), onPath},
		"newest complete installation": {searchFolders(path, debian, source), fifteen},
		"built from source":            {searchFolders(path, filepath.Join(root, "none"), source), source},
	} {
		if got, err := findPrograms(tt.folders); err != nil || string(got) != tt.want {
			t.Errorf("%s: found %s, %v; want %s", name, got, err, tt.want)
		}
	}
	_, err := findPrograms(searchFolders(path, filepath.Join(root, "none"), filepath.Join(root, "none")))
	if err == nil {
		t.Fatal("findPrograms succeeded without PostgreSQL")
	}
	for _, part := range []string{"initdb", wrappers, "make tools", "package postgresql"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error without %q: %v", part, err)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	ascending := []string{"junk", "9.5", "9.6", "9.10", "15", "15.1", "16"}
	for i, a := range ascending {
		for j, b := range ascending {
			if got, want := compareVersions(a, b), cmp.Compare(i, j); got != want {
				t.Errorf("compareVersions(%s, %s) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
