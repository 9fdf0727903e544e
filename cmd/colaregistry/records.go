package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

// list prints a line for each record that there is.
func list[T any](f *storeFlags, env *environment, read func(store.Store) ([]T, error), line func(T) string) (err error) {
	st, err := f.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	records, err := read(st)
	if err != nil {
		return err
	}
	for _, r := range records {
		fmt.Fprintln(env.stdout, line(r))
	}
	return nil
}

// change does something to one record by its id, and says so.
func (f *storeFlags) change(env *environment, what func(store.Store, context.Context, int64) error, id int64, done, missing string) (err error) {
	st, err := f.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	switch err := what(st, env, id); {
	case errors.Is(err, store.ErrNotFound):
		return errors.New(missing)
	case err != nil:
		return err
	}
	fmt.Fprintln(env.stderr, done)
	return nil
}

// ofAny is what changes a record of an account, for records of any account: the operator names them by their ids alone.
func ofAny(what func(store.Store, context.Context, cola.AccountID, int64) error) func(store.Store, context.Context, int64) error {
	return func(st store.Store, ctx context.Context, id int64) error { return what(st, ctx, 0, id) }
}
