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
func (c *keyCreate) Run(env *environment) error {
	name, err := recordName(c.Name, "a key")
	if err != nil {
		return err
	}
	return c.withAccount(env, c.Account, func(st database, a store.Account) error {
		secret, key, err := makeKey(env, st, a, name)
		if err != nil {
			return err
		}
		fmt.Fprintln(env.stdout, secret.Reveal())
		fmt.Fprintf(env.stderr, "Created key %d for %s. Save it now; it is not shown again.\n", key.ID, a.Email)
		return nil
	})
}

// recordName trims and checks the name of a record.
func recordName(name, kind string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || len([]rune(name)) > 100 ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", usageErrorf("--name: the name of %s must be 1 to 100 printable characters long", kind)
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

type keyList struct {
	storeFlags
	outputFlags
}

// Run prints one row per key.
func (c *keyList) Run(env *environment) error {
	read := func(st store.Store) ([]store.Key, error) { return st.Keys(env, 0) }
	return list(&c.storeFlags, c.outputFlags, env, read, newKeyRow)
}

type keyRow struct {
	ID         int64      `json:"id"`
	Account    string     `json:"account"`
	Name       string     `json:"name"`
	Key        string     `json:"key"` // first and last characters
	CreatedAt  *time.Time `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
	ExpiresAt  *time.Time `json:"expires_at"`
	RevokedAt  *time.Time `json:"revoked_at"`
}

func newKeyRow(k store.Key) keyRow {
	return keyRow{
		ID: k.ID, Account: k.Email, Name: k.Name, Key: k.Prefix + "…" + k.LastFour, CreatedAt: orNil(k.CreatedAt),
		LastUsedAt: orNil(k.LastUsedAt), ExpiresAt: orNil(k.ExpiresAt), RevokedAt: orNil(k.RevokedAt),
	}
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
