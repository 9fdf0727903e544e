package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"iter"
	"os"

	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

type copyCommand struct {
	outputFlags
	From string `required:"" placeholder:"URL" help:"Database to copy: sqlite:PATH or postgres://…."`
	To   string `required:"" placeholder:"URL" help:"Destination database: sqlite:PATH for a new file, or postgres://… for a database that has no registry yet."`
}

// errMismatch reports that the copy differs from the original.
var errMismatch = errors.New("the copy differs from the original; do not use it")

// Run copies all tables, reads the copy back and compares it with the original.
func (c *copyCommand) Run(env *environment) (err error) {
	from, to, err := c.places(env)
	if err != nil {
		return err
	}
	source, err := from.openCurrent(env, nil) // read only
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer closing(source, &err)
	if err := rejectPlaintext(env, source); err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	limitResources()
	original, err := c.fill(env, source, to)
	if err != nil {
		return err
	}
	target, err := to.open(env, nil)
	if err != nil {
		return err
	}
	defer closing(target, &err)
	copied, err := readBack(env, target, original.total())
	if err != nil {
		return err
	}
	if err := report(env, c.outputFlags, original, copied); err != nil {
		return err
	}
	check, err := target.KeyCheck(env, "")
	if err == nil && check != "" {
		fmt.Fprintf(env.stderr, "Secrets stay encrypted. Use the original's key file with the copy "+
			"(--secret-key-file); it contains key %s.\n",
			vault.KeyOf(check))
	}
	return err
}

// rejectPlaintext returns an error if a database has plaintext secrets. They were stored by an
// earlier version, and serve will encrypt them the next time it starts. A copy would also store
// them in plaintext, and break the links in emails already sent.
func rejectPlaintext(env *environment, source database) error {
	keys, err := source.SecretKeys(env)
	if n := keys[""]; err == nil && n > 0 {
		err = fmt.Errorf("the database still has %s in plaintext, stored by an earlier version; "+
			"first run \"colaregistry secret reseal\", or start and stop \"colaregistry serve\"",
			amount(n, "secret", "secrets"))
	}
	return err
}

// places parses the flags and checks that the source exists, before either database is opened.
func (c *copyCommand) places(env *environment) (from, to place, err error) {
	if from, err = parsePlace(c.From); err != nil {
		return from, to, flagError("--from", err)
	}
	if to, err = parsePlace(c.To); err != nil {
		return from, to, flagError("--to", err)
	}
	exists, err := from.exists(env)
	if err == nil && !exists {
		err = fmt.Errorf("--from: %s contains no registry", from)
	}
	return from, to, err
}

// fill copies everything into a new database and returns digests of the original. An SQLite file is
// renamed to its final name at the end, so a file with that name is complete.
func (c *copyCommand) fill(env *environment, source database, to place) (sent *digests, err error) {
	if to.path == "" {
		return fillStore(env, source, to)
	}
	switch _, err := os.Stat(to.path); {
	case err == nil:
		return nil, usageErrorf("--to: %s already exists; use the path of a new file", to)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--to: %w", err)
	}
	partial := place{path: to.path + ".filling"}
	if err := sqlite.Remove(partial.path); err != nil { // left by an interrupted copy
		return nil, err
	}
	defer func() { err = errors.Join(err, sqlite.Remove(partial.path)) }()
	if sent, err = fillStore(env, source, partial); err != nil {
		return nil, err
	}
	return sent, os.Rename(partial.path, to.path)
}

func fillStore(env *environment, source database, to place) (sent *digests, err error) {
	target, err := to.open(env, nil)
	if err != nil {
		return nil, err
	}
	defer closing(target, &err)
	sizes, err := source.Sizes(env)
	if err != nil {
		return nil, err
	}
	expected := 0
	for _, n := range sizes {
		expected += n
	}
	sent = newDigests()
	if err := checkEmpty(env, to, target); err != nil {
		return nil, err
	}
	if err := copyKeyCheck(env, source, target); err != nil {
		return nil, err
	}
	bar := newProgress(env.stderr, "Copying", "records")
	err = target.Fill(env, observed(store.Items(env, source), func(i *store.Item) error {
		err := sent.add(i)
		bar.set(int64(sent.total()), int64(expected))
		return err
	}))
	bar.end()
	return sent, err
}

// copyKeyCheck binds a copy to the original's keys, because secrets are copied encrypted.
func copyKeyCheck(env *environment, source, target database) error {
	check, err := source.KeyCheck(env, "")
	if err != nil || check == "" {
		return err
	}
	bound, err := target.KeyCheck(env, check)
	if err == nil && bound != check {
		err = errors.New("--to: the database is bound to another key file; copy into a new database")
	}
	return err
}

// checkEmpty returns an error if the target has records.
func checkEmpty(env *environment, to place, target database) error {
	sizes, err := target.Sizes(env)
	for kind, n := range sizes {
		if n > 0 {
			return fmt.Errorf("--to: %s already contains a registry (%s: %s); copy into an empty database", to, kind, web.Thousands(n))
		}
	}
	return err
}

// observed yields the items, after calling observe with each. An error from observe ends the
// sequence.
func observed(items iter.Seq2[*store.Item, error], observe func(*store.Item) error) iter.Seq2[*store.Item, error] {
	return func(yield func(*store.Item, error) bool) {
		for i, err := range items {
			if err == nil {
				err = observe(i)
			}
			if !yield(i, err) || err != nil {
				return
			}
		}
	}
}

func readBack(env *environment, target database, expected int) (*digests, error) {
	copied := newDigests()
	bar := newProgress(env.stderr, "Comparing", "records")
	err := target.Dump(env, func(i *store.Item) error {
		err := copied.add(i)
		bar.set(int64(copied.total()), int64(expected))
		return err
	})
	bar.end()
	return copied, err
}

// copiedRow describes one kind of record in the output of copy.
type copiedRow struct {
	Kind      store.ItemKind `json:"kind"`
	Original  int            `json:"original"` // records
	Copied    int            `json:"copied"`
	Identical bool           `json:"identical"`
}

// report prints one row per kind and returns an error if any differs.
func report(env *environment, o outputFlags, original, copied *digests) error {
	var rows []copiedRow
	var mismatch error
	for _, kind := range store.ItemKinds() {
		before, after := original.byKind[kind], copied.byKind[kind]
		same := before.count == after.count && bytes.Equal(before.sum.Sum(nil), after.sum.Sum(nil))
		if !same {
			mismatch = errMismatch
		}
		rows = append(rows, copiedRow{kind, before.count, after.count, same})
	}
	return errors.Join(printRows(env.stdout, o, rows), mismatch)
}

// digests maps each kind to the number of its records and a checksum over them in order.
type digests struct{ byKind map[store.ItemKind]*digest }

type digest struct {
	count int
	sum   hash.Hash
}

func newDigests() *digests {
	d := &digests{byKind: map[store.ItemKind]*digest{}}
	for _, kind := range store.ItemKinds() {
		d.byKind[kind] = &digest{sum: sha256.New()}
	}
	return d
}

func (d *digests) add(i *store.Item) error {
	to, ok := d.byKind[i.Kind]
	if !ok {
		return fmt.Errorf("unknown record kind %q", i.Kind)
	}
	to.count += i.Records()
	return json.NewEncoder(to.sum).Encode(content(i))
}

func (d *digests) total() int {
	n := 0
	for _, k := range d.byKind {
		n += k.count
	}
	return n
}

// content returns the parts of a record that must be equal in both databases, including fields that
// the API omits.
func content(i *store.Item) any {
	switch i.Kind {
	case store.ItemCola:
		return i.Cola
	case store.ItemPermittee:
		return []any{i.Permittee.Permittee, i.Permittee.Listed, i.Permittee.FromLabels}
	case store.ItemReferences:
		sets := *i.References
		sets.Revision = 0
		return sets
	}
	return []any{
		i.Account, i.Subscription, i.Key, i.App, i.Identity, i.Link, i.SignIn,
		i.Search, i.Run, i.Match, i.Destination, i.Delivery, i.Attempt,
		i.Creation, i.Confirmation, i.AccountEmail, i.Month, i.Day, i.Grant, i.Refusal, i.Import, i.ImageFile,
		i.FetchWindow, i.FetchLabel, i.FetchSource, i.Enrichment, i.Arrival,
	}
}
