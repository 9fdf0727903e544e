package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// apiResponse is the response to a request.
type apiResponse struct {
	status    int
	code      string // error code, if it failed
	challenge string
}

// try makes a request with a token, without a client library.
func (b *bench) try(ctx context.Context, token, method, path, body string) (a apiResponse, err error) {
	req, err := http.NewRequestWithContext(ctx, method, b.public.origin()+path, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	var failed struct{ Error struct{ Code any } }
	if json.Unmarshal(content, &failed) == nil {
		a.code, _ = failed.Error.Code.(string) // numeric codes are protocol errors
	}
	a.status, a.challenge = resp.StatusCode, resp.Header.Get("WWW-Authenticate")
	return a, nil
}

// attempt is a request with a token and its expected outcome.
type attempt struct {
	name               string
	token              string
	method, path, body string
	status             int
	code               string
}

const (
	usage       = "/api/v1/usage"
	searches    = "/api/v1/saved-searches"
	savedSearch = `{"name":"By REST","filters":{"brand_name":"oak"}}`
	listTools   = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
)

// tryTokens checks that a client's tokens work on the REST API, stop working when its link to the
// user is revoked, and work again when the link is restored.
func (b *bench) tryTokens(ctx context.Context, r *report, w oauthClient, reported clientResults) error {
	read, write := reported.read.Token, reported.created.Token
	if err := b.attempts(ctx, r, w,
		attempt{"REST reads with the first token", read, http.MethodGet, usage, "", 200, ""},
		attempt{
			"REST denies a write with the first token", read,
			http.MethodPost, searches, savedSearch, 403, "insufficient_scope",
		},
		attempt{"REST writes with the second token", write, http.MethodPost, searches, savedSearch, 201, ""},
	); err != nil {
		return err
	}
	link, err := b.linkOf(ctx, r, w, reported.signedIn.ClientID)
	if err != nil || link == "" {
		return err
	}
	if _, err := b.server.cli(ctx, "app", "revoke-link", link); err != nil {
		return err
	}
	if err := b.attempts(ctx, r, w,
		attempt{"REST rejects a revoked link", write, http.MethodGet, usage, "", 401, "unauthorized"},
		attempt{endpoint + " rejects a revoked link", write, http.MethodPost, endpoint, listTools, 401, "unauthorized"},
		attempt{"REST rejects the other token of a revoked link", read, http.MethodGet, usage, "", 401, "unauthorized"},
	); err != nil {
		return err
	}
	if _, err := b.server.cli(ctx, "app", "restore-link", link); err != nil {
		return err
	}
	time.Sleep(time.Second) // a rejection is cached
	return b.attempts(ctx, r, w, attempt{"a restored link works", write, http.MethodPost, endpoint, listTools, 200, ""})
}

// attempts makes requests in sequence and checks each outcome.
func (b *bench) attempts(ctx context.Context, r *report, w oauthClient, all ...attempt) error {
	for _, a := range all {
		got, err := b.try(ctx, a.token, a.method, a.path, a.body)
		if err != nil {
			return err
		}
		r.expect(w.library+": "+a.name, got.status == a.status && got.code == a.code,
			"%d %s, want %d %s", got.status, got.code, a.status, a.code)
		if a.status == http.StatusUnauthorized {
			r.expect(w.library+": "+a.name+", with a challenge",
				strings.Contains(got.challenge, `error="invalid_token"`), "challenge %s", got.challenge)
		}
	}
	return nil
}

// linkOf returns the ID of the link between a user and a client, using operator commands. There
// must be exactly one link, to one account.
func (b *bench) linkOf(ctx context.Context, r *report, w oauthClient, client string) (id string, err error) {
	links, err := b.server.cli(ctx, "app", "links", "--account", w.email())
	if err != nil {
		return "", err
	}
	found := 0
	for line := range strings.Lines(links) {
		if fields := strings.Fields(line); strings.Contains(line, client) {
			id, found = fields[0], found+1
		}
	}
	r.expect(w.library+": its user has one link", found == 1, "%d links in\n%s", found, links)
	return id, b.oneAccount(ctx, r, w)
}

// oneAccount checks that the user has exactly one account: an existing account on its previous tier,
// or a new one on the free tier.
func (b *bench) oneAccount(ctx context.Context, r *report, w oauthClient) error {
	accounts, err := b.server.cli(ctx, "account", "list")
	if err != nil {
		return err
	}
	tier := "free"
	if w.known {
		tier = "pro"
	}
	want := fmt.Sprintf(" %s %s ", w.email(), tier)
	r.expect(w.library+": its user has one account, on tier "+tier,
		strings.Count(accounts, w.email()) == 1 && strings.Contains(strings.Join(strings.Fields(accounts), " "), want),
		"accounts:\n%s", accounts)
	return nil
}
