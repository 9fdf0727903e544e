package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/internal/turnstile"
	"github.com/colaregistry/colaregistry/mcp"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

const (
	demoColas   = 20_000
	demoSeed    = 1
	demoEmail   = "demo@example.com"
	demoKeyName = "demonstration"
	// demoMarker is a file that stands beside the database from before it is made until its demonstration data is
	// complete: a first start that was cut off goes on at the next.
	demoMarker = "demo.loading"
	// demoLock is held by the process that is at it.
	demoLock = "registry.db-demo.lock"
)

// firstStart loads the demonstration data and makes the demonstration account when the embedded database has just been
// made, or an earlier first start was cut off. It returns nil otherwise. Of several servers that start at once one does it,
// and the others wait until it has told the key.
func (c *serveCommand) firstStart(env *environment, st database) (_ *demonstration, err error) {
	if !c.embedded() {
		return nil, nil
	}
	lock, err := c.lockFirstStart(env)
	if err != nil {
		return nil, err
	}
	d := &demonstration{marker: filepath.Join(c.DataDir, demoMarker), lock: lock}
	defer func() {
		if d.key == "" {
			d.unlock()
		}
	}()
	options, due, err := c.due(env, st, d.marker)
	if err != nil || !due {
		return nil, err
	}
	bar := newProgress(env.stderr, "Loading demonstration data", "labels")
	err = demo.Load(env, st, options, func(done, total int) { bar.set(int64(done), int64(total)) })
	bar.end()
	if err != nil {
		return nil, fmt.Errorf("load demonstration data (the next start goes on with it): %w", err)
	}
	if d.key, err = demoAccount(env, st); err != nil {
		return nil, fmt.Errorf("make the demonstration account: %w", err)
	}
	return d, nil
}

// due reports whether demonstration data is to be loaded, and which.
func (c *serveCommand) due(env *environment, st database, marker string) (demo.Options, bool, error) {
	options, begun, err := readMarker(marker)
	switch {
	case err != nil:
		return options, false, err
	case begun && c.Demo == "never":
		env.log.Warn("the demonstration data is incomplete: an earlier start was cut off; start once without --demo never to complete it")
		return options, false, nil
	case begun:
		return options, true, nil
	case c.Demo == "never" || !st.Created():
		return options, false, nil
	}
	options = demo.Options{Colas: demoColas, Seed: demoSeed, AsOf: cola.DateOf(time.Now())}
	return options, true, writeMarker(marker, options)
}

// lockFirstStart waits until no other process is at its first start.
func (c *serveCommand) lockFirstStart(env *environment) (*turnstile.Lock, error) {
	lock, err := turnstile.OpenLock(filepath.Join(c.DataDir, demoLock))
	if err != nil {
		return nil, err
	}
	free, err := lock.TryLock()
	if err == nil && !free {
		env.log.Info("another process is loading demonstration data; waiting for it")
		err = lock.Lock(env)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func readMarker(path string) (o demo.Options, found bool, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &o)
	}
	if err != nil {
		return o, false, fmt.Errorf("read %s: %w", path, err)
	}
	return o, true, nil
}

func writeMarker(path string, o demo.Options) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

func demoAccount(env *environment, st store.Store) (auth.Secret, error) {
	account, err := st.CreateAccount(env, demoEmail, cola.TierPro)
	if errors.Is(err, store.ErrExists) {
		account, err = st.AccountByEmail(env, demoEmail)
	}
	if err != nil {
		return "", err
	}
	secret, _, err := makeKey(env, st, account, demoKeyName)
	return secret, err
}

// demonstration is what a first start made.
type demonstration struct {
	key    auth.Secret
	marker string
	lock   *turnstile.Lock // held until the key has been told
}

func (d *demonstration) unlock() {
	d.lock.Unlock()
	_ = d.lock.Close() // it was opened to be locked; nothing was written
}

// welcome is what a server tells when it is ready.
type welcome struct {
	publicURL string
	link      string // signs in to the dashboard; empty where there is none
}

// links tells where the server is reached.
func (w welcome) links() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  Base URL    %s/api/v1\n  Reference   %s/docs\n  Assistants  %s%s   (MCP, with the key as a bearer token)\n", w.publicURL, w.publicURL, w.publicURL, mcp.Path)
	if w.link == "" {
		fmt.Fprintf(&b, "  Dashboard   %s/\n", w.publicURL)
	} else {
		fmt.Fprintf(&b, "  Dashboard   %s\n              (signs in to the account %s; works once, within 15 minutes: account link makes another)\n", w.link, demoEmail)
	}
	return b.String()
}

// welcome prints once where the server is, the demonstration key and three calls that work when pasted. A nil
// demonstration prints where the server is.
func (d *demonstration) welcome(env *environment, w welcome, index *search.Index) error {
	if d == nil {
		return welcomeBack(env, w, index)
	}
	defer d.unlock()
	label := newestLabel(index)
	call := func(path string) string {
		return fmt.Sprintf("  curl -H 'X-API-Key: %s' '%s/api/v1%s'\n", d.key.Reveal(), w.publicURL, path)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nThe registry is ready, with demonstration data.\n\n%s", w.links())
	fmt.Fprintf(&b, "  API key     %s   (account %s, tier pro; not shown again)\n\n", d.key.Reveal(), demoEmail)
	b.WriteString("Try it:\n\n")
	b.WriteString(call("/colas?brand_name=oak&product_type=wine&per_page=3"))
	b.WriteString(call("/colas/" + label.TTBID.String()))
	b.WriteString(call("/usage"))
	b.WriteString("\nStop with Ctrl-C; the next start keeps everything.\n")
	if _, err := fmt.Fprint(env.stdout, b.String()); err != nil {
		return err
	}
	return os.Remove(d.marker)
}

// welcomeBack prints where the server is, and what to do when it has nothing to show.
func welcomeBack(env *environment, w welcome, index *search.Index) error {
	_, err := fmt.Fprintf(env.stdout, "\nThe registry is ready.\n\n%s", w.links())
	if err == nil && index.View().Stats().Labels == 0 {
		_, err = fmt.Fprint(env.stdout, "\nIt is empty. Fill it with import; make an account with account create and a key with key create.\n")
	}
	return err
}

func newestLabel(index *search.Index) cola.ColaSummary {
	rows := index.View().Search(cola.ColaSearch{Page: 1, PerPage: 1}).Rows
	if len(rows) == 0 {
		return cola.ColaSummary{}
	}
	return rows[0]
}
