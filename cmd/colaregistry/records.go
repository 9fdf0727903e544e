package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/store"
)

type recordsCommand struct {
	List recordsList `cmd:"" help:"List labels that lack data."`
}

type recordsList struct {
	storeFlags
	outputFlags
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
	if c.Count {
		return c.count(env, st)
	}
	// There can be millions of IDs, so they are printed as they are read.
	out := bufio.NewWriter(env.stdout)
	before, between, after := "TTB ID", "", "\n"
	if c.JSON {
		before, between, after = "[", ",", "\n]\n"
	}
	out.WriteString(before)
	listed := 0
	err = c.each(env, st, func(id cola.TTBID) error {
		if listed++; listed > 1 {
			out.WriteString(between)
		}
		text := id.String()
		if c.JSON {
			text = fmt.Sprintf(`  {"ttb_id": %q}`, text)
		}
		_, err := fmt.Fprint(out, "\n", text)
		return err
	})
	if err == nil {
		out.WriteString(after)
	}
	return errors.Join(err, out.Flush())
}

// each calls visit with each TTB ID, up to the limit.
func (c *recordsList) each(env *environment, st database, visit func(cola.TTBID) error) error {
	n := 0
	err := st.ColasMissing(env, store.Missing(c.Missing), func(id cola.TTBID) error {
		if err := visit(id); err != nil {
			return err
		}
		if n++; c.Limit != nil && n == *c.Limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// labelCount is the output of records list --count.
type labelCount struct {
	Labels int `json:"labels"`
}

func (c *recordsList) count(env *environment, st database) error {
	n := 0
	err := c.each(env, st, func(cola.TTBID) error { n++; return nil })
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(env.stdout, labelCount{n})
	}
	_, err = fmt.Fprintln(env.stdout, web.Thousands(n))
	return err
}
