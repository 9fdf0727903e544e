package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

type keyCommand struct {
	Create keyCreate `cmd:"" help:"Create an API key."`
	List   keyList   `cmd:"" help:"List API keys."`
	Revoke keyRevoke `cmd:"" help:"Revoke an API key."`
}

type keyCreate struct {
	storeFlags
	Account  string    `required:"" placeholder:"EMAIL" help:"Email address of the account."`
	Name     string    `required:"" placeholder:"NAME" help:"Name of the key, up to 100 characters."`
	Scope    string    `default:"saved_searches:write" enum:"saved_searches:write,read" placeholder:"SCOPE" help:"Scope of the key: saved_searches:write, or read for a read-only key."`
	Networks []string  `name:"network" placeholder:"CIDR" help:"IP address or CIDR block that may use the key (repeatable, up to 20; default: any)."`
	Expires  cola.Date `placeholder:"DATE" help:"Last day on which the key works, in UTC (default: it never expires)."`
}

// Run creates the key and prints it.
func (c *keyCreate) Run(env *environment) error {
	name, err := recordName(c.Name, "a key")
	if err != nil {
		return err
	}
	key, err := registry.KeyParams{
		Name: name, Scope: c.Scope, Networks: strings.Join(c.Networks, ","), Expires: c.Expires,
	}.Normalize(time.Now())
	if err != nil {
		return keyFlagError(err)
	}
	return c.withAccount(env, c.Account, func(st database, a store.Account) error {
		secret, key, err := makeKey(env, st, a, key)
		if err != nil {
			return err
		}
		fmt.Fprintln(env.stdout, secret.Reveal())
		fmt.Fprintf(env.stderr, "Created key %d for %s. Save it now; it won't be shown again.\n", key.ID, a.Email)
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

// keyFlagError converts an error about a key's parameters to a usage error that names the flag.
func keyFlagError(err error) error {
	refusal, ok := errors.AsType[*cola.Error](err)
	if !ok {
		return err
	}
	for name, flag := range map[string]string{"networks": "--network", "expires": "--expires"} {
		if messages, ok := refusal.Details[name].([]string); ok {
			return usageErrorf("%s: %s", flag, strings.Join(messages, " "))
		}
	}
	return usageErrorf("%s", refusal.Message)
}

// makeKey creates a key with the name, scopes, networks and expiry in params.
func makeKey(env *environment, st store.Keys, a store.Account, params store.Key) (auth.Secret, store.Key, error) {
	secret := auth.NewSecret()
	key := secret.Key()
	key.AccountID, key.Name, key.KeyAccess, key.ExpiresAt = a.ID, params.Name, params.KeyAccess, params.ExpiresAt
	key, err := st.CreateKey(env, key, secret.Hash(), 0)
	return secret, key, err
}

type keyList struct {
	storeFlags
	outputFlags
	Account string `placeholder:"EMAIL" help:"Email address of one account (default: all accounts)."`
}

// Run prints one row per key.
func (c *keyList) Run(env *environment) error {
	return list(&c.storeFlags, c.outputFlags, env, func(st store.Store) ([]store.Key, error) {
		account, err := chosenAccount(env, st, c.Account)
		if err != nil {
			return nil, err
		}
		return st.Keys(env, account)
	}, newKeyRow)
}

// networkList is a list of networks; empty means any network.
type networkList []string

// String returns the networks separated by spaces.
func (l networkList) String() string {
	if len(l) == 0 {
		return "any"
	}
	return strings.Join(l, " ")
}

type keyRow struct {
	ID         int64       `json:"id"`
	Account    string      `json:"account"`
	Name       string      `json:"name"`
	Key        string      `json:"key"` // first and last characters
	Scopes     scopeList   `json:"scopes"`
	Networks   networkList `json:"networks"`
	CreatedAt  *time.Time  `json:"created_at"`
	LastUsedAt *time.Time  `json:"last_used_at"`
	ExpiresAt  *time.Time  `json:"expires_at"`
	RevokedAt  *time.Time  `json:"revoked_at"`
}

func newKeyRow(k store.Key) keyRow {
	return keyRow{
		ID: k.ID, Account: k.Email, Name: k.Name, Key: k.Prefix + "…" + k.LastFour,
		Scopes: newScopeList(k.Scopes), Networks: k.Networks.Strings(), CreatedAt: orNil(k.CreatedAt),
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
