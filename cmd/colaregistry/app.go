package main

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

type appCommand struct {
	Register    appRegister    `cmd:"" help:"Register or update an app."`
	List        appList        `cmd:"" help:"List registered apps."`
	Disable     appDisable     `cmd:"" help:"Disable an app for every account."`
	Links       appLinks       `cmd:"" help:"List the links between accounts and apps."`
	RevokeLink  appRevokeLink  `cmd:"" name:"revoke-link" help:"Revoke an account's link to an app."`
	RestoreLink appRestoreLink `cmd:"" name:"restore-link" help:"Restore a revoked link."`
}

type appRegister struct {
	storeFlags
	outputFlags
	Issuer   string   `required:"" env:"COLAREGISTRY_OIDC_ISSUER" placeholder:"URL" help:"Issuer of the app's tokens, exactly as in their iss claim."`
	ClientID string   `name:"client-id" required:"" placeholder:"ID" help:"Client ID of the app, as registered with the issuer."`
	Name     string   `required:"" placeholder:"NAME" help:"Name shown to account holders, up to 100 characters."`
	Scopes   []string `name:"scope" placeholder:"SCOPE" help:"Scope to grant: saved_searches:write (repeatable; default: read-only)."`
}

// Run registers the app and prints it.
func (c *appRegister) Run(env *environment) (err error) {
	app, err := c.app()
	if err != nil {
		return err
	}
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	app, err = st.RegisterApp(env, app)
	if err != nil {
		return err
	}
	return printRow(env.stdout, c.outputFlags, newAppRow(app))
}

// app returns the app that the flags describe.
func (c *appRegister) app() (app store.App, err error) {
	if err := checkIssuer(c.Issuer); err != nil {
		return app, err
	}
	app = store.App{Issuer: c.Issuer, ClientID: strings.TrimSpace(c.ClientID)}
	if app.ClientID == "" {
		return app, usageErrorf("--client-id must not be empty")
	}
	if app.Name, err = recordName(c.Name, "an app"); err != nil {
		return app, err
	}
	for _, s := range c.Scopes {
		scope, known := cola.ParseScope(s)
		if !known {
			return app, usageErrorf("--scope: unknown scope %q; allowed: %s", s, scopeList(cola.Scopes()))
		}
		app.Scopes = append(app.Scopes, scope)
	}
	return app, nil
}

// checkIssuer rejects values that are not a single issuer, such as the list in the server's
// environment variable.
func checkIssuer(issuer string) error {
	if u, err := url.Parse(issuer); err != nil || u.Host == "" || strings.Contains(issuer, ",") {
		return usageErrorf("--issuer: %q is not an issuer URL; use one URL, such as https://issuer.example", issuer)
	}
	return nil
}

// scopeList is a list of scopes beyond read access.
type scopeList []cola.Scope

// newScopeList returns a list that is [] in JSON if it is empty.
func newScopeList(scopes []cola.Scope) scopeList { return append(scopeList{}, scopes...) }

// String returns the scopes separated by spaces.
func (l scopeList) String() string {
	if len(l) == 0 {
		return "read-only"
	}
	names := make([]string, len(l))
	for i, s := range l {
		names[i] = string(s)
	}
	return strings.Join(names, " ")
}

type appRow struct {
	ID           int64      `json:"id"`
	Name         string     `json:"name"`
	Issuer       string     `json:"issuer"`
	ClientID     string     `json:"client_id"`
	Scopes       scopeList  `json:"scopes"`
	RegisteredAt *time.Time `json:"registered_at"`
	DisabledAt   *time.Time `json:"disabled_at"`
}

func newAppRow(a store.App) appRow {
	return appRow{
		ID: a.ID, Name: a.Name, Issuer: a.Issuer, ClientID: a.ClientID, Scopes: newScopeList(a.Scopes),
		RegisteredAt: orNil(a.CreatedAt), DisabledAt: orNil(a.DisabledAt),
	}
}

type appList struct {
	storeFlags
	outputFlags
}

// Run prints one row per app.
func (c *appList) Run(env *environment) error {
	read := func(st store.Store) ([]store.App, error) { return st.Apps(env) }
	return list(&c.storeFlags, c.outputFlags, env, read, newAppRow)
}

type appDisable struct {
	storeFlags
	ID int64 `arg:"" help:"ID of the app, as shown by app list."`
}

// Run disables the app.
func (c *appDisable) Run(env *environment) error {
	return c.change(env, store.Store.DisableApp, c.ID,
		fmt.Sprintf("App %d is disabled.", c.ID), fmt.Sprintf("no app %d; see app list", c.ID))
}

type appLinks struct {
	storeFlags
	outputFlags
	Account string `placeholder:"EMAIL" help:"Email address of one account (default: all accounts)."`
}

// Run prints one row per link.
func (c *appLinks) Run(env *environment) error {
	return list(&c.storeFlags, c.outputFlags, env, func(st store.Store) ([]store.Link, error) {
		account, err := chosenAccount(env, st, c.Account)
		if err != nil {
			return nil, err
		}
		return st.Links(env, account)
	}, newLinkRow)
}

type linkRow struct {
	ID          int64      `json:"id"`
	Account     string     `json:"account"`
	App         string     `json:"app"`
	Scopes      scopeList  `json:"scopes"`
	FirstUsedAt *time.Time `json:"first_used_at"`
	LastUsedAt  *time.Time `json:"last_used_at"`
	RevokedAt   *time.Time `json:"revoked_at"`
}

func newLinkRow(l store.Link) linkRow {
	return linkRow{
		ID: l.ID, Account: l.Email, App: l.App.Name, Scopes: newScopeList(l.Effective()),
		FirstUsedAt: orNil(l.CreatedAt), LastUsedAt: orNil(l.LastUsedAt), RevokedAt: orNil(l.RevokedAt),
	}
}

type appRevokeLink struct {
	storeFlags
	ID int64 `arg:"" help:"ID of the link, as shown by app links."`
}

// Run revokes the link.
func (c *appRevokeLink) Run(env *environment) error {
	return c.change(env, ofAny(store.Store.RevokeLink), c.ID,
		fmt.Sprintf("Link %d is revoked.", c.ID), fmt.Sprintf("no link %d; see app links", c.ID))
}

type appRestoreLink struct {
	storeFlags
	ID int64 `arg:"" help:"ID of the link, as shown by app links."`
}

// Run restores the link.
func (c *appRestoreLink) Run(env *environment) error {
	return c.change(env, ofAny(store.Store.RestoreLink), c.ID,
		fmt.Sprintf("Link %d is restored.", c.ID), fmt.Sprintf("no link %d; see app links", c.ID))
}
