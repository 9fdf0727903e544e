package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/alerts"
)

type alertsCommand struct {
	Tick    alertsTick    `cmd:"" help:"Run the saved searches that are due, once, send what they found, and say so. A server does so every minute by itself."`
	Receive alertsReceive `cmd:"" help:"Receive webhooks on this machine, for trials: answer challenges, verify signatures and print a line per message."`
}

type alertsTick struct {
	storeFlags
	secretFlags
	deliveryFlags
	PublicURL string        `name:"public-url" placeholder:"URL" help:"Scheme and host that links in messages lead to; http://127.0.0.1:8080 when left out. Required with --smtp."`
	At        string        `placeholder:"TIME" help:"Run as if it were this instant, such as 2026-11-23T06:00:00Z: for trials. Searches that ran have looked up to it, and run next after it. Now when left out. What they found is sent at once."`
	Hold      time.Duration `default:"2m" placeholder:"DURATION" help:"For how long searches are kept from other processes while they are run (${default}); if this one is killed, they are run by others after it."`
}

// Run ticks once and prints what was done.
func (c *alertsTick) Run(env *environment) (err error) {
	at := time.Now()
	if c.At != "" {
		if at, err = time.Parse(time.RFC3339, c.At); err != nil {
			return fmt.Errorf("--at: %q is not an instant; write one such as 2026-11-23T06:00:00Z", c.At)
		}
	}
	if c.Hold < time.Second {
		return fmt.Errorf("--hold: %v is too short to run a search in; give a second or more", c.Hold)
	}
	if err := c.deliveryFlags.check(); err != nil {
		return err
	}
	publicURL, err := checkedRoot("--public-url", c.PublicURL)
	if err != nil {
		return err
	}
	if publicURL == "" {
		if publicURL = "http://127.0.0.1:8080"; c.SMTP != "" {
			return errors.New("--smtp needs --public-url: links in email, such as the one that ends it, lead there")
		}
	}
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	senders, err := c.openSenders(env, st, publicURL)
	if err != nil {
		return err
	}
	runner := alerts.New(alerts.Options{Store: st, Hold: c.Hold, Logger: env.log})
	report, err := runner.Tick(env, at)
	fmt.Fprintln(env.stdout, toldTick(report))
	if err != nil {
		return err
	}
	dispatcher := alerts.NewDispatcher(alerts.DispatcherOptions{Store: st, Senders: senders, Hold: c.Hold, Now: time.Now, Logger: env.log})
	delivered, err := dispatcher.Deliver(env, latest(at, time.Now()))
	if told := toldDelivery(delivered); told != "" {
		fmt.Fprintln(env.stdout, told)
	}
	if err == nil && report.Failed > 0 {
		return exitError(exitFailed) // what and why is in the log
	}
	return err
}

// openSenders loads the keys of the database and returns the senders.
func (c *alertsTick) openSenders(env *environment, st database, publicURL string) (map[string]alerts.Sender, error) {
	v, err := c.vault(env, c.storeFlags, st)
	if err != nil {
		return nil, err
	}
	return c.senders(v, publicURL, env.log)
}

// latest returns the later of two instants: what ran as of a time to come is due then.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// toldTick says what a tick did.
func toldTick(r alerts.Report) string {
	told := fmt.Sprintf("%s ran and found %s", amount(r.Runs, "search", "searches"), amount(r.Matches, "label", "labels"))
	if r.Late > 0 {
		told += fmt.Sprintf(", %d of them late", r.Late)
	}
	told += "."
	if r.Failed > 0 {
		told += fmt.Sprintf(" %s could not be run.", amount(r.Failed, "search", "searches"))
	}
	if r.Missed > 0 {
		told += fmt.Sprintf(" %s changed meanwhile.", amount(r.Missed, "search", "searches"))
	}
	if !r.NextDueAt.IsZero() {
		told += " Next due " + r.NextDueAt.UTC().Format(time.RFC3339) + "."
	}
	return told
}

// amount writes a number of things.
func amount(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", several)
}
