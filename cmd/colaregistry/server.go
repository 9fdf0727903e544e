package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/alerts/mail"
	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/dashboard"
	"github.com/colaregistry/colaregistry/httpapi"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/internal/vault"
	"github.com/colaregistry/colaregistry/internal/web"
	"github.com/colaregistry/colaregistry/mcp"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/registry/billing"
	"github.com/colaregistry/colaregistry/site"
	"github.com/colaregistry/colaregistry/store"
	"github.com/colaregistry/colaregistry/store/images"
	"github.com/colaregistry/colaregistry/store/lookup"
)

// server is the running program with all its parts.
type server struct {
	*engine
	env      *environment
	http     *http.Server
	onReady  func() error            // called once the index is built
	tasks    []func(context.Context) // run in the background until the shutdown begins
	delay    time.Duration           // between the signal and closing the listener
	events   *security.Events
	browsers *auth.Browsers
	billing  *billing.Billing // nil if plans aren't sold
}

// background adds a task that runs until the shutdown begins.
func (s *server) background(task func(context.Context)) { s.tasks = append(s.tasks, task) }

// whenReady adds a task that starts once the index is built.
func (s *server) whenReady(task func(context.Context)) {
	s.background(func(ctx context.Context) {
		select {
		case <-s.ready:
			task(ctx)
		case <-ctx.Done():
		}
	})
}

// deployment groups the dependencies and settings of a server.
type deployment struct {
	store      store.Store
	images     *images.Store // nil if its folder can't be opened
	vault      *vault.Vault
	publicURL  string
	listening  net.Addr
	processors int // of the machine or container
	admin      *admin
}

// servedImages returns the image file store, or nil.
func (d deployment) servedImages() registry.ImageStore {
	if d.images == nil {
		return nil // untyped, so that the interface is nil
	}
	return d.images
}

func (c *serveCommand) operator() web.Operator {
	return web.Operator{Name: c.Company, Contact: c.Contact, Source: c.SourceURL}
}

// closed reports whether only the operator creates accounts: there is no open sign-up and no
// identity provider.
func (c *serveCommand) closed() bool { return c.SignUp != "open" && len(c.SignInClients) == 0 }

// hosts returns the host names of the server.
func (c *serveCommand) hosts(d deployment) []string {
	return append(ownHosts(d.publicURL, d.listening), c.AllowedHosts...)
}

func newServer(c *serveCommand, env *environment, d deployment) (*server, error) {
	metrics := d.admin.registerer()
	collector, references := c.collector(env, d), c.reference(env, d.store)
	d.store = lookup.New(d.store, metrics)
	events := security.New(security.Options{Logger: env.log, Metrics: metrics})
	proxies, err := c.proxies()
	if err != nil {
		return nil, err
	}
	resource := c.resource(d.publicURL)
	links, err := c.linkPolicies()
	if err != nil {
		return nil, err
	}
	tokens, err := c.tokens(env, d.store, resource, links, metrics, events)
	if err != nil {
		return nil, err
	}
	upgradeURL := c.UpgradeURL
	if upgradeURL == "" {
		upgradeURL = d.publicURL + "/plans"
	}
	s := &server{env: env, delay: c.DrainDelay, events: events, billing: c.billing(env, d.store, d.publicURL, metrics)}
	s.engine = newEngine(env, d.store, engineOptions{
		publicURL: d.publicURL, upgradeURL: upgradeURL, snapshot: c.snapshot(), metrics: metrics,
		sendsMail: c.SMTP != "", privateWebhooks: c.WebhooksPrivate, events: events, vault: d.vault, images: d.servedImages(),
		operators: c.Operators, requestLogDays: c.RequestLogDays, billing: s.billing,
	})
	mailer, err := c.mailer(d.vault, d.publicURL, upgradeURL, c.SiteName, c.Company, env.log)
	if err != nil {
		return nil, err
	}
	if mailer != nil && web.IsLocalURL(d.publicURL) {
		env.log.Warn("links in email work only on this machine; set --public-url", "public_url", d.publicURL)
	}
	if c.Contact == "" && !web.IsLocalURL(d.publicURL) {
		env.log.Warn("pages give visitors no way to contact the operator; set --contact")
	}
	s.addTasks(d, tokens, mailer)
	if collector != nil {
		s.whenReady(collector.Run)
	}
	if references != nil {
		s.whenReady(references)
	}
	if c.Alerts == "on" {
		s.addAlerts(c, d, mailer, metrics)
	}
	d.admin.register(newFetchMetrics(d.store))
	d.admin.setReady(s.service.Ready)
	handler, err := s.handler(c, d, resource, tokens, links, mailer)
	if err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler:           proxies.Identify(strictTransport(d.publicURL, env.log, handler)),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(env.log.Handler(), slog.LevelWarn),
	}
	return s, nil
}

// handler returns the handler for all requests.
func (s *server) handler(
	c *serveCommand, d deployment, resource auth.Resource, tokens *auth.Tokens, links auth.LinkPolicies, mailer *mail.Sender,
) (http.Handler, error) {
	authenticator := auth.New(d.store, tokens, s.events)
	demo, err := d.store.HasDrawnImages(s.env)
	if err != nil {
		return nil, err
	}
	rest := httpapi.New(s.service, authenticator, httpapi.Options{
		PublicURL: d.publicURL, SiteName: c.SiteName, Logger: s.env.log, Version: version(), Resource: resource, Metrics: d.admin.registerer(),
		MaxDrawings: max(1, d.processors-1), Discovery: c.discovery(), LogRequest: s.service.LogRequest,
	})
	assistants := mcp.New(s.service, authenticator, mcp.Options{
		PublicURL: d.publicURL, SiteName: c.SiteName, Logger: s.env.log, Version: version(), Resource: resource, Metrics: d.admin.registerer(),
		Hosts:   c.hosts(d),
		Origins: append([]string{d.publicURL}, c.AllowedOrigins...), LogRequest: s.service.LogRequest,
	})
	public := site.New(site.Options{
		PublicURL: d.publicURL, Reference: rest.Reference, Service: s.service, Answers: rest.Answers, ToolAnswer: s.toolAnswer,
		SiteName: c.SiteName, Operator: c.operator(),
		TermsURL: c.TermsURL, PrivacyURL: c.PrivacyURL, RequestLogDays: c.RequestLogDays,
		SignUp: mailer != nil && c.SignUp == "open", SignInForApps: len(c.Issuers) > 0, Closed: c.closed(), Billing: s.billing != nil || c.BillingURL != "",
		Demo: demo, Built: built(), Logger: s.env.log, Metrics: d.admin.registerer(),
	})
	pages, err := s.dashboard(c, d, links, mailer, rest, public, demo)
	if err != nil {
		return nil, err
	}
	return s.routeEvents(route(rest, assistants, pages, public)), nil
}

// toolAnswer returns the result of an example call to an MCP tool.
func (s *server) toolAnswer(ctx context.Context, name, arguments string) (json.RawMessage, error) {
	return mcp.Answer(ctx, s.service, name, arguments)
}

// dashboard returns the handler for the dashboard.
func (s *server) dashboard(
	c *serveCommand, d deployment, links auth.LinkPolicies, mailer *mail.Sender, rest *httpapi.API, public *site.Site, demo bool,
) (http.Handler, error) {
	issuers, err := c.signInIssuers(c.Issuers)
	if err != nil {
		return nil, err
	}
	s.browsers, err = auth.NewBrowsers(auth.BrowserOptions{
		Store: d.store, Attempts: d.vault.Box(vault.Attempt),
		PublicURL: d.publicURL, Issuers: issuers, LinkEmail: links, SendLink: linkSender(mailer), SignUp: c.SignUp == "open",
		Logger: s.env.log, Metrics: d.admin.registerer(), Events: s.events, OnFault: dashboard.ShowSessionError,
	})
	if err != nil {
		return nil, fmt.Errorf("--sign-in-issuer: %w", err)
	}
	s.background(func(ctx context.Context) { checkIssuers(ctx, s.env, "dashboard sign-in", s.browsers.Check) })
	return dashboard.New(s.service, s.browsers, dashboard.Options{
		PublicURL: d.publicURL, Hosts: c.hosts(d), BillingURL: c.BillingURL, SellsPlans: s.billing != nil, SignInForApps: len(c.Issuers) > 0,
		API: rest.ServeAs, SignInByEmail: mailer != nil, SignUp: mailer != nil && c.SignUp == "open", InviteOnly: c.SignUp == "invite",
		Closed:  c.closed(),
		Landing: public.Landing, NotFound: public.NotFound, Frame: public.Frame, Operator: c.operator(), SiteName: c.SiteName,
		TermsURL: c.TermsURL, PrivacyURL: c.PrivacyURL, Logger: s.env.log, Metrics: d.admin.registerer(),
		LogRequest: s.service.LogRequest, Demo: demo,
	}), nil
}

// addTasks adds the background tasks for accounts and, if they are configured, for access tokens,
// billing and email.
func (s *server) addTasks(d deployment, tokens *auth.Tokens, mailer *mail.Sender) {
	if tokens != nil {
		s.background(func(ctx context.Context) { checkIssuers(ctx, s.env, "access tokens", tokens.Check) })
	}
	if s.billing != nil {
		s.background(func(ctx context.Context) { runBilling(ctx, s.env, s.billing) })
	}
	s.background(s.deleter(d.store).Run)
	if mailer != nil {
		accounts := registry.AccountMailer{Store: d.store, Now: time.Now, Logger: s.env.log, Send: accountSender(mailer)}
		s.background(accounts.Run)
	}
}

// deleter returns the task that deletes accounts. Without a Stripe key, it can't delete a customer
// in Stripe, so accounts that have a customer wait. They wait even if the last read from Stripe
// showed no subscription set to renew, because one may have been started or resumed since then.
func (s *server) deleter(st store.Store) *registry.AccountDeleter {
	endBilling := func(ctx context.Context, a store.Account) error {
		switch _, err := st.SubscriptionOf(ctx, a.ID); {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil:
			return fmt.Errorf("read customer: %w", err)
		}
		return errors.New("the account has a Stripe customer: start a server with the Stripe key")
	}
	if s.billing != nil {
		endBilling = func(ctx context.Context, a store.Account) error { return s.billing.End(ctx, a.ID) }
	}
	return &registry.AccountDeleter{Store: st, Logger: s.env.log, Before: endBilling}
}

// addAlerts makes the server run saved searches and send their results.
func (s *server) addAlerts(c *serveCommand, d deployment, mailer *mail.Sender, metrics prometheus.Registerer) {
	if mailer == nil {
		s.env.log.Info("email disabled; alerts are sent by webhook and feed only (see --smtp)")
	}
	runner := alerts.New(alerts.Options{Store: d.store, Logger: s.env.log, Metrics: metrics})
	scheduler := alerts.Scheduler{Runner: runner, Now: time.Now, Logger: s.env.log}
	s.whenReady(scheduler.Run)
	rules := s.service.DestinationRules()
	dispatcher := alerts.NewDispatcher(alerts.DispatcherOptions{
		Store: d.store, Senders: c.senders(d.vault, d.publicURL, mailer), Rules: &rules, Now: time.Now, Logger: s.env.log,
		Metrics: metrics,
	})
	s.background(dispatcher.Run)
}

// route routes requests to the MCP endpoint, the public site, the dashboard or the REST API. It is
// not a mux, because the REST API needs unnormalized paths.
func route(rest, assistants, pages, public http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case mcp.Handles(r.URL.Path):
			assistants.ServeHTTP(w, r)
		case site.Handles(r.URL.Path):
			public.ServeHTTP(w, r)
		case dashboard.Handles(r.URL.Path), isNavigation(r) && !httpapi.Handles(r.URL.Path):
			pages.ServeHTTP(w, r)
		default:
			rest.ServeHTTP(w, r)
		}
	})
}

// routeEvents routes events from Stripe to the billing webhook, and other requests to next.
func (s *server) routeEvents(next http.Handler) http.Handler {
	if s.billing == nil {
		return next
	}
	events := s.billing.Webhook()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == billing.WebhookPath {
			events.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isNavigation reports whether a browser is navigating to a page and so expects errors as HTML.
func isNavigation(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// ownHosts returns the host names under which clients may call a server: those of its public URL
// and listen address, and the names of this machine if it listens on a loopback address.
func ownHosts(publicURL string, listening net.Addr) (hosts []string) {
	if u, err := url.Parse(publicURL); err == nil {
		hosts = append(hosts, u.Hostname())
	}
	if host, _, err := net.SplitHostPort(listening.String()); err == nil {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			hosts = append(hosts, host)
		}
	}
	if isLoopback(listening) {
		hosts = append(hosts, "localhost", "127.0.0.1", "::1")
	}
	return hosts
}

// serve handles requests until the context ends. Then it closes the listener, finishes in-flight
// requests and saves the index snapshot.
func (s *server) serve(ctx context.Context, l net.Listener) error {
	following, unfollow := context.WithCancel(context.WithoutCancel(ctx))
	defer unfollow()
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := s.follower.Run(following); err != nil {
			// The snapshot only speeds up the next start.
			s.env.log.Warn("saving the index snapshot failed; the next start rebuilds the index", "error", err)
		}
		return nil
	})
	run := func(ctx context.Context, tasks ...func(context.Context)) {
		for _, task := range tasks {
			group.Go(func() error {
				task(ctx)
				return nil
			})
		}
	}
	run(following, s.events.Run, s.browsers.Run)
	run(running, s.tasks...)
	group.Go(func() error {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		select {
		case <-s.ready:
			return s.onReady()
		case <-running.Done():
			return nil
		}
	})
	group.Go(func() error {
		<-running.Done()
		defer unfollow()
		return s.drain(context.WithoutCancel(ctx))
	})
	return group.Wait()
}

// drain fails readiness, waits for load balancers to notice, then finishes in-flight requests. It
// disables keep-alive first, because an idle connection might close just as a request arrives.
func (s *server) drain(ctx context.Context) error {
	s.service.Drain()
	s.http.SetKeepAlivesEnabled(false)
	if s.delay > 0 {
		s.env.log.Info("shutting down: failing readiness, still serving", "for", s.delay)
		time.Sleep(s.delay)
	}
	s.env.log.Info("shutting down: finishing in-flight requests")
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	return s.http.Shutdown(ctx)
}
