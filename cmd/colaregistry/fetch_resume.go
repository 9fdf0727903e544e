package main

import (
	"fmt"
	"time"
)

type fetchResume struct{ storeFlags }

// Run clears any block and pause, and prints what it cleared.
func (c *fetchResume) Run(env *environment) (err error) {
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	before, err := st.FetchStatus(env)
	if err == nil {
		err = st.UnblockSite(env)
	}
	if err != nil {
		return err
	}
	blocked, paused := before.Blocked != "", before.PausedUntil.After(time.Now())
	if blocked {
		fmt.Fprintf(env.stdout, "Cleared the block in place since %s: %s\n", before.BlockedAt.UTC().Format(time.DateTime), before.Blocked)
	}
	if paused {
		fmt.Fprintf(env.stdout, "Lifted the pause, which would have lasted until %s.\n", before.PausedUntil.UTC().Format(time.DateTime))
	}
	if !blocked && !paused {
		fmt.Fprintln(env.stdout, "Requests were neither blocked nor paused.")
	}
	return nil
}
