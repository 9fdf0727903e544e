package main

import (
	"fmt"

	"github.com/colaregistry/colaregistry/store/sqlite"
)

type migrateCommand struct{ storeFlags }

// Run brings the schema up to date and tells its version. Opening the database does the same: the command is for those
// who want it done apart from a start.
func (c *migrateCommand) Run(env *environment) (err error) {
	path, err := c.path()
	if err != nil {
		return err
	}
	from, to, err := sqlite.Migrate(env, path, sqlite.Options{Logger: env.log})
	if err != nil {
		return fmt.Errorf("migrate database %s: %w", path, err)
	}
	if from == to {
		fmt.Fprintf(env.stdout, "%s is at schema version %d already\n", path, to)
		return nil
	}
	fmt.Fprintf(env.stdout, "%s: schema version %d, was %d\n", path, to, from)
	return nil
}
