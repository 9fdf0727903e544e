package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

type accountCommand struct {
	Create      accountCreate      `cmd:"" help:"Create an account."`
	List        accountList        `cmd:"" help:"List accounts."`
	Link        accountLink        `cmd:"" help:"Create a sign-in link for the dashboard."`
	SetTier     accountSetTier     `cmd:"" name:"set-tier" help:"Change an account's tier."`
	SetAlerts   accountSetAlerts   `cmd:"" name:"set-alerts" help:"Limit an account's active alerts."`
	Suspend     accountSuspend     `cmd:"" help:"Suspend an account."`
	Restore     accountRestore     `cmd:"" help:"Restore a suspended account."`
	Delete      accountDelete      `cmd:"" help:"Delete an account after seven days."`
	Undelete    accountUndelete    `cmd:"" help:"Cancel the deletion of an account."`
	Export      accountExport      `cmd:"" help:"Export all of an account's data as JSON."`
	AddIdentity accountAddIdentity `cmd:"" name:"add-identity" help:"Link an issuer's identity to an account."`
	Identities  accountIdentities  `cmd:"" help:"List identities and their accounts."`
}

type accountCreate struct {
	storeFlags
	outputFlags
	Email string `required:"" placeholder:"EMAIL" help:"Email address of the account holder (ASCII only)."`
	Tier  string `required:"" enum:"free,starter,pro" placeholder:"TIER" help:"Tier: free, starter or pro."`
}

// Run creates the account and prints it.
func (c *accountCreate) Run(env *environment) (err error) {
	if err := flagError("--email", cola.CheckEmail(c.Email)); err != nil {
		return err
	}
	st, err := c.open(env, nil)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	a, err := st.CreateAccount(env, c.Email, cola.Tier(c.Tier))
	if errors.Is(err, store.ErrExists) {
		return fmt.Errorf("account %s already exists; see account list", c.Email)
	}
	if err != nil {
		return err
	}
	return printRow(env.stdout, c.outputFlags, newAccountRow(a))
}

type accountRow struct {
	ID              cola.AccountID `json:"id"`
	Email           string         `json:"email"`
	Tier            cola.Tier      `json:"tier"`
	MaxAlerts       int            `json:"max_alerts"`
	CreatedAt       *time.Time     `json:"created_at"`
	SuspendedAt     *time.Time     `json:"suspended_at"`
	SuspendedReason *string        `json:"suspended_reason"`
	DeletesAt       *time.Time     `json:"deletes_at"`
	DeletedAt       *time.Time     `json:"deleted_at"`
}

func newAccountRow(a store.Account) accountRow {
	return accountRow{
		ID: a.ID, Email: a.Email, Tier: a.Tier, MaxAlerts: a.ActiveLimit, CreatedAt: orNil(a.CreatedAt),
		SuspendedAt: orNil(a.SuspendedAt), SuspendedReason: orNil(a.Suspended()),
		DeletesAt: orNil(a.DeletesAt), DeletedAt: orNil(a.DeletedAt),
	}
}

type accountList struct {
	storeFlags
	outputFlags
}

// Run prints one row per account.
func (c *accountList) Run(env *environment) error {
	read := func(st store.Store) ([]store.Account, error) { return st.Accounts(env) }
	return list(&c.storeFlags, c.outputFlags, env, read, newAccountRow)
}

type accountSetTier struct {
	accountChange
	Tier string `required:"" enum:"free,starter,pro" placeholder:"TIER" help:"Tier: free, starter or pro."`
}

// Run changes the tier and prints the account.
func (c *accountSetTier) Run(env *environment) error {
	return c.change(env, func(st store.Store, id cola.AccountID) error {
		s, err := openSubscription(env, st, id)
		if err != nil {
			return err
		}
		if s.ID != "" {
			return fmt.Errorf("the tier of %s follows its Stripe subscription %s (%s); change or cancel it in Stripe",
				c.Account, s.ID, s.Status)
		}
		return st.SetTier(env, id, cola.Tier(c.Tier))
	})
}

// openSubscription returns an account's subscription if it has not ended, or else the zero value.
func openSubscription(env *environment, st store.Subscriptions, id cola.AccountID) (store.Subscription, error) {
	s, err := st.SubscriptionOf(env, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !s.Live() {
		return store.Subscription{}, nil
	}
	return s, err
}

// findAccount returns the account with the given email address, or with the given identity name if
// the account has no address. A non-ASCII address, which only earlier versions accepted, must match
// exactly.
func findAccount(env *environment, st store.Accounts, email string) (store.Account, error) {
	a, err := st.AccountByEmail(env, email)
	if !errors.Is(err, store.ErrNotFound) {
		return a, err
	}
	if err := cola.CheckEmail(email); err != nil && !store.IsIdentityName(email) {
		return a, usageErrorf("--account: %w", err)
	}
	return a, fmt.Errorf("no account with the email %s; see account list", email)
}

// withAccount opens the database and calls do with the account that has the given email address.
func (f *storeFlags) withAccount(
	env *environment, email string, do func(st database, a store.Account) error,
) (err error) {
	st, err := f.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	a, err := findAccount(env, st, email)
	if err != nil {
		return err
	}
	return do(st, a)
}

// chosenAccount returns the ID of the account with the given email address. If email is empty, it
// returns 0, which means all accounts.
func chosenAccount(env *environment, st store.Accounts, email string) (cola.AccountID, error) {
	if email == "" {
		return 0, nil
	}
	a, err := findAccount(env, st, email)
	return a.ID, err
}

type accountSetAlerts struct {
	accountChange
	Limit int `required:"" placeholder:"N" help:"Maximum number of active alerts, 0 to 10."`
}

// Run changes the limit and prints the account.
func (c *accountSetAlerts) Run(env *environment) error {
	if c.Limit < 0 || c.Limit > cola.MaxActiveSchedules {
		return usageErrorf("--limit must be between 0 and %[2]d, not %[1]d", c.Limit, cola.MaxActiveSchedules)
	}
	return c.change(env, func(st store.Store, id cola.AccountID) error {
		return st.SetActiveLimit(env, id, c.Limit)
	})
}

// accountChange holds the flags of commands that change an account and print it.
type accountChange struct {
	storeFlags
	outputFlags
	Account string `required:"" placeholder:"EMAIL" help:"Email address of the account."`
}

// change changes the account and prints the result.
func (c *accountChange) change(env *environment, change func(store.Store, cola.AccountID) error) error {
	return c.withAccount(env, c.Account, func(st database, a store.Account) error {
		if err := change(st, a.ID); err != nil {
			return err
		}
		a, err := st.Account(env, a.ID)
		if err != nil {
			return err
		}
		return printRow(env.stdout, c.outputFlags, newAccountRow(a))
	})
}

type accountAddIdentity struct {
	storeFlags
	outputFlags
	Account string `required:"" placeholder:"EMAIL" help:"Email address of the account."`
	Issuer  string `required:"" env:"COLAREGISTRY_OIDC_ISSUER" placeholder:"URL" help:"Issuer of the identity, exactly as in the iss claim of its tokens."`
	Subject string `required:"" placeholder:"SUBJECT" help:"Subject of the identity, exactly as in the sub claim of its tokens."`
}

// Run moves the identity to the account, prints the identity and explains the consequences.
func (c *accountAddIdentity) Run(env *environment) error {
	if err := checkIssuer(c.Issuer); err != nil {
		return err
	}
	identity := store.Identity{Issuer: c.Issuer, Subject: c.Subject}
	if err := identity.Check(""); err != nil {
		return err
	}
	return c.withAccount(env, c.Account, func(st database, a store.Account) error {
		before, err := linkedIdentity(env, st, identity)
		if err != nil {
			return err
		}
		if err := st.AddIdentity(env, a.ID, identity); err != nil {
			return err
		}
		after := store.LinkedIdentity{
			AccountIdentity: store.AccountIdentity{Account: a.ID, Identity: identity}, Email: a.Email,
		}
		if err := printRow(env.stdout, c.outputFlags, newIdentityRow(after)); err != nil {
			return err
		}
		fmt.Fprintln(env.stderr, consequences(before, after))
		return nil
	})
}

// linkedIdentity returns an identity with its account, or the zero value if it has no account.
func linkedIdentity(
	env *environment, st store.Identities, identity store.Identity,
) (found store.LinkedIdentity, err error) {
	list, err := st.IdentitiesOf(env, 0)
	if i := slices.IndexFunc(list, func(l store.LinkedIdentity) bool { return l.Identity == identity }); i >= 0 {
		found = list[i]
	}
	return found, err
}

// consequences describes the effects of linking an identity to an account.
func consequences(before, after store.LinkedIdentity) string {
	switch before.Account {
	case after.Account:
		return fmt.Sprintf("The identity already belongs to account %s.", after.Email)
	case 0:
		return fmt.Sprintf("The identity has not signed in yet. It will use account %s "+
			"if its tokens have exactly this issuer (iss) and subject (sub).", after.Email)
	}
	return fmt.Sprintf("The identity will move to account %s within a minute. Its previous account, %s, "+
		"keeps its usage, saved searches, keys and app links. Apps are linked to %s the next time they are used.",
		after.Email, before.Email, after.Email)
}

type identityRow struct {
	Account string `json:"account"`
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

func newIdentityRow(l store.LinkedIdentity) identityRow {
	return identityRow{Account: l.Email, Issuer: l.Issuer, Subject: l.Subject}
}

type accountIdentities struct {
	storeFlags
	outputFlags
	Account string `placeholder:"EMAIL" help:"Email address of one account (default: all accounts)."`
}

// Run prints one row per identity.
func (c *accountIdentities) Run(env *environment) error {
	return list(&c.storeFlags, c.outputFlags, env, func(st store.Store) ([]store.LinkedIdentity, error) {
		account, err := chosenAccount(env, st, c.Account)
		if err != nil {
			return nil, err
		}
		return st.IdentitiesOf(env, account)
	}, newIdentityRow)
}

type accountLink struct {
	storeFlags
	Account   string `required:"" placeholder:"EMAIL" help:"Email address of the account."`
	PublicURL string `name:"public-url" placeholder:"URL" help:"Scheme and host at which users reach the server (default: those of the server last started with this database and data directory)."`
}

// Run creates a link and prints it on standard output.
func (c *accountLink) Run(env *environment) error {
	publicURL, err := checkedRoot("--public-url", c.PublicURL)
	if err != nil {
		return err
	}
	return c.withAccount(env, c.Account, func(st database, a store.Account) error {
		if publicURL == "" {
			publicURL = c.recordedURL(env)
		}
		link, err := makeLink(env, st, a, publicURL)
		if err != nil {
			return err
		}
		fmt.Fprintln(env.stdout, link)
		fmt.Fprintf(env.stderr,
			"Open this link within 15 minutes to sign in as %s. It can be used once, by anyone who has it.\n", a.Email)
		return nil
	})
}

// recordedURL returns the public URL that a server recorded. If there is none, it prints advice and
// returns the default URL.
func (c *accountLink) recordedURL(env *environment) string {
	if recorded, err := os.ReadFile(c.urlFile()); err == nil && len(recorded) > 0 {
		return string(recorded)
	}
	const defaultURL = "http://127.0.0.1:8080"
	fmt.Fprintf(env.stderr, "No server has been started with this data directory. "+
		"If the server's address isn't %s, set --public-url.\n", defaultURL)
	return defaultURL
}

func makeLink(env *environment, st store.SignInLinks, account store.Account, publicURL string) (string, error) {
	token, hash := auth.NewSignInLink()
	if err := st.CreateSignInLink(env, account.ID, hash, auth.LinkLifetime); err != nil {
		return "", err
	}
	return strings.TrimRight(publicURL, "/") + "/sign-in/link/" + url.PathEscape(token), nil
}

type accountExport struct {
	storeFlags
	Account string `required:"" placeholder:"EMAIL" help:"Email address of the account."`
}

// Run writes the account's data to standard output.
func (c *accountExport) Run(env *environment) error {
	return c.withAccount(env, c.Account, func(st database, a store.Account) error {
		return registry.ExportAccount(env, env.stdout, st, a.ID, time.Now())
	})
}
