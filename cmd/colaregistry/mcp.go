package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/mcp"
	"github.com/colaregistry/colaregistry/store"
)

type mcpCommand struct {
	storeFlags
	logFlags
	siteFlags
	URL       string `name:"url" placeholder:"URL" help:"Server to forward messages to, such as https://registry.example.com (default: read the database directly)."`
	PublicURL string `name:"public-url" placeholder:"URL" help:"Scheme and host of links in responses (default: ${default}); ignored with --url." default:"http://127.0.0.1:8080"`
}

const (
	// keyVariable is the environment variable with the API key. There is no flag for it, because
	// other users of the machine can see command lines.
	keyVariable = "COLAREGISTRY_API_KEY"
	// indexTimeout is how long the first message waits for the index. It is shorter than the minute
	// after which assistants give up. Messages answered before the index is built get a "try again"
	// error.
	indexTimeout = 20 * time.Second
	// remoteTimeout is the timeout for one message to a remote server, longer than the server's own.
	remoteTimeout = 90 * time.Second
)

// Run answers messages, one per line, until the input ends.
func (c *mcpCommand) Run(env *environment) error {
	env.log = c.logger(env.stderr)
	key := strings.TrimSpace(os.Getenv(keyVariable))
	if key == "" {
		return errors.New(keyVariable + " is not set; create a key with \"colaregistry key create\"")
	}
	if c.URL == "" {
		return c.local(env, key)
	}
	endpoint, err := c.endpoint()
	if err != nil {
		return err
	}
	client := &http.Client{
		Timeout: remoteTimeout,
		// Don't follow redirects: another server must not get the key.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	bridge := mcp.Bridge{URL: endpoint, Key: key, Client: client, Logger: env.log}
	return bridge.Serve(env, env.stdin, env.stdout)
}

// endpoint returns the URL of the MCP endpoint to use. --url is that URL, or the server's root for
// the default endpoint.
func (c *mcpCommand) endpoint() (string, error) {
	path := mcp.Path
	root, readOnly := strings.CutSuffix(strings.TrimRight(c.URL, "/"), mcp.ReadOnlyPath)
	if readOnly {
		path = mcp.ReadOnlyPath
	}
	root, err := checkedRoot("--url", strings.TrimSuffix(root, mcp.Path))
	if err != nil {
		return "", err
	}
	return root + path, nil
}

// local answers messages from the database.
func (c *mcpCommand) local(env *environment, key string) (err error) {
	publicURL, err := checkedRoot("--public-url", c.PublicURL)
	if err := errors.Join(err, c.checkSiteName()); err != nil {
		return err
	}
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	tune()
	e := newEngine(env, st,
		engineOptions{publicURL: publicURL, upgradeURL: publicURL + "/plans", snapshot: c.snapshot()})
	defer e.close()
	return e.serveLines(env, st, mcp.Options{PublicURL: publicURL, SiteName: c.SiteName}, key)
}

// serveLines answers messages, one per line, in this process while the index follows the store.
func (e *engine) serveLines(env *environment, st store.Store, o mcp.Options, key string) error {
	const host = "localhost" // host of requests that never leave this process
	o.Version, o.Logger, o.Hosts = version(), env.log, []string{host}
	handler := mcp.New(e.service, auth.New(st, nil, nil), o)
	bridge := mcp.Bridge{
		URL: (&url.URL{Scheme: "http", Host: host, Path: mcp.Path}).String(),
		Key: key, Client: mcp.InProcess(handler), Logger: env.log,
	}
	following, unfollow := context.WithCancel(context.WithoutCancel(env))
	defer unfollow()
	var group errgroup.Group
	group.Go(func() error { return e.follower.Run(following) })
	group.Go(func() error {
		defer unfollow()
		select {
		case <-e.ready:
		case <-time.After(indexTimeout):
		case <-env.Done():
		}
		return bridge.Serve(env, env.stdin, env.stdout)
	})
	return group.Wait()
}
