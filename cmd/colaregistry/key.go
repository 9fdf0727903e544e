package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/store"
)

type keyCommand struct {
	Create keyCreate `cmd:"" help:"Create an API key."`
	List   keyList   `cmd:"" help:"List API keys."`
	Revoke keyRevoke `cmd:"" help:"Revoke an API key."`
}

type keyCreate struct {
	storeFlags
	Account string `required:"" placeholder:"EMAIL" help:"Email address of the account."`
	Name    string `required:"" placeholder:"NAME" help:"Name of the key, up to 100 characters."`
}

// Run creates the key and prints it.
func (c *keyCreate) Run(env *environment) (err error) {
	name, err := recordName(c.Name, "a key")
	if err != nil {
		return err
	}
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	a, err := findAccount(env, st, c.Account)
	if err != nil {
		return err
	}
	secret, key, err := makeKey(env, st, a, name)
	if err != nil {
		return err
	}
	fmt.Fprintln(env.stdout, secret.Reveal())
	fmt.Fprintf(env.stderr, "Created key %d for %s. Save it now; it is not shown again.\n", key.ID, a.Email)
	return nil
}

// recordName trims and checks the name of a record.
func recordName(name, kind string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || len([]rune(name)) > 100 ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("--name: the name of %s must be 1 to 100 printable characters long", kind)
	}
	return name, nil
}

func makeKey(env *environment, st store.Keys, a store.Account, name string) (auth.Secret, store.Key, error) {
	secret := auth.NewSecret()
	key := secret.Key()
	key.AccountID, key.Name = a.ID, name
	key, err := st.CreateKey(env, key, secret.Hash(), 0)
	return secret, key, err
}

type keyList struct{ storeFlags }

// Run prints one line per key.
func (c *keyList) Run(env *environment) error {
	return list(&c.storeFlags, env, func(st store.Store) ([]store.Key, error) { return st.Keys(env, 0) }, keyLine)
}

func keyLine(k store.Key) string {
	line := fmt.Sprintf("%d\t%s\t%s\t%s…%s\t%s\t%s", k.ID, k.Email, k.Name, k.Prefix,
		k.LastFour, k.CreatedAt.Format(time.RFC3339), lastUse(k.LastUsedAt))
	if !k.RevokedAt.IsZero() {
		line += ", revoked " + k.RevokedAt.Format(time.RFC3339)
	}
	return line
}

// lastUse formats the time of the last use.
func lastUse(at time.Time) string {
	if at.IsZero() {
		return "never used"
	}
	return "used " + at.Format(time.RFC3339)
}

type keyRevoke struct {
	storeFlags
	ID int64 `arg:"" help:"ID of the key, as shown by key list."`
}

// Run revokes the key.
func (c *keyRevoke) Run(env *environment) error {
	return c.change(env, ofAny(store.Store.RevokeKey), c.ID,
		fmt.Sprintf("Key %d is revoked.", c.ID), fmt.Sprintf("no key %d; see key list", c.ID))
}
