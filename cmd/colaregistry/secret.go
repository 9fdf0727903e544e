package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/internal/keyring"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/store"
)

// secretFlags configure the keys that encrypt secrets in the database and in cookies.
type secretFlags struct {
	SecretKeyFile string `group:"Database flags:" name:"secret-key-file" placeholder:"FILE" help:"File with the keys that encrypt secrets, the same for every process (see secret create). Required with PostgreSQL; with SQLite, it is created next to the database if missing."`
}

// file returns the path of the key file. managed is true if the program may create the file, next
// to an SQLite database.
func (f secretFlags) file(s storeFlags) (path string, managed bool, err error) {
	if f.SecretKeyFile != "" {
		return f.SecretKeyFile, false, nil
	}
	p, err := s.place()
	switch {
	case err != nil:
		return "", false, err
	case p.path == "":
		return "", false, usageErrorf("--secret-key-file is required with PostgreSQL; " +
			"create it once with \"colaregistry secret create FILE\" and use the same file for every process")
	}
	return strings.TrimSuffix(p.path, ".db") + ".key", true, nil
}

// checkKeyFile returns an error if the key file is unreadable, or if it is missing and the program
// may not create it. serve calls it before migrating a database.
func (f secretFlags) checkKeyFile(s storeFlags) error {
	file, managed, err := f.file(s)
	if err != nil {
		return err
	}
	if _, err = loadKeys(file); managed && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// keyring loads a database's keys. If the file is missing next to an SQLite database that is not
// bound to keys yet, keyring creates it. It warns if other users of the machine can read the file.
func (f secretFlags) keyring(env *environment, s storeFlags, st store.SealedSecrets) (*keyring.Keyring, error) {
	file, managed, err := f.file(s)
	if err == nil && managed {
		err = createKeys(env, st, file)
	}
	if err != nil {
		return nil, err
	}
	keys, err := loadKeys(file)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(file); err == nil {
		warnReadable(file, info, env.log)
	}
	return keys, nil
}

// createKeys creates a missing key file. It returns an error if the database is already bound to
// keys, because new ones can't decrypt its secrets.
func createKeys(env *environment, st store.SealedSecrets, file string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	check, err := st.KeyCheck(env, "")
	switch {
	case err != nil:
		return err
	case check != "":
		return fmt.Errorf("%s is missing, and this database is bound to key %s. Restore the file from a backup, "+
			"or pass its path with --secret-key-file. If it is lost, run \"colaregistry secret create %[1]s\" "+
			"and then \"colaregistry secret reseal --forget-lost %[2]s\"", file, vault.KeyOf(check))
	}
	if err := keyring.Create(file); !errors.Is(err, fs.ErrExist) { // another process may have created it
		return err
	}
	return nil
}

// loadKeys loads a key file.
func loadKeys(file string) (*keyring.Keyring, error) {
	keys, err := keyring.Load(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("key file %s: %w\nCreate it with: colaregistry secret create %[1]s", file, fs.ErrNotExist)
	}
	return keys, err
}

// vault returns the vault for a database's secrets. The first call binds the database to the keys;
// later calls fail unless the keys match. Keys in lost may be missing from the file.
func (f secretFlags) vault(
	env *environment, s storeFlags, st store.SealedSecrets, lost ...string,
) (*vault.Vault, error) {
	file, _, err := f.file(s)
	if err != nil {
		return nil, err
	}
	keys, err := f.keyring(env, s, st)
	if err != nil {
		return nil, err
	}
	v := vault.New(vault.Options{
		Keys: keys, Log: env.log, Reload: func() (*keyring.Keyring, error) { return keyring.Load(file) },
	})
	check, err := st.KeyCheck(env, v.NewCheck())
	if err != nil {
		return nil, err
	}
	if err := v.VerifyCheck(check); err != nil && !slices.Contains(lost, vault.KeyOf(check)) {
		return nil, fmt.Errorf("%s lacks key %s, to which this database is bound; the file contains %s. Pass the right file "+
			"with --secret-key-file, or restore the key if it was removed before \"colaregistry secret reseal\" (%w)",
			file, vault.KeyOf(check), strings.Join(v.KeyIDs(), ", "), err)
	}
	inUse, err := st.SecretKeys(env)
	if err != nil {
		return nil, err
	}
	for _, id := range missingKeys(inUse, v) {
		if !slices.Contains(lost, id) {
			return nil, fmt.Errorf("%s lacks key %s, which encrypts %s in the database. Restore the key, or see "+
				"\"colaregistry secret reseal --help\"", file, id, amount(inUse[id], "secret", "secrets"))
		}
	}
	return v, nil
}

// missingKeys returns the IDs of keys in use that the vault lacks.
func missingKeys(inUse map[string]int, v *vault.Vault) (missing []string) {
	known := v.KeyIDs()
	for _, id := range slices.Sorted(maps.Keys(inUse)) {
		if id != "" && !slices.Contains(known, id) {
			missing = append(missing, id)
		}
	}
	return missing
}

// sealPlaintext encrypts secrets that an earlier version stored in plaintext. It is idempotent and
// may run while that version is still running.
func sealPlaintext(env *environment, st store.SealedSecrets, v *vault.Vault) error {
	sealed, err := st.RewriteSecrets(env, vault.Prefix, func(s store.SealedSecret) (string, error) {
		return v.Reseal(purposeOf(s), s.Destination, s.Text)
	})
	if err != nil {
		return err
	}
	hashed, err := st.HashLinks(env)
	if err == nil && sealed+hashed > 0 {
		env.log.Info("encrypted secrets stored by an earlier version", "secrets", sealed, "links", hashed)
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
	Create secretCreate `cmd:"" help:"Create a key file."`
	Rotate secretRotate `cmd:"" help:"Add a new key to a key file."`
	Reseal secretReseal `cmd:"" help:"Re-encrypt all secrets under the newest key."`
	Status secretStatus `cmd:"" help:"Show how many secrets each key encrypts."`
}

type secretCreate struct {
	File      string `arg:"" help:"File to create. Existing files are never replaced."`
	IfMissing bool   `help:"Succeed if the file already exists."`
}

// Run creates the key file.
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
		return fmt.Errorf("%s already exists; replacing it would make secrets encrypted with its keys unreadable",
			c.File)
	case err != nil:
		return err
	}
	path, err := filepath.Abs(c.File)
	if err != nil {
		path = c.File
	}
	_, err = fmt.Fprintf(env.stdout,
		"Created %s. Pass it to every process with --secret-key-file and back it up separately from the database.\n",
		path)
	return err
}

type secretRotate struct {
	File string `arg:"" help:"Key file to add a key to."`
}

// Run adds a key to the file.
func (c *secretRotate) Run(env *environment) error {
	id, err := keyring.AddFirst(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return fileError(c.File, err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "Added key %s to %s. Back up the file, distribute it, and restart every process. "+
		"Then run: colaregistry secret reseal\n", id, c.File)
	return err
}

type secretReseal struct {
	storeFlags
	secretFlags
	ForgetLost []string `placeholder:"KEY" help:"ID of a lost key; delete the secrets encrypted under it instead of failing (repeatable). Their webhooks stop until the owners replace the secrets."`
}

// Run encrypts every secret under the first key. It replaces the check value last, so that an
// interrupted run can be repeated.
func (c *secretReseal) Run(env *environment) (err error) {
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	v, err := c.vault(env, c.storeFlags, st, c.ForgetLost...)
	if err != nil {
		return err
	}
	for _, id := range c.ForgetLost {
		if slices.Contains(v.KeyIDs(), id) {
			return usageErrorf("--forget-lost: key %s is not lost; the key file contains it", id)
		}
	}
	forgotten := 0
	resealed, err := st.RewriteSecrets(env, v.Current(), func(s store.SealedSecret) (string, error) {
		text, err := v.Reseal(purposeOf(s), s.Destination, s.Text)
		if errors.Is(err, keyring.ErrUnknownKey) && slices.Contains(c.ForgetLost, vault.KeyOf(s.Text)) {
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
	summary := fmt.Sprintf("Encrypted %s under key %s.", amount(resealed-forgotten, "secret", "secrets"), v.KeyIDs()[0])
	if len(c.ForgetLost) > 0 {
		summary += fmt.Sprintf(" Deleted %s.", amount(forgotten, "unreadable secret", "unreadable secrets"))
	}
	_, err = fmt.Fprintln(env.stdout, summary)
	return err
}

type secretStatus struct {
	storeFlags
	outputFlags
	secretFlags
}

// secretKeyRow is a key in the output of secret status.
type secretKeyRow struct {
	Key     *string `json:"key"` // null for secrets in plaintext
	Secrets int     `json:"secrets"`
	State   string  `json:"state"`
}

// States of a key.
const (
	keyCurrent   = "current"   // encrypts new secrets
	keyOlder     = "older"     // decrypts
	keyMissing   = "missing"   // not in the key file
	keyPlaintext = "plaintext" // no key
)

// Run prints one row per key. It fails if the file lacks a key.
func (c *secretStatus) Run(env *environment) (err error) {
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	rows, err := c.rows(env, st)
	if err != nil {
		return err
	}
	if err := printRows(env.stdout, c.outputFlags, rows); err != nil {
		return err
	}
	for _, r := range rows {
		switch r.State {
		case keyMissing:
			fmt.Fprintf(env.stderr, "The key file lacks key %s.\n", *r.Key)
			err = exitError(exitFailed)
		case keyPlaintext:
			fmt.Fprintln(env.stderr, "Plaintext secrets will be encrypted the next time serve starts.")
		}
	}
	return err
}

// rows returns the keys in the file, the missing keys and, if there are any, the plaintext secrets.
func (c *secretStatus) rows(env *environment, st database) ([]secretKeyRow, error) {
	keys, err := c.keyring(env, c.storeFlags, st)
	if err != nil {
		return nil, err
	}
	inUse, err := st.SecretKeys(env)
	if err != nil {
		return nil, err
	}
	check, err := st.KeyCheck(env, "")
	if err != nil {
		return nil, err
	}
	if bound := vault.KeyOf(check); bound != "" {
		inUse[bound] += 0 // list it even if it encrypts no secrets
	}
	var rows []secretKeyRow
	v := vault.New(vault.Options{Keys: keys})
	state := keyCurrent
	for _, id := range v.KeyIDs() {
		rows = append(rows, secretKeyRow{&id, inUse[id], state})
		state = keyOlder
	}
	for _, id := range missingKeys(inUse, v) {
		rows = append(rows, secretKeyRow{&id, inUse[id], keyMissing})
	}
	if n := inUse[""]; n > 0 {
		rows = append(rows, secretKeyRow{nil, n, keyPlaintext})
	}
	return rows, nil
}
