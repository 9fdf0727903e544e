package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/colaregistry/colaregistry/internal/nodetest"
)

// oauthClient is an official client and the user it acts for.
type oauthClient struct {
	library, script string
	revision        string // protocol revision that it negotiates
	user            string
	known           bool // the user already has an account
}

var oauthClients = []oauthClient{
	{"@modelcontextprotocol/sdk", "client-sdk.mjs", "2025-11-25", "alice", false},
	{"@modelcontextprotocol/client", "client-2.mjs", "2026-07-28", "bob", true},
}

// stepResults are the results that a client reports after a step.
type stepResults struct {
	Step     string
	ClientID string `json:"client_id"`
	Tools    []string
	Total    int
	UUID     string
	Token    string
	Asked    int // sign-ins by the user
}

// runOAuth connects the official clients using OAuth and then uses their tokens directly.
func runOAuth(ctx context.Context, b *bench) (*report, error) {
	r := newReport("oauth", "official clients against oidc-provider and the server")
	for _, w := range oauthClients {
		if w.known {
			if _, err := b.server.cli(ctx, "account", "create", "--email", w.email(), "--tier", "pro"); err != nil {
				return nil, err
			}
		}
		if err := b.walk(ctx, r, w); err != nil {
			return nil, fmt.Errorf("%s: %w", w.library, err)
		}
	}
	return r, nil
}

func (w oauthClient) email() string { return w.user + "@example.com" }

// walk runs a client and checks its exchanges and its tokens.
func (b *bench) walk(ctx context.Context, r *report, w oauthClient) error {
	started := b.count.Load()
	out, err := nodetest.Finish(b.kit.Command(ctx, b.kit.Script(w.script), "--url", b.resource(), "--user", w.user))
	if err != nil {
		return err
	}
	exchanges := slices.Concat(b.public.since(started), b.issuer.recorder.since(started))
	slices.SortFunc(exchanges, func(x, y exchange) int { return cmp.Compare(x.at, y.at) })
	r.expect(w.library+": exits successfully", out.Code == 0,
		"exit status %d%s", out.Code, nodetest.LastOf(bytes.TrimSpace(out.Stderr)))
	steps := b.steps()
	names, missing := matchSteps(steps, exchanges)
	for _, name := range names {
		r.check(w.library+": "+name, nil)
	}
	r.check(w.library+": takes every step", missing)
	r.check(w.library+": uses revision "+w.revision, checkRevision(w.revision, exchanges))
	r.check(w.library+": registers once", registeredOnce(exchanges))
	reported, err := parseResults(out.Stdout)
	if r.check(w.library+": reports its results", errors.Join(err, reported.check())) {
		if err := b.tryTokens(ctx, r, w, reported); err != nil {
			return err
		}
	}
	r.say("%s as %s: %d of %d steps from no credentials to a saved search, in revision %s",
		w.library, w.user, len(names), len(steps), w.revision)
	return nil
}

func registeredOnce(exchanges []exchange) error {
	n := 0
	for _, x := range exchanges {
		if x.path == "/reg" {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("%d registrations", n)
	}
	return nil
}

// clientResults contains a client's results for each step.
type clientResults struct{ signedIn, read, created stepResults }

// parseResults parses the lines that a client printed.
func parseResults(printed []byte) (s clientResults, err error) {
	for line := range bytes.Lines(printed) {
		var f stepResults
		if err := json.Unmarshal(line, &f); err != nil {
			return s, fmt.Errorf("unexpected output: %w", err)
		}
		switch f.Step {
		case "signed in":
			s.signedIn = f
		case "read":
			s.read = f
		case "created":
			s.created = f
		default:
			return s, fmt.Errorf("unknown step %q", f.Step)
		}
	}
	return s, nil
}

// check returns an error if results are missing or wrong.
func (s clientResults) check() error {
	var errs []error
	for _, wrong := range []struct {
		is     bool
		reason string
	}{
		{s.signedIn.ClientID == "", "no client ID"},
		{len(s.read.Tools) < len(toolNames()), "fewer tools listed than have examples"},
		{s.read.Total == 0, "the search has no results"},
		{strings.Count(s.read.Token, ".") != 2 || strings.Count(s.created.Token, ".") != 2, "the tokens are not JWTs"},
		{s.read.Token == s.created.Token, "the read and write tokens are identical"},
		{s.created.UUID == "", "no saved search created"},
		{s.created.Asked != 2, fmt.Sprintf("%d sign-ins by the user, want 2", s.created.Asked)},
	} {
		if wrong.is {
			errs = append(errs, errors.New(wrong.reason))
		}
	}
	return errors.Join(errs...)
}
