package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/colaregistry/colaregistry/internal/keyring"
)

// secretFlags name the file with the keys that secrets in the database and in cookies are encrypted with.
type secretFlags struct {
	SecretKeyFile string `name:"secret-key-file" placeholder:"FILE" help:"Keys that encrypt webhook secrets and sign-in attempts; the same file for every process. Created beside the embedded database when missing; required with PostgreSQL (see secret create)."`
}

// keyring loads the keys of the deployment. Beside an SQLite file it creates them when there are none.
func (f secretFlags) keyring(s storeFlags) (*keyring.Keyring, error) {
	if f.SecretKeyFile != "" {
		keys, err := keyring.Load(f.SecretKeyFile)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w\nCreate it with: colaregistry secret create %s", err, f.SecretKeyFile)
		}
		return keys, flagError("--secret-key-file", err)
	}
	p, err := s.place()
	switch {
	case err != nil:
		return nil, err
	case p.path == "":
		return nil, errors.New("--secret-key-file is required with PostgreSQL. " +
			"Create the file once with `colaregistry secret create FILE`, and give every process the same file")
	}
	file := strings.TrimSuffix(p.path, ".db") + ".key"
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	return keyring.LoadOrCreate(file)
}

// flagError names the flag that an error is about; it returns nil for none.
func flagError(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

type secretCommand struct {
	Create secretCreate `cmd:"" help:"Create the key file of a deployment. It is needed once, before the first start with PostgreSQL."`
}

type secretCreate struct {
	File      string `arg:"" help:"File to create. An existing one is never replaced."`
	IfMissing bool   `help:"Succeed when the file exists already, for start scripts."`
}

// Run creates the file.
func (c *secretCreate) Run(env *environment) error {
	if err := os.MkdirAll(filepath.Dir(c.File), 0o700); err != nil {
		return err
	}
	err := keyring.Create(c.File)
	switch {
	case errors.Is(err, fs.ErrExist) && c.IfMissing:
		_, err := keyring.Load(c.File)
		return err
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s exists already; without its keys, the secrets sealed under them cannot be read", c.File)
	case err != nil:
		return err
	}
	path, err := filepath.Abs(c.File)
	if err != nil {
		path = c.File
	}
	_, err = fmt.Fprintf(env.stdout, "Created %s. Give it to every process with --secret-key-file, and back it up with the database.\n", path)
	return err
}
