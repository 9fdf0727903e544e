package main

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/store"
)

// dashboardFlags say how account holders sign in to the dashboard, and where they buy.
type dashboardFlags struct {
	SignInIssuers     []string     `name:"sign-in-issuer" placeholder:"URL" help:"OpenID Connect issuer for signing in to the dashboard; may be repeated. Defaults to --oidc-issuer; without either, account holders sign in by link (account link)."`
	SignInClients     []string     `name:"sign-in-client-id" placeholder:"ID" help:"Client ID of the dashboard at the issuer; one for each issuer, in the same order."`
	SignInSecrets     []string     `name:"sign-in-client-secret" placeholder:"SECRET" help:"Client secret of the dashboard at the issuer; one for each issuer, in the same order, or none for public clients. Other users of the machine can read command lines: prefer --sign-in-client-secret-file."`
	SignInSecretFiles []secretFile `name:"sign-in-client-secret-file" placeholder:"PATH" help:"File with a client secret; one for each issuer, in the same order."`
	SignInNames       []string     `name:"sign-in-name" placeholder:"NAME" help:"Label of the issuer's sign-in button; one for each issuer, in the same order. Defaults to the issuer's host."`
	BillingURL        string       `name:"billing-url" placeholder:"URL" help:"Page where account holders change their plan; the plans page links to it."`
}

// signInIssuers pairs the flags up. tokenIssuers are those whose access tokens are taken.
func (f *dashboardFlags) signInIssuers(tokenIssuers []string) ([]auth.SignInIssuer, error) {
	urls := f.SignInIssuers
	if len(urls) == 0 && len(f.SignInClients) > 0 {
		urls = tokenIssuers
	}
	if len(f.SignInClients) != len(urls) {
		return nil, fmt.Errorf("--sign-in-client-id: %d given for %d issuers to sign in with; give one for each, in their order", len(f.SignInClients), len(urls))
	}
	for flag, values := range map[string][]string{"--sign-in-client-secret": f.SignInSecrets, "--sign-in-name": f.SignInNames} {
		if len(values) != 0 && len(values) != len(urls) {
			return nil, fmt.Errorf("%s: %d given for %d issuers to sign in with; give one for each, in their order, or none", flag, len(values), len(urls))
		}
	}
	list := make([]auth.SignInIssuer, len(urls))
	for i, u := range urls {
		list[i] = auth.SignInIssuer{URL: u, ClientID: f.SignInClients[i]}
		if len(f.SignInSecrets) > 0 {
			list[i].ClientSecret = f.SignInSecrets[i]
		}
		if len(f.SignInNames) > 0 {
			list[i].Name = f.SignInNames[i]
		}
	}
	return list, nil
}

// linkGoodFor is how long a link to sign in with may be used.
const linkGoodFor = 15 * time.Minute

type accountLink struct {
	storeFlags
	Account   string `required:"" placeholder:"E" help:"Email address of the account."`
	PublicURL string `name:"public-url" default:"http://127.0.0.1:8080" placeholder:"URL" help:"Scheme and host that users reach the server at (${default})."`
}

// Run makes a link and prints it, alone, on standard output.
func (c *accountLink) Run(env *environment) (err error) {
	publicURL, err := checkedRoot("--public-url", c.PublicURL)
	if err != nil {
		return err
	}
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	account, err := findAccount(env, st, c.Account)
	if err != nil {
		return err
	}
	link, err := makeLink(env, st, account, publicURL)
	if err != nil {
		return err
	}
	fmt.Fprintln(env.stdout, link)
	fmt.Fprintf(env.stderr, "It signs a browser in to the dashboard as %s, once, within 15 minutes. Whoever has it can use it.\n", account.Email)
	return nil
}

func makeLink(env *environment, st store.SignInLinks, account store.Account, publicURL string) (string, error) {
	token, hash := auth.NewSignInLink()
	if err := st.CreateSignInLink(env, account.ID, hash, linkGoodFor); err != nil {
		return "", err
	}
	return strings.TrimRight(publicURL, "/") + "/sign-in/link/" + url.PathEscape(token), nil
}
