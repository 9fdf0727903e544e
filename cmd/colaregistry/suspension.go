package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// maxReason is how many characters the reason of a suspension may have.
const maxReason = 300

type accountSuspend struct {
	storeFlags
	Account string `required:"" placeholder:"E" help:"Email address of the account."`
	Reason  string `required:"" placeholder:"TEXT" help:"Why, in a sentence that the account holder reads in every refusal."`
}

// Run suspends the account and prints its line.
func (c *accountSuspend) Run(env *environment) error {
	reason, err := sentence(c.Reason)
	if err != nil {
		return err
	}
	return c.changeAccount(env, c.Account, func(st store.Store, id cola.AccountID) error { return st.Suspend(env, id, reason) })
}

// sentence settles the reason of a suspension: one line that ends as a sentence does.
func sentence(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || len([]rune(text)) > maxReason || strings.ContainsFunc(text, unicode.IsControl) {
		return "", fmt.Errorf("--reason: a reason has 1 to %d characters, none of them a control character", maxReason)
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
	Limit   int    `required:"" placeholder:"N" help:"How many, 0 to 10."`
}

// Run changes the limit and prints the account's line.
func (c *accountSetAlerts) Run(env *environment) error {
	if c.Limit < 0 || c.Limit > cola.MaxActiveSchedules {
		return fmt.Errorf("--limit: %d is not between 0 and %d", c.Limit, cola.MaxActiveSchedules)
	}
	return c.changeAccount(env, c.Account, func(st store.Store, id cola.AccountID) error { return st.SetActiveLimit(env, id, c.Limit) })
}

// changeAccount does something to the account with an email address and prints its line as it is then.
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
