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
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

const (
	demoColas   = 20_000
	demoSeed    = 1
	demoEmail   = "demo@example.com"
	demoKeyName = "demonstration"
	// demoMarker is a file that stands beside the database from before it is made until its demonstration data is
	// complete: a first start that was cut off goes on at the next.
	demoMarker = "demo.loading"
)

// firstStart loads the demonstration data and makes the demonstration account when the embedded database has just been
// made, or an earlier first start was cut off. It returns nil otherwise.
func (c *serveCommand) firstStart(env *environment, st *sqlite.Store) (*demonstration, error) {
	if c.Demo != "auto" || !c.embedded() {
		return nil, nil
	}
	marker := filepath.Join(c.DataDir, demoMarker)
	options, begun, err := readMarker(marker)
	if err != nil {
		return nil, err
	}
	if !begun {
		if !st.Created() {
			return nil, nil
		}
		options = demo.Options{Colas: demoColas, Seed: demoSeed, AsOf: cola.DateOf(time.Now())}
		if err := writeMarker(marker, options); err != nil {
			return nil, err
		}
	}
	bar := newProgress(env.stderr, "Loading demonstration data", "labels")
	err = demo.Load(env, st, options, func(done, total int) { bar.set(int64(done), int64(total)) })
	bar.end()
	if err != nil {
		return nil, fmt.Errorf("load demonstration data (the next start goes on with it): %w", err)
	}
	secret, err := demoAccount(env, st)
	if err != nil {
		return nil, fmt.Errorf("make the demonstration account: %w", err)
	}
	return &demonstration{key: secret, marker: marker}, nil
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
}

// welcome prints once where the server is, the demonstration key and three calls that work when pasted. A nil
// demonstration prints where the server is.
func (d *demonstration) welcome(env *environment, publicURL string, index *search.Index) error {
	if d == nil {
		_, err := fmt.Fprintf(env.stdout, "\nThe registry answers at %s/api/v1; its reference is at %s/docs.\n", publicURL, publicURL)
		return err
	}
	label := newestLabel(index)
	call := func(path string) string {
		return fmt.Sprintf("  curl -H 'X-API-Key: %s' '%s/api/v1%s'\n", d.key.Reveal(), publicURL, path)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nThe registry is ready, with demonstration data.\n\n")
	fmt.Fprintf(&b, "  Base URL    %s/api/v1\n  Reference   %s/docs\n", publicURL, publicURL)
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

func newestLabel(index *search.Index) cola.ColaSummary {
	rows := index.View().Search(cola.ColaSearch{Page: 1, PerPage: 1}).Rows
	if len(rows) == 0 {
		return cola.ColaSummary{}
	}
	return rows[0]
}
