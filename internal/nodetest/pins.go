package nodetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

var exactVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$`)

// CheckPins returns an error if a dependency in package.json or its lock file lacks an exact
// version or a checksum, or names a registry, or if a package that contains Node.js is not an
// optional dependency.
func CheckPins(files fs.FS) error {
	var list struct{ Dependencies, OptionalDependencies map[string]string }
	var lock struct {
		Packages map[string]struct{ Version, Resolved, Integrity string }
	}
	for name, v := range map[string]any{"package.json": &list, "package-lock.json": &lock} {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(content, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	var wrong []error
	for _, pins := range []map[string]string{list.Dependencies, list.OptionalDependencies} {
		if len(pins) == 0 {
			wrong = append(wrong, errors.New("no pinned dependencies"))
		}
		for name, version := range pins {
			if locked := lock.Packages["node_modules/"+name].Version; !exactVersion.MatchString(version) ||
				locked != version {
				wrong = append(wrong,
					fmt.Errorf("%s: version %q in package.json, %q in the lock file", name, version, locked))
			}
		}
	}
	for path, p := range lock.Packages {
		if path != "" && (p.Resolved != "" || !strings.HasPrefix(p.Integrity, "sha512-")) {
			wrong = append(wrong, fmt.Errorf("%s: resolved %q, integrity %q", path, p.Resolved, p.Integrity))
		}
	}
	for _, name := range nodePackages {
		if list.OptionalDependencies[name] == "" {
			wrong = append(wrong, fmt.Errorf("%s is not an optional dependency", name))
		}
	}
	return errors.Join(wrong...)
}
