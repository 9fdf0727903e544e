package main

import "fmt"

type migrateCommand struct {
	storeFlags
	Status bool `help:"Show the versions of schema and program. Exit with 1 if the schema is old."`
}

// Run updates the schema and prints its version, for operators who migrate before starting the
// server.
func (c *migrateCommand) Run(env *environment) error {
	p, err := c.place()
	if err != nil {
		return err
	}
	if c.Status {
		return tellVersions(env, p)
	}
	from, to, err := p.migrate(env)
	if err != nil {
		return err
	}
	if from == to {
		fmt.Fprintf(env.stdout, "%s already has schema version %d\n", p, to)
		return nil
	}
	fmt.Fprintf(env.stdout, "%s: schema version %d, was %d\n", p, to, from)
	return nil
}

func tellVersions(env *environment, p place) error {
	current, latest, err := p.versions(env)
	if err != nil {
		return err
	}
	what := "up to date"
	switch {
	case current == 0:
		what = "there is no registry yet"
	case current < latest:
		what = "to be migrated"
	case current > latest:
		what = "newer than this program knows; run a newer version"
	}
	fmt.Fprintf(env.stdout, "%s: schema version %d, this program's is %d: %s\n", p, current, latest, what)
	if current != latest {
		return exitError(exitFailed)
	}
	return nil
}
