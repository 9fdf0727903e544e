package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

type recordsCommand struct {
	List recordsList `cmd:"" help:"List labels that lack data."`
}

type recordsList struct {
	storeFlags
	Missing string `required:"" enum:"detail,approval-date,images,image-files,barcodes" placeholder:"WHAT" help:"Data that the labels lack: detail, approval-date, images, image-files or barcodes."`
	Limit   *int   `xor:"output" placeholder:"N" help:"Maximum number of labels to list (default: all)."`
	Count   bool   `xor:"output" help:"Print the number of labels instead of their IDs."`
}

// errEnough stops a list at its limit.
var errEnough = errors.New("limit reached")

// Validate checks the flags. Kong calls it after parsing.
func (c *recordsList) Validate() error {
	if c.Limit != nil && *c.Limit < 1 {
		return errors.New("--limit must be positive")
	}
	return nil
}

// Run prints the TTB IDs, one per line, or their number.
func (c *recordsList) Run(env *environment) (err error) {
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	out := bufio.NewWriter(env.stdout)
	listed := 0
	err = st.ColasMissing(env, store.Missing(c.Missing), func(id cola.TTBID) error {
		listed++
		if !c.Count {
			if _, err := fmt.Fprintln(out, id); err != nil {
				return err
			}
		}
		if c.Limit != nil && listed == *c.Limit {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return errors.Join(err, out.Flush())
	}
	if c.Count {
		fmt.Fprintln(out, listed)
	}
	return out.Flush()
}
