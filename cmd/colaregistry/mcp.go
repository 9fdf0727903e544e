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
	URL       string `name:"url" placeholder:"URL" help:"Server to pass messages on to, such as https://registry.example.com; without it the database is opened and answered from here."`
	PublicURL string `name:"public-url" placeholder:"URL" help:"Scheme and host of links in answers, such as those to label images (${default}). Without --url." default:"http://127.0.0.1:8080"`
}

const (
	// keyVariable is where the key comes from. There is no flag: other users of a machine see command lines.
	keyVariable = "COLAREGISTRY_API_KEY"
	// builtWithin is how long the first message waits for the index; an assistant waits a minute for it. What is asked before
	// the index is built is told to try again.
	builtWithin = 20 * time.Second
	// remoteWait bounds one message to a server far away: longer than the server gives itself.
	remoteWait = 90 * time.Second
)

// Run answers the messages of an assistant, a line each, until its input ends.
func (c *mcpCommand) Run(env *environment) error {
	env.log = c.logger(env.stderr)
	key := strings.TrimSpace(os.Getenv(keyVariable))
	if key == "" {
		return errors.New(keyVariable + " is not set: an assistant needs an API key of its own (see key create)")
	}
	if c.URL == "" {
		return c.local(env, key)
	}
	endpoint, err := c.endpoint()
	if err != nil {
		return err
	}
	client := &http.Client{
		Timeout: remoteWait,
		// The key is for one server: it does not follow a redirect to another.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	bridge := mcp.Bridge{URL: endpoint, Key: key, Client: client, Logger: env.log}
	return bridge.Serve(env, env.stdin, env.stdout)
}

// endpoint returns the address of the server's endpoint; the flag may name it or the server.
func (c *mcpCommand) endpoint() (string, error) {
	root, err := checkedRoot("--url", strings.TrimSuffix(strings.TrimRight(c.URL, "/"), mcp.Path))
	if err != nil {
		return "", err
	}
	return root + mcp.Path, nil
}

// local answers from the database that the flags say.
func (c *mcpCommand) local(env *environment, key string) (err error) {
	publicURL, err := checkedRoot("--public-url", c.PublicURL)
	if err != nil {
		return err
	}
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	tune()
	e := newEngine(env, st, engineOptions{publicURL: publicURL, upgradeURL: publicURL + "/plans", snapshot: c.snapshot()})
	defer e.close()
	return e.serveLines(env, st, publicURL, key)
}

// serveLines answers lines with the registry of this process, which follows the store meanwhile.
func (e *engine) serveLines(env *environment, st store.Store, publicURL, key string) error {
	const host = "localhost" // of requests that never leave this process
	handler := mcp.New(e.service, auth.New(st, nil, nil), mcp.Options{
		PublicURL: publicURL, Version: version(), Logger: env.log, Hosts: []string{host},
	})
	bridge := mcp.Bridge{
		URL: (&url.URL{Scheme: "http", Host: host, Path: mcp.Path}).String(), Key: key, Client: mcp.InProcess(handler), Logger: env.log,
	}
	following, unfollow := context.WithCancel(context.WithoutCancel(env))
	defer unfollow()
	var group errgroup.Group
	group.Go(func() error { return e.follower.Run(following) })
	group.Go(func() error {
		defer unfollow()
		select {
		case <-e.ready:
		case <-time.After(builtWithin):
		case <-env.Done():
		}
		return bridge.Serve(env, env.stdin, env.stdout)
	})
	return group.Wait()
}
