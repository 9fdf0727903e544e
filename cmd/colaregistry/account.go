package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

type accountCommand struct {
	Create      accountCreate      `cmd:"" help:"Make an account."`
	List        accountList        `cmd:"" help:"List the accounts, a line each: id, email, tier, created, and if it is suspended since when and why."`
	Link        accountLink        `cmd:"" help:"Make a link that signs a browser in to the dashboard once, within 15 minutes, and print it, alone, on standard output."`
	SetTier     accountSetTier     `cmd:"" name:"set-tier" help:"Change an account's tier, from its next request on."`
	SetAlerts   accountSetAlerts   `cmd:"" name:"set-alerts" help:"Change how many saved searches of an account may run by themselves, up to 10. Those made last wait until there is room."`
	Suspend     accountSuspend     `cmd:"" help:"Refuse an account's requests and stop its alerts, from now on, until it is restored. Nothing of it is lost."`
	Restore     accountRestore     `cmd:"" help:"End the suspension of an account. Its alerts tell what came meanwhile."`
	AddIdentity accountAddIdentity `cmd:"" name:"add-identity" help:"Have who signs in at an issuer use this account, also when it has another one so far."`
	Identities  accountIdentities  `cmd:"" help:"List who signs in to which account, a line each: account, issuer, subject."`
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

// Run prints a line an account.
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
