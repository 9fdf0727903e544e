package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/store"
)

// secretFlags name the file with the keys that secrets in the database and in cookies are encrypted with.
type secretFlags struct {
	SecretKeyFile string `name:"secret-key-file" placeholder:"FILE" help:"Keys that encrypt webhook secrets and sign-in attempts; the same file for every process. Created beside the embedded database when missing; required with PostgreSQL (see secret create)."`
}

// file returns the path of the key file. made says that the program creates it: the one beside an SQLite file.
func (f secretFlags) file(s storeFlags) (path string, made bool, err error) {
	if f.SecretKeyFile != "" {
		return f.SecretKeyFile, false, nil
	}
	p, err := s.place()
	switch {
	case err != nil:
		return "", false, err
	case p.path == "":
		return "", false, errors.New("--secret-key-file is required with PostgreSQL. " +
			"Create the file once with `colaregistry secret create FILE`, and give every process the same file")
	}
	return strings.TrimSuffix(p.path, ".db") + ".key", true, nil
}

// keyring loads the keys of the deployment. Beside an SQLite file it creates them when there are none.
func (f secretFlags) keyring(s storeFlags) (*keyring.Keyring, error) {
	file, made, err := f.file(s)
	if err != nil {
		return nil, err
	}
	if !made {
		keys, err := keyring.Load(file)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w\nCreate it with: colaregistry secret create %s", err, file)
		}
		return keys, flagError("--secret-key-file", err)
	}
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

// vault returns what opens the secrets in a database. It fails unless the keys are those of the database: the first start with keys
// makes them so.
func (f secretFlags) vault(ctx context.Context, s storeFlags, st store.SealedSecrets, keys *keyring.Keyring) (*vault.Vault, error) {
	file, _, err := f.file(s)
	if err != nil {
		return nil, err
	}
	v := vault.New(vault.Options{Keys: keys, Reload: func() (*keyring.Keyring, error) { return keyring.Load(file) }})
	check, err := st.KeyCheck(ctx, v.NewCheck())
	if err != nil {
		return nil, err
	}
	if err := v.VerifyCheck(check); err != nil {
		return nil, fmt.Errorf("%s is not the key file of this database: it was first started with key %s, and the file holds %s. "+
			"Give the right file with --secret-key-file (%w)", file, vault.KeyOf(check), strings.Join(v.KeyIDs(), ", "), err)
	}
	inUse, err := st.SecretKeys(ctx)
	if err != nil {
		return nil, err
	}
	if lost := lostKeys(inUse, v); len(lost) > 0 {
		return nil, fmt.Errorf("%s lacks the key %s, under which %s in the database are sealed. Put the key back, or see `colaregistry secret reseal --help`",
			file, lost[0], amount(inUse[lost[0]], "secret", "secrets"))
	}
	return v, nil
}

// lostKeys returns the ids of keys that secrets are sealed under and the vault lacks.
func lostKeys(inUse map[string]int, v *vault.Vault) (lost []string) {
	known := v.KeyIDs()
	for _, id := range slices.Sorted(maps.Keys(inUse)) {
		if id != "" && !slices.Contains(known, id) {
			lost = append(lost, id)
		}
	}
	return lost
}

// sealClear seals what an earlier version of the program stored in clear. Doing it again, also while such a version still runs, is right.
func sealClear(env *environment, st store.SealedSecrets, v *vault.Vault) error {
	sealed, err := st.RewriteSecrets(env, vault.Prefix, func(s store.SealedSecret) (string, error) {
		return v.Reseal(purposeOf(s), s.Destination, s.Text)
	})
	if err != nil {
		return err
	}
	hashed, err := st.HashLinks(env)
	if err == nil && sealed+hashed > 0 {
		env.log.Info("secrets of an earlier version are sealed", "secrets", sealed, "links", hashed)
	}
	return err
}

// refold repairs addresses that a version which folded them by Unicode wrote after the migration. Doing it again is right, as sealClear is.
func refold(env *environment, st store.Accounts) error {
	n, err := st.RefoldAddresses(env)
	if err == nil && n > 0 {
		env.log.Warn("addresses that an earlier version wrote are folded again", "addresses", n)
	}
	return err
}

func purposeOf(s store.SealedSecret) vault.Purpose {
	if s.Challenge {
		return vault.Challenge
	}
	return vault.Secret
}

type secretCommand struct {
	Create secretCreate `cmd:"" help:"Create the key file of a deployment. It is needed once, before the first start with PostgreSQL."`
	Rotate secretRotate `cmd:"" help:"Add a new key to a key file. It encrypts from then on; the others still decrypt."`
	Reseal secretReseal `cmd:"" help:"Encrypt every secret in the database under the first key of the key file, so that the others can be removed."`
	Status secretStatus `cmd:"" help:"Show the keys in use, and how many secrets each encrypts. The exit code is 1 when one is missing from the key file."`
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

type secretRotate struct {
	File string `arg:"" help:"Key file to add a key to."`
}

// Run adds a key.
func (c *secretRotate) Run(env *environment) error {
	id, err := keyring.AddFirst(c.File)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "Added key %s to %s. Put the file where every process reads it and back it up, then run: colaregistry secret reseal\n", id, c.File)
	return err
}

type secretReseal struct {
	storeFlags
	secretFlags
	ForgetLost bool `help:"Delete the secrets whose key is lost, instead of failing. Their owners have to replace them; until then their webhooks are not sent."`
}

// Run encrypts every secret under the first key. The check value comes last, so that a run that is cut off can be repeated.
func (c *secretReseal) Run(env *environment) (err error) {
	st, v, err := c.open(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	forgotten := 0
	resealed, err := st.RewriteSecrets(env, v.Current(), func(s store.SealedSecret) (string, error) {
		text, err := v.Reseal(purposeOf(s), s.Destination, s.Text)
		if c.ForgetLost && errors.Is(err, keyring.ErrUnknownKey) {
			forgotten++
			return "", nil
		}
		return text, err
	})
	if err == nil {
		_, err = st.HashLinks(env)
	}
	if err == nil {
		err = st.ReplaceKeyCheck(env, v.NewCheck())
	}
	if err != nil {
		return err
	}
	told := fmt.Sprintf("%s sealed again under key %s.", amount(resealed-forgotten, "secret is", "secrets are"), v.KeyIDs()[0])
	if c.ForgetLost {
		told += fmt.Sprintf(" %s deleted.", amount(forgotten, "secret was", "secrets were"))
	}
	_, err = fmt.Fprintln(env.stdout, told)
	return err
}

// open opens the database and its keys, without asking whether they belong together unless they have to.
func (c *secretReseal) open(env *environment) (database, *vault.Vault, error) {
	st, err := c.openExisting(env)
	if err != nil {
		return nil, nil, err
	}
	keys, err := c.keyring(c.storeFlags)
	var v *vault.Vault
	switch {
	case err != nil:
	case c.ForgetLost:
		v = vault.New(vault.Options{Keys: keys})
	default:
		v, err = c.vault(env, c.storeFlags, st, keys)
	}
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return st, v, nil
}

type secretStatus struct {
	storeFlags
	secretFlags
}

// Run shows the keys.
func (c *secretStatus) Run(env *environment) (err error) {
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	keys, err := c.keyring(c.storeFlags)
	if err != nil {
		return err
	}
	inUse, err := st.SecretKeys(env)
	if err != nil {
		return err
	}
	v := vault.New(vault.Options{Keys: keys})
	table := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	for i, id := range v.KeyIDs() {
		use := "decrypts"
		if i == 0 {
			use = "encrypts and decrypts"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", id, amount(inUse[id], "secret", "secrets"), use)
	}
	lost := lostKeys(inUse, v)
	for _, id := range lost {
		fmt.Fprintf(table, "%s\t%s\tMISSING from the key file\n", id, amount(inUse[id], "secret", "secrets"))
	}
	if n := inUse[""]; n > 0 {
		fmt.Fprintf(table, "in clear\t%s\tsealed by the next start of serve\n", amount(n, "secret", "secrets"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(lost) > 0 {
		return exitError(exitFailed)
	}
	return nil
}
