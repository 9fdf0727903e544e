package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

type accountCommand struct {
	Create      accountCreate      `cmd:"" help:"Create an account."`
	List        accountList        `cmd:"" help:"List accounts: ID, email, tier, created, and if suspended, since when and why."`
	Link        accountLink        `cmd:"" help:"Print a link that signs a browser in to the dashboard once, within 15 minutes."`
	SetTier     accountSetTier     `cmd:"" name:"set-tier" help:"Change an account's tier."`
	SetAlerts   accountSetAlerts   `cmd:"" name:"set-alerts" help:"Limit an account's active schedules, up to 10. The newest ones wait."`
	Suspend     accountSuspend     `cmd:"" help:"Refuse an account's requests and pause its alerts until it is restored. No data is lost."`
	Restore     accountRestore     `cmd:"" help:"Restore a suspended account. Its alerts catch up."`
	AddIdentity accountAddIdentity `cmd:"" name:"add-identity" help:"Assign an issuer's identity to this account, even if it has another one."`
	Identities  accountIdentities  `cmd:"" help:"List identities: account, issuer, subject."`
}

type accountCreate struct {
	storeFlags
	Email string `required:"" placeholder:"E" help:"Email address of the account holder, in ASCII."`
	Tier  string `required:"" enum:"free,starter,pro" placeholder:"TIER" help:"One of ${enum}."`
}

// Run creates the account and prints its line.
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
		return fmt.Errorf("an account with the email %s already exists; see account list", c.Email)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(env.stdout, accountLine(a))
	return nil
}

func accountLine(a store.Account) string {
	line := fmt.Sprintf("%d\t%s\t%s\t%s", a.ID, a.Email, a.Tier, a.CreatedAt.Format(time.RFC3339))
	if !a.SuspendedAt.IsZero() {
		line += fmt.Sprintf("\tsuspended %s: %s", a.SuspendedAt.Format(time.RFC3339), a.SuspendedReason)
	}
	return line
}

type accountList struct{ storeFlags }

// Run prints one line per account.
func (c *accountList) Run(env *environment) error {
	return list(&c.storeFlags, env, func(st store.Store) ([]store.Account, error) { return st.Accounts(env) }, accountLine)
}

type accountSetTier struct {
	storeFlags
	Account string `required:"" placeholder:"E" help:"Email address of the account."`
	Tier    string `required:"" enum:"free,starter,pro" placeholder:"TIER" help:"One of ${enum}."`
}

// Run changes the tier and prints the account's line.
func (c *accountSetTier) Run(env *environment) error {
	return c.changeAccount(env, c.Account, func(st store.Store, id cola.AccountID) error { return st.SetTier(env, id, cola.Tier(c.Tier)) })
}

// findAccount returns the account with an email address or, if it has none, the name of its
// identity. A non-ASCII address, which only earlier versions accepted, must match exactly.
func findAccount(env *environment, st store.Accounts, email string) (store.Account, error) {
	a, err := st.AccountByEmail(env, email)
	if !errors.Is(err, store.ErrNotFound) {
		return a, err
	}
	if odd := cola.CheckEmail(email); odd != nil && !store.IsIdentityName(email) {
		return a, fmt.Errorf("no such account: %w", odd)
	}
	return a, fmt.Errorf("no account has the email %s; see account list", email)
}

// chosenAccount returns the account whose records to list, or 0 for all accounts if email is empty.
func chosenAccount(env *environment, st store.Accounts, email string) (cola.AccountID, error) {
	if email == "" {
		return 0, nil
	}
	a, err := findAccount(env, st, email)
	return a.ID, err
}

// maxReason limits the reason of a suspension, in characters.
const maxReason = 300

type accountSuspend struct {
	storeFlags
	Account string `required:"" placeholder:"E" help:"Email address of the account."`
	Reason  string `required:"" placeholder:"TEXT" help:"Reason, shown to the account holder in every refusal."`
}

// Run suspends the account and prints its line.
func (c *accountSuspend) Run(env *environment) error {
	reason, err := sentence(c.Reason)
	if err != nil {
		return err
	}
	return c.changeAccount(env, c.Account, func(st store.Store, id cola.AccountID) error { return st.Suspend(env, id, reason) })
}

// sentence normalizes the reason of a suspension: one line that ends like a sentence.
func sentence(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || len([]rune(text)) > maxReason || strings.ContainsFunc(text, unicode.IsControl) {
		return "", fmt.Errorf("--reason: the reason must have 1 to %d printable characters", maxReason)
	}
	if !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return text, nil
}

type accountRestore struct {
	storeFlags
	Account string `required:"" placeholder:"E" help:"Email address of the account."`
}

// Run restores the account and prints its line.
func (c *accountRestore) Run(env *environment) error {
	return c.changeAccount(env, c.Account, func(st store.Store, id cola.AccountID) error { return st.Restore(env, id) })
}

type accountSetAlerts struct {
	storeFlags
	Account string `required:"" placeholder:"E" help:"Email address of the account."`
	Limit   int    `required:"" placeholder:"N" help:"Number of schedules, 0 to 10."`
}

// Run changes the limit and prints the account's line.
func (c *accountSetAlerts) Run(env *environment) error {
	if c.Limit < 0 || c.Limit > cola.MaxActiveSchedules {
		return fmt.Errorf("--limit must be between 0 and %[2]d, not %[1]d", c.Limit, cola.MaxActiveSchedules)
	}
	return c.changeAccount(env, c.Account, func(st store.Store, id cola.AccountID) error { return st.SetActiveLimit(env, id, c.Limit) })
}

// changeAccount changes the account with an email address and prints its new line.
func (f *storeFlags) changeAccount(env *environment, email string, change func(store.Store, cola.AccountID) error) (err error) {
	st, err := f.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	a, err := findAccount(env, st, email)
	if err != nil {
		return err
	}
	if err := change(st, a.ID); err != nil {
		return err
	}
	if a, err = findAccount(env, st, email); err != nil {
		return err
	}
	fmt.Fprintln(env.stdout, accountLine(a))
	return nil
}

type accountAddIdentity struct {
	storeFlags
	Account string `required:"" placeholder:"E" help:"Email address of the account."`
	Issuer  string `required:"" env:"COLAREGISTRY_OIDC_ISSUER" placeholder:"URL" help:"Issuer of the identity, exactly as in its tokens (iss)."`
	Subject string `required:"" placeholder:"S" help:"Subject of the identity at the issuer (sub), exactly."`
}

// Run moves the identity to the account, prints its line and explains the consequences.
func (c *accountAddIdentity) Run(env *environment) (err error) {
	if err := checkIssuer(c.Issuer); err != nil {
		return err
	}
	who := store.Identity{Issuer: c.Issuer, Subject: c.Subject}
	if err := who.Check(""); err != nil {
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
	had, err := withAccount(env, st, who)
	if err != nil {
		return err
	}
	if err := st.AddIdentity(env, a.ID, who); err != nil {
		return err
	}
	has := store.LinkedIdentity{AccountIdentity: store.AccountIdentity{Account: a.ID, Identity: who}, Email: a.Email}
	fmt.Fprintln(env.stdout, identityLine(has))
	fmt.Fprintln(env.stderr, consequences(had, has))
	return nil
}

// withAccount returns an identity with its account, zero if it has none.
func withAccount(env *environment, st store.Identities, who store.Identity) (h store.LinkedIdentity, err error) {
	list, err := st.IdentitiesOf(env, 0)
	if i := slices.IndexFunc(list, func(h store.LinkedIdentity) bool { return h.Identity == who }); i >= 0 {
		h = list[i]
	}
	return h, err
}

// consequences explains the consequences of moving an identity.
func consequences(had, has store.LinkedIdentity) string {
	switch had.Account {
	case has.Account:
		return fmt.Sprintf("The identity already has the account %s.", has.Email)
	case 0:
		return fmt.Sprintf("It has not signed in so far. When it does, it uses the account %s, "+
			"if its tokens name the issuer (iss) and the subject (sub) exactly like this.", has.Email)
	}
	return fmt.Sprintf("It uses the account %s within a minute. It had the account %s, which stays as it is: "+
		"its usage, saved searches, keys and links to apps do not move. An app that is used from now on is linked to %s anew.", has.Email, had.Email, has.Email)
}

func identityLine(h store.LinkedIdentity) string {
	return fmt.Sprintf("%s\t%s\t%s", h.Email, h.Issuer, h.Subject)
}

type accountIdentities struct {
	storeFlags
	Account string `placeholder:"E" help:"Email address of one account (default: all accounts)."`
}

// Run prints one line per identity.
func (c *accountIdentities) Run(env *environment) error {
	return list(&c.storeFlags, env, func(st store.Store) ([]store.LinkedIdentity, error) {
		account, err := chosenAccount(env, st, c.Account)
		if err != nil {
			return nil, err
		}
		return st.IdentitiesOf(env, account)
	}, identityLine)
}

// linkGoodFor is the lifetime of a sign-in link.
const linkGoodFor = 15 * time.Minute

type accountLink struct {
	storeFlags
	Account   string `required:"" placeholder:"E" help:"Email address of the account."`
	PublicURL string `name:"public-url" default:"http://127.0.0.1:8080" placeholder:"URL" help:"Scheme and host at which users reach the server (${default})."`
}

// Run creates a link and prints it on standard output.
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
	fmt.Fprintf(env.stderr, "The link signs a browser in to the dashboard as %s, once, within 15 minutes. Anyone with the link can use it.\n", account.Email)
	return nil
}

func makeLink(env *environment, st store.SignInLinks, account store.Account, publicURL string) (string, error) {
	token, hash := auth.NewSignInLink()
	if err := st.CreateSignInLink(env, account.ID, hash, linkGoodFor); err != nil {
		return "", err
	}
	return strings.TrimRight(publicURL, "/") + "/sign-in/link/" + url.PathEscape(token), nil
}
