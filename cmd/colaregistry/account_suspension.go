package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// maxReason is the maximum length of a suspension reason, in characters.
const maxReason = 300

type accountSuspend struct {
	accountChange
	Reason string `required:"" placeholder:"TEXT" help:"Reason, up to 300 characters, shown to the account holder."`
}

// Run suspends the account and prints it.
func (c *accountSuspend) Run(env *environment) error {
	reason, err := sentence(c.Reason)
	if err != nil {
		return err
	}
	return c.change(env, func(st store.Store, id cola.AccountID) error {
		if err := st.Suspend(env, id, reason); err != nil {
			return err
		}
		s, err := openSubscription(env, st, id)
		if s.Renews() {
			fmt.Fprintf(env.stderr, "Stripe is still billing this account for subscription %s. To stop billing, cancel the "+
				"subscription in Stripe.\n", s.ID)
		}
		return err
	})
}

// sentence trims the reason for a suspension and adds a period if it has no final punctuation.
func sentence(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || len([]rune(text)) > maxReason || strings.ContainsFunc(text, unicode.IsControl) {
		return "", usageErrorf("--reason must be 1 to %d printable characters long", maxReason)
	}
	if !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return text, nil
}

type accountRestore struct {
	accountChange
}

// Run restores the account and prints it.
func (c *accountRestore) Run(env *environment) error {
	return c.change(env, func(st store.Store, id cola.AccountID) error {
		return st.Restore(env, id)
	})
}

type accountDelete struct {
	accountChange
}

// Run schedules the account's deletion and prints the account.
func (c *accountDelete) Run(env *environment) error {
	return c.change(env, func(st store.Store, id cola.AccountID) error {
		if err := registry.CheckSubscription(env, st, id, "Cancel it in Stripe first."); err != nil {
			return err
		}
		return st.RequestDeletion(env, id, store.DeletionDelay)
	})
}

type accountUndelete struct {
	accountChange
}

// Run cancels the account's deletion and prints the account.
func (c *accountUndelete) Run(env *environment) error {
	return c.change(env, func(st store.Store, id cola.AccountID) error {
		err := st.CancelDeletion(env, id)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("it's too late: account %s is being deleted", c.Account)
		}
		return err
	})
}
