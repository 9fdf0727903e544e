package main

import (
	"fmt"
	"slices"

	"github.com/colaregistry/colaregistry/store"
)

type accountAddIdentity struct {
	storeFlags
	Account string `required:"" placeholder:"E" help:"Email address of the account."`
	Issuer  string `required:"" env:"COLAREGISTRY_OIDC_ISSUER" placeholder:"URL" help:"Issuer that the identity signs in at, exactly as its tokens name it (iss)."`
	Subject string `required:"" placeholder:"S" help:"What the issuer calls the identity (sub), exactly."`
}

// Run gives the identity to the account, prints its line and tells what follows from it.
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
	had, err := holderOf(env, st, who)
	if err != nil {
		return err
	}
	if err := st.AddIdentity(env, a.ID, who); err != nil {
		return err
	}
	has := store.LinkedIdentity{AccountIdentity: store.AccountIdentity{Account: a.ID, Identity: who}, Email: a.Email}
	fmt.Fprintln(env.stdout, identityLine(has))
	fmt.Fprintln(env.stderr, whatFollows(had, has))
	return nil
}

// holderOf returns an identity with the account that it has; without one its account is zero.
func holderOf(env *environment, st store.Identities, who store.Identity) (h store.LinkedIdentity, err error) {
	list, err := st.IdentitiesOf(env, 0)
	if i := slices.IndexFunc(list, func(h store.LinkedIdentity) bool { return h.Identity == who }); i >= 0 {
		h = list[i]
	}
	return h, err
}

// whatFollows tells what comes of giving an identity to an account, and what does not.
func whatFollows(had, has store.LinkedIdentity) string {
	switch had.Account {
	case has.Account:
		return fmt.Sprintf("It had the account %s already.", has.Email)
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
	Account string `placeholder:"E" help:"Email address of one account; all accounts when left out."`
}

// Run prints a line an identity.
func (c *accountIdentities) Run(env *environment) error {
	return list(&c.storeFlags, env, func(st store.Store) ([]store.LinkedIdentity, error) {
		account, err := chosenAccount(env, st, c.Account)
		if err != nil {
			return nil, err
		}
		return st.IdentitiesOf(env, account)
	}, identityLine)
}
