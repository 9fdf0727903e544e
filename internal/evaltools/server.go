package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/demo"
	"github.com/colaregistry/colaregistry/mcp"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store/sqlite"
)

// today is the fixed time of the registry's clock.
var today = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// records determines the registry's labels, permittees and reference data. The expected facts are
// computed from the same records.
var records = demo.Options{Colas: demo.DefaultColas, Seed: 1, AsOf: cola.DateOf(today)}

// server is a registry with demo data and its MCP endpoint, in this process.
type server struct {
	store   *sqlite.Store
	service *registry.Service
	http    *httptest.Server
	close   []func() error // in order of opening; called in reverse

	accounts int
}

// newServer returns a server with its database in the empty folder dir.
func newServer(ctx context.Context, dir string) (s *server, err error) {
	s = &server{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	quiet := slog.New(slog.DiscardHandler)
	now := func() time.Time { return today }
	s.store, err = sqlite.Open(ctx, filepath.Join(dir, "registry.db"), sqlite.Options{Now: now, Logger: quiet})
	if err != nil {
		return s, err
	}
	s.close = append(s.close, s.store.Close)
	if err := demo.Load(ctx, s.store, records, nil); err != nil {
		return s, err
	}
	index := search.New(search.Options{Logger: quiet})
	s.onClose(func() { index.Close() })
	ledger := quota.New(s.store, quota.Options{Logger: quiet})
	s.onClose(ledger.Close)
	s.service = registry.New(registry.Options{
		Store: s.store, Index: index, Ledger: ledger, PublicURL: "https://registry.example", Now: now, Logger: quiet,
	})
	s.onClose(s.service.Close)
	if err := s.follow(ctx); err != nil {
		return s, err
	}
	handler := mcp.New(s.service, auth.New(s.store, nil, nil), mcp.Options{
		Now: now, Logger: quiet, Hosts: []string{"127.0.0.1"},
	})
	s.http = httptest.NewServer(handler)
	s.onClose(s.http.Close)
	return s, nil
}

// follow builds the index and keeps it up to date until the server closes.
func (s *server) follow(ctx context.Context) error {
	built := make(chan struct{})
	follower := registry.NewFollower(s.service, registry.FollowerOptions{Built: func(registry.Build) { close(built) }})
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- follower.Run(ctx) }()
	select {
	case <-built:
	case err := <-done:
		cancel()
		return fmt.Errorf("build the index: %w", err)
	}
	s.close = append(s.close, func() error {
		cancel()
		return <-done
	})
	return nil
}

func (s *server) onClose(f func()) {
	s.close = append(s.close, func() error {
		f()
		return nil
	})
}

// Close stops the server.
func (s *server) Close() (err error) {
	for _, f := range slices.Backward(s.close) {
		err = errors.Join(err, f())
	}
	s.close = nil
	return err
}

// assistant is an MCP client with its own account, so that requests don't share a rate limit, a
// quota or saved searches.
type assistant struct {
	*client.Client
	caller cola.Caller
}

// newAssistant creates an account with an API key and connects a client to the endpoint.
func (s *server) newAssistant(ctx context.Context) (assistant, error) {
	s.accounts++
	account, err := s.store.CreateAccount(ctx, fmt.Sprintf("assistant-%d@example.com", s.accounts), cola.TierPro)
	if err != nil {
		return assistant{}, err
	}
	secret := auth.NewSecret()
	key := secret.Key()
	key.AccountID, key.Name = account.ID, "Assistant"
	if key, err = s.store.CreateKey(ctx, key, secret.Hash(), 0); err != nil {
		return assistant{}, err
	}
	wire, err := transport.NewStreamableHTTP(s.http.URL+mcp.Path,
		transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + secret.Reveal()}))
	if err != nil {
		return assistant{}, err
	}
	a := assistant{client.NewClient(wire), cola.Caller{
		Account: account.ID, Credential: cola.Credential{Kind: cola.CredentialKey, ID: key.ID},
		Channel: cola.ChannelREST, Scopes: cola.Scopes(),
	}}
	if err := a.Start(ctx); err != nil {
		return a, err
	}
	request := protocol.InitializeRequest{}
	request.Params.ClientInfo = protocol.Implementation{Name: "eval-tools", Version: "1"}
	request.Params.ProtocolVersion = protocol.LATEST_PROTOCOL_VERSION
	_, err = a.Initialize(ctx, request)
	return a, err
}
