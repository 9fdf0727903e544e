package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/mcp"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

// welcome is the text that a server prints when it is ready.
type welcome struct {
	program   string // command that runs this program
	publicURL string
	database  string      // flag that makes commands use this database, with a leading space; empty by default
	demo      bool        // whether the demo account exists
	link      string      // sign-in link for that account, only if the output is private
	key       auth.Secret // empty if none was created
}

// isPrivate reports whether standard output may show secrets: the server listens on a loopback
// address, or the output is a terminal. Otherwise the output may end up in the logs of a container
// or a service.
func isPrivate(env *environment, listening net.Addr) bool {
	return isLoopback(listening) || interactive(env.stdout)
}

// welcome prints the addresses of the server and how to use it. loaded is nil except after a first
// start.
func (c *serveCommand) welcome(
	env *environment, st store.Store, publicURL string, loaded *demoLoad, private bool, index *search.Index,
) error {
	w := welcome{program: env.name, publicURL: publicURL, database: c.databaseFlag()}
	if loaded != nil {
		defer loaded.unlock()
		w.key = loaded.key
	}
	if err := c.addLink(env, st, &w, private); err != nil {
		env.log.Warn("creating a sign-in link failed; run account link to create one", "error", err)
	}
	hasAccounts, err := st.HasAccounts(env)
	if err != nil {
		hasAccounts = true
		env.log.Warn("checking for accounts failed", "error", err)
	}
	text := w.restartText(index.View().Stats().Labels, hasAccounts)
	if loaded != nil {
		text = w.firstText(newestLabel(index).TTBID.String())
	}
	if _, err := fmt.Fprint(env.stdout, text); err != nil {
		return err
	}
	if loaded != nil {
		return os.Remove(loaded.marker)
	}
	return nil
}

// addLink adds a sign-in link for the demo account if the account exists, no issuer is configured
// for sign-in, and the output is private.
func (c *serveCommand) addLink(env *environment, st store.Store, w *welcome, private bool) error {
	if !c.embedded() || c.Demo == "never" || len(c.SignInClients) > 0 {
		return nil
	}
	account, err := st.AccountByEmail(env, demoEmail)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	w.demo = err == nil
	if err != nil || !private {
		return err
	}
	w.link, err = makeLink(env, st, account, w.publicURL)
	return err
}

// databasePlaceholder is the flag for a PostgreSQL URL, which may contain a password. Commands
// reject the placeholder, so running them unchanged doesn't create another registry.
const databasePlaceholder = " --database-url URL"

// databaseFlag returns the flag that makes commands use the database of this server, with a leading
// space, or "" for the default.
func (c *serveCommand) databaseFlag() string {
	switch p, err := c.place(); {
	case c.DatabaseURLFile != "":
		return " --database-url-file " + web.ShellQuote(string(c.DatabaseURLFile))
	case c.embedded() && c.DataDir == "./data":
		return ""
	case c.embedded():
		return " --data-dir " + web.ShellQuote(c.DataDir)
	case err == nil && p.path != "":
		return " --database-url " + web.ShellQuote(c.DatabaseURL)
	}
	return databasePlaceholder
}

// firstText returns the text for a first start. label is the TTB ID of an existing label.
func (w *welcome) firstText(label string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nThe registry is ready, with demo data.\n\n%s", w.links())
	key := "KEY"
	if w.key == "" {
		fmt.Fprintf(&b, "  API key     create one with:\n              %s\n", w.keyCommand())
	} else {
		key = w.key.Reveal()
		fmt.Fprintf(&b, "  API key     %s   (account %s, tier pro; not shown again)\n", key, demoEmail)
	}
	b.WriteString("\nTry it:\n\n")
	for _, path := range []string{"/colas?brand_name=oak&product_type=wine&per_page=3", "/colas/" + label, "/usage"} {
		fmt.Fprintf(&b, "  curl -H 'X-API-Key: %s' '%s/api/v1%s'\n", key, w.publicURL, path)
	}
	b.WriteString("\nPress Ctrl-C to stop. Your data is kept.\n")
	return b.String()
}

// restartText returns the text for a later start.
func (w *welcome) restartText(labels int, hasAccounts bool) string {
	text := "\nThe server is ready.\n\n" + w.links()
	if labels == 0 {
		text += "\nThe registry is empty. Add data with " + w.program + " import.\n"
	}
	if !hasAccounts {
		text += "\nThere are no accounts yet. To use the API, create an account and a key:\n\n" +
			"  " + w.program + " account create --email you@example.com --tier pro" + w.database + "\n" +
			"  " + w.program + " key create --account you@example.com --name mine" + w.database + "\n"
		if w.database == databasePlaceholder {
			text += "\nReplace URL with the --database-url of this server. To keep its password off the command\n" +
				"line, omit the flag and set COLAREGISTRY_DATABASE_URL.\n"
		}
	}
	return text
}

// links lists the addresses of the server.
func (w *welcome) links() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  Base URL    %s/api/v1\n", w.publicURL)
	fmt.Fprintf(&b, "  Docs        %s/docs\n", w.publicURL)
	fmt.Fprintf(&b, "  Assistants  %s%s   (MCP, with the key as a bearer token)\n", w.publicURL, mcp.Path)
	switch {
	case w.link != "":
		fmt.Fprintf(&b, "  Dashboard   %s\n", w.link)
		fmt.Fprintf(&b,
			"              (signs in as %s; can be used once; expires in 15 minutes)\n"+
				"              To create another: %s\n", demoEmail, w.linkCommand())
	case w.demo:
		fmt.Fprintf(&b, "  Dashboard   %s/   (create a sign-in link with:)\n", w.publicURL)
		fmt.Fprintf(&b, "              %s\n", w.linkCommand())
	default:
		fmt.Fprintf(&b, "  Dashboard   %s/\n", w.publicURL)
	}
	return b.String()
}

func (w *welcome) keyCommand() string {
	return w.program + " key create --account " + demoEmail + " --name mine" + w.database
}

func (w *welcome) linkCommand() string {
	return w.program + " account link --account " + demoEmail + " --public-url " + w.publicURL + w.database
}

func newestLabel(index *search.Index) cola.ColaSummary {
	rows := index.View().Search(cola.ColaSearch{Page: 1, PerPage: 1}).Rows
	if len(rows) == 0 {
		return cola.ColaSummary{}
	}
	return rows[0]
}
