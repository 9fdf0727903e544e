package main

import (
	"bufio"
	"fmt"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
)

type demoCommand struct {
	Colas int    `default:"20000" placeholder:"N" help:"How many labels to write (${default})."`
	Seed  uint64 `default:"1" placeholder:"S" help:"Other seeds give other records; the same seed the same (${default})."`
	AsOf  string `name:"as-of" placeholder:"DATE" help:"The last day of the records, YYYY-MM-DD; today when left out."`
}

// Run writes the labels.
func (c *demoCommand) Run(env *environment) error {
	asOf := cola.DateOf(time.Now())
	if c.AsOf != "" {
		var err error
		if asOf, err = cola.ParseDate(c.AsOf); err != nil {
			return fmt.Errorf("--as-of: %w", err)
		}
	}
	options := demo.Options{Colas: c.Colas, Seed: c.Seed, AsOf: asOf}
	if err := options.Check(); err != nil {
		return err
	}
	w := bufio.NewWriterSize(env.stdout, 1<<20)
	if err := demo.WriteColas(w, options); err != nil {
		return err
	}
	return w.Flush()
}
