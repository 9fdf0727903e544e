package main

import (
	"errors"
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
	Issuer   string   `required:"" env:"COLAREGISTRY_OIDC_ISSUER" placeholder:"URL" help:"Issuer of the app's tokens, exactly as in their iss claim."`
	ClientID string   `name:"client-id" required:"" placeholder:"ID" help:"Client ID of the app at the issuer."`
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
	fmt.Fprintln(env.stdout, appLine(app))
	return nil
}

// app returns the app that the flags describe.
func (c *appRegister) app() (app store.App, err error) {
	if err := checkIssuer(c.Issuer); err != nil {
		return app, err
	}
	app = store.App{Issuer: c.Issuer, ClientID: strings.TrimSpace(c.ClientID)}
	if app.ClientID == "" {
		return app, errors.New("--client-id must not be empty")
	}
	if app.Name, err = recordName(c.Name, "an app"); err != nil {
		return app, err
	}
	for _, s := range c.Scopes {
		scope, known := cola.ParseScope(s)
		if !known {
			return app, fmt.Errorf("--scope: unknown scope %q; allowed: %s", s, joinScopes(cola.Scopes()))
		}
		app.Scopes = append(app.Scopes, scope)
	}
	return app, nil
}

// checkIssuer rejects values that are not a single issuer, such as the list in the server's
// environment variable.
func checkIssuer(issuer string) error {
	if u, err := url.Parse(issuer); err != nil || u.Host == "" || strings.Contains(issuer, ",") {
		return fmt.Errorf("--issuer: %q is not an issuer URL; use one URL, such as https://issuer.example", issuer)
	}
	return nil
}

func joinScopes(scopes []cola.Scope) string {
	if len(scopes) == 0 {
		return "read-only"
	}
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, " ")
}

func appLine(a store.App) string {
	line := fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s", a.ID, a.Name, a.Issuer,
		a.ClientID, joinScopes(a.Scopes), a.CreatedAt.Format(time.RFC3339))
	if !a.DisabledAt.IsZero() {
		line += "\tdisabled " + a.DisabledAt.Format(time.RFC3339)
	}
	return line
}

type appList struct{ storeFlags }

// Run prints one line per app.
func (c *appList) Run(env *environment) error {
	return list(&c.storeFlags, env, func(st store.Store) ([]store.App, error) { return st.Apps(env) }, appLine)
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
	Account string `placeholder:"EMAIL" help:"Email address of one account (default: all accounts)."`
}

// Run prints one line per link.
func (c *appLinks) Run(env *environment) error {
	return list(&c.storeFlags, env, func(st store.Store) ([]store.Link, error) {
		account, err := chosenAccount(env, st, c.Account)
		if err != nil {
			return nil, err
		}
		return st.Links(env, account)
	}, linkLine)
}

func linkLine(l store.Link) string {
	line := fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s", l.ID, l.Email, l.App.Name,
		joinScopes(l.Effective()), l.CreatedAt.Format(time.RFC3339), lastUse(l.LastUsedAt))
	if !l.RevokedAt.IsZero() {
		line += "\trevoked " + l.RevokedAt.Format(time.RFC3339)
	}
	return line
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
