package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	"github.com/alecthomas/kong"
)

// secretFile is the path of a file that contains another flag's value: a --NAME-file flag of this
// type sets --NAME. Files keep secrets out of command lines and environments, which other programs
// on the machine can read.
type secretFile string

const (
	secretFileSuffix = "-file"
	maxSecretFile    = 64 << 10
)

// readSecretFiles sets the flags whose values are in files.
func readSecretFiles(flags []*kong.Flag, log *slog.Logger) error {
	byName := map[string]*kong.Flag{}
	for _, f := range flags {
		byName[f.Name] = f
	}
	var errs []error
	for _, f := range flags {
		paths := secretPaths(f)
		if len(paths) == 0 {
			continue
		}
		value := byName[strings.TrimSuffix(f.Name, secretFileSuffix)]
		if !value.Target.IsZero() {
			errs = append(errs, fmt.Errorf("--%s and --%s are both set, by flag or environment variable; set only one",
				value.Name, f.Name))
			continue
		}
		for _, path := range paths {
			secret, err := readSecret(path, log)
			if err != nil {
				errs = append(errs, fmt.Errorf("--%s: %w", f.Name, err))
				continue
			}
			set(value.Target, secret)
		}
	}
	return errors.Join(errs...)
}

// secretPaths returns the non-empty paths of a secretFile flag, or nil for other flags.
func secretPaths(f *kong.Flag) (paths []string) {
	switch target := f.Target.Interface().(type) {
	case secretFile:
		if target != "" {
			paths = append(paths, string(target))
		}
	case []secretFile:
		for _, path := range target {
			paths = append(paths, string(path))
		}
	}
	return paths
}

// set sets a string flag, or appends to a repeatable flag.
func set(target reflect.Value, value string) {
	if target.Kind() == reflect.Slice {
		target.Set(reflect.Append(target, reflect.ValueOf(value)))
		return
	}
	target.SetString(value)
}

// readSecret returns the only line of a file. It warns if other users of the machine can read the
// file.
func readSecret(path string, log *slog.Logger) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fileError(path, err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxSecretFile+1))
	if err != nil {
		return "", fileError(path, err)
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	switch {
	case len(content) > maxSecretFile:
		return "", fmt.Errorf("%s is larger than %d bytes; it must contain one line", path, maxSecretFile)
	case secret == "":
		return "", fmt.Errorf("%s is empty; it must contain the secret on one line", path)
	case strings.ContainsAny(secret, "\r\n"):
		return "", fmt.Errorf("%s has more than one line; it must contain only the secret", path)
	}
	if info, err := file.Stat(); err == nil {
		warnReadable(path, info, log)
	}
	return secret, nil
}

// warnReadable warns if other users of the machine can read a file with a secret.
func warnReadable(path string, info fs.FileInfo, log *slog.Logger) {
	if runtime.GOOS == "windows" || info.Mode().Perm()&0o007 == 0 || isMounted(path) {
		return // on Windows, the mode doesn't show other users' access rights
	}
	log.Warn("secret file is readable by other users; run chmod o= on it",
		"file", path, "mode", info.Mode().Perm().String())
}

// isMounted reports whether a container engine mounted the secret. Such files are world-readable,
// but only in the container.
func isMounted(path string) bool {
	absolute, err := filepath.Abs(path)
	return err == nil && strings.HasPrefix(absolute, "/run/secrets/")
}
