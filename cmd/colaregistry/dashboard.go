package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/dashboard"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// dashboardFlags say how account holders sign in to the dashboard, and where they buy.
type dashboardFlags struct {
	SignInIssuers []string `name:"sign-in-issuer" placeholder:"URL" help:"OpenID Connect issuer that account holders sign in to the dashboard with; may be repeated. That of --oidc-issuer when left out; without either, links sign in (account link)."`
	SignInClients []string `name:"sign-in-client-id" placeholder:"ID" help:"What the dashboard is called at the issuer; one for each issuer, in their order."`
	SignInSecrets []string `name:"sign-in-client-secret" placeholder:"SECRET" help:"What the dashboard proves itself to the issuer with; one for each issuer, in their order, or none for public clients. Better given in the environment."`
	SignInNames   []string `name:"sign-in-name" placeholder:"NAME" help:"What the button says that leads to the issuer; one for each issuer, in their order. Its host when left out."`
	BillingURL    string   `name:"billing-url" placeholder:"URL" help:"Where account holders change their plan; the page of plans leads there."`
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

// browsers returns what signs account holders in.
func (f *dashboardFlags) browsers(env *environment, st store.Store, publicURL string, issuers []auth.SignInIssuer, metrics prometheus.Registerer, events *security.Events) (*auth.Browsers, error) {
	b, err := auth.NewBrowsers(auth.BrowserOptions{
		Store: st, PublicURL: publicURL, Issuers: issuers, Logger: env.log, Metrics: metrics, Events: events, OnFault: dashboard.ShowFault,
	})
	if err != nil {
		return nil, fmt.Errorf("--sign-in-issuer: %w", err)
	}
	return b, nil
}

// linkGoodFor is how long a link to sign in with may be used.
const linkGoodFor = 15 * time.Minute

type accountLink struct {
	storeFlags
	Account   string `required:"" placeholder:"E" help:"E-mail address of the account."`
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

// demoLink returns a link that signs in to the demonstration account, or nothing when there is none, or issuers sign people in.
func (c *serveCommand) demoLink(env *environment, st store.Store, publicURL string) (string, error) {
	if !c.embedded() || c.Demo == "never" || len(c.SignInClients) > 0 {
		return "", nil
	}
	account, err := st.AccountByEmail(env, demoEmail)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return makeLink(env, st, account, publicURL)
}
