package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/colaregistry/colaregistry/internal/keyring"
)

// writeSecret creates a file with the given content and mode and returns its path.
func writeSecret(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // regardless of the umask
		t.Fatal(err)
	}
	return path
}

// parsed parses a command line and reads the secret files it names.
func parsed(t *testing.T, args ...string) (line cli, log string, err error) {
	t.Helper()
	parser, err := kong.New(&line, kong.DefaultEnvars("COLAREGISTRY"), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	command, err := parser.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err = readSecretFiles(command.Flags(), slog.New(slog.NewTextHandler(&b, nil)))
	return line, b.String(), err
}

func TestSecretFiles(t *testing.T) {
	t.Setenv("COLAREGISTRY_SMTP_FILE", writeSecret(t, "smtp://u:p@mail.example:587\n", 0o600))
	line, log, err := parsed(t, "serve", "--database-url-file", writeSecret(t, "postgres://u:p@db/labels\r\n", 0o640),
		"--sign-in-client-secret-file", writeSecret(t, "one", 0o600),
		"--sign-in-client-secret-file", writeSecret(t, "t,w,o \n", 0o600))
	if err != nil || log != "" {
		t.Fatalf("%v, log %q", err, log)
	}
	s := &line.Serve
	if s.DatabaseURL != "postgres://u:p@db/labels" || s.SMTP != "smtp://u:p@mail.example:587" ||
		!slices.Equal(s.SignInSecrets, []string{"one", "t,w,o "}) {
		t.Errorf("read %q, %q, %q", s.DatabaseURL, s.SMTP, s.SignInSecrets)
	}
}

func TestSecretFileProblems(t *testing.T) {
	for name, path := range map[string]string{
		"missing": filepath.Join(t.TempDir(), "none"), "a folder": t.TempDir(), "empty": writeSecret(t, "", 0o600),
		"a line break": writeSecret(t, "\n", 0o600),
		"lines":        writeSecret(t, "topsecret\nmore\n", 0o600), "endless": "/dev/zero",
	} {
		_, _, err := parsed(t, "account", "list", "--database-url-file", path)
		message := fmt.Sprint(err)
		if !strings.Contains(message, "--database-url-file") || !strings.Contains(message, path) ||
			strings.Contains(message, "topsecret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := writeSecret(t, "sqlite:x", 0o604)
	if _, log, err := parsed(t, "account", "list", "--database-url-file", path); err != nil ||
		!strings.Contains(log, path) {
		t.Errorf("readable by others: %v, log %q, want a warning", err, log)
	}
	_, _, err := parsed(t, "key", "list", "--database-url-file", path, "--database-url", "sqlite:y")
	if err == nil || !strings.Contains(err.Error(), "both") {
		t.Errorf("both flags: %v", err)
	}
	t.Setenv("COLAREGISTRY_DATABASE_URL", "sqlite:y")
	if _, _, err := parsed(t, "key", "list", "--database-url-file", path); err == nil ||
		!strings.Contains(err.Error(), "both") {
		t.Errorf("flag and environment variable: %v", err)
	}
}

// TestKeyFilePermissions checks the warning about key files that other users can read.
func TestKeyFilePermissions(t *testing.T) {
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o604: true, 0o644: true} {
		var log bytes.Buffer
		path := writeSecret(t, keyring.NewKey()+"\n", mode)
		env := &environment{Context: t.Context(), log: slog.New(slog.NewTextHandler(&log, nil))}
		_, err := secretFlags{SecretKeyFile: path}.keyring(env, storeFlags{}, nil)
		if err != nil || (strings.Count(log.String(), path) == 1) != warned {
			t.Errorf("%s: error %v, log %q; want a warning: %t", mode, err, &log, warned)
		}
	}
	info, err := os.Stat(writeSecret(t, "x", 0o644))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	warnReadable("/run/secrets/colaregistry.key", info, slog.New(slog.NewTextHandler(&log, nil)))
	if log.Len() > 0 {
		t.Errorf("mounted file: %s", &log)
	}
}

// TestSecretFileFlags checks that commands with the database URL, SMTP or client secret flags also
// have their file variants, and that every file flag sets another flag.
func TestSecretFileFlags(t *testing.T) {
	parser, err := kong.New(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, command := range parser.Model.Leaves(false) {
		names, files := map[string]bool{}, map[string]bool{}
		for _, group := range command.AllFlags(false) {
			for _, f := range group {
				names[f.Name] = true
				switch f.Target.Interface().(type) {
				case secretFile, []secretFile:
					files[f.Name] = true
				}
			}
		}
		for _, secret := range []string{"database-url", "smtp", "sign-in-client-secret"} {
			if names[secret] != files[secret+secretFileSuffix] {
				t.Errorf("%s: --%s %t, --%s%s %t", command.Path(), secret, names[secret], secret, secretFileSuffix,
					files[secret+secretFileSuffix])
			}
		}
		for name := range files {
			if value, named := strings.CutSuffix(name, secretFileSuffix); !named || !names[value] {
				t.Errorf("%s: --%s sets no flag", command.Path(), name)
			}
		}
		commands++
	}
	if commands < 10 {
		t.Errorf("%d commands", commands)
	}
}
