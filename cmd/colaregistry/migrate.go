package main

import "fmt"

type migrateCommand struct {
	storeFlags
	Status bool `help:"Show the schema version without migrating. Exit with code 1 unless it is up to date."`
}

// Run migrates the schema and prints its version.
func (c *migrateCommand) Run(env *environment) error {
	p, err := c.place()
	if err != nil {
		return err
	}
	if c.Status {
		return printStatus(env, p)
	}
	from, to, err := p.migrate(env)
	if err != nil {
		return err
	}
	if from == to {
		fmt.Fprintf(env.stdout, "%s already has schema version %d\n", p, to)
		return nil
	}
	fmt.Fprintf(env.stdout, "%s: migrated from schema version %[3]d to %[2]d\n", p, to, from)
	return nil
}

func printStatus(env *environment, p place) error {
	current, latest, err := p.versions(env)
	if err != nil {
		return err
	}
	status := "up to date"
	switch {
	case current == 0:
		status = "no registry yet"
	case current < latest:
		status = "migration needed; run colaregistry migrate"
	case current > latest:
		status = "newer than this program supports; upgrade the program"
	}
	fmt.Fprintf(env.stdout, "%s: schema version %d, latest %d: %s\n", p, current, latest, status)
	if current != latest {
		return exitError(exitFailed)
	}
	return nil
}
