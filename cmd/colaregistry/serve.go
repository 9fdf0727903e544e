package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/colaregistry/colaregistry/collect"
	"github.com/colaregistry/colaregistry/internal/connlimit"
	"github.com/colaregistry/colaregistry/store/images"
)

type serveCommand struct {
	storeFlags
	imageFlags
	serveEnrichFlags
	secretFlags
	logFlags
	oauthFlags
	dashboardFlags
	billingFlags
	deliveryFlags
	networkFlags
	serveFetchFlags
	siteFlags
	companyFlags
	discoveryFlags
	Listen         string        `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address to listen on (default: ${default})."`
	AdminListen    string        `placeholder:"ADDR" help:"Address of the admin listener, which serves metrics, probes and profiles without authentication (default: disabled)."`
	PublicURL      string        `name:"public-url" placeholder:"URL" help:"Scheme and host at which users reach the server (default: http:// and the listen address)."`
	UpgradeURL     string        `name:"upgrade-url" placeholder:"URL" help:"Upgrade page, linked from quota errors (default: the dashboard's plans page)."`
	AllowedHosts   []string      `name:"allowed-host" placeholder:"NAME" help:"Additional host name, without a port, that /mcp accepts besides those in the public URL and the listen address (repeatable)."`
	AllowedOrigins []string      `name:"allowed-origin" placeholder:"ORIGIN" help:"Additional browser origin, such as https://app.example.com, that may call /mcp (repeatable)."`
	DrainDelay     time.Duration `placeholder:"DURATION" help:"On shutdown, how long to accept connections after /readyz starts to fail, so that load balancers notice (default: ${default})." default:"0s"`
	Alerts         string        `default:"on" enum:"on,off" placeholder:"on|off" help:"Whether this process runs due saved searches and sends alerts (default: ${default}). You can run several processes: they share the work."`
	Demo           string        `default:"auto" enum:"auto,never" placeholder:"auto|never" help:"Whether to load demo data into a new SQLite database (default: ${default})."`
}

const (
	drainTimeout = 30 * time.Second // limit for in-flight requests after a signal
	// Merging or building the index keeps a thread busy for seconds. Without a spare thread, a
	// request waits 10 ms until the runtime preempts the busy one; with a spare thread, the
	// operating system runs the request immediately.
	spareThreads  = 2
	maxHeader     = 64 << 10
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 30 * time.Second
)

// Run serves until the context ends, then finishes in-flight requests and commits their charges.
func (c *serveCommand) Run(env *environment) (err error) {
	publicURL, err := c.check()
	if err != nil {
		return err
	}
	env.log = c.logger(env.stderr)
	processors := tune()
	listener, err := (&net.ListenConfig{}).Listen(env, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Listen, err)
	}
	defer listener.Close() // in case the server never starts
	if publicURL == "" {
		publicURL = "http://" + reachable(listener.Addr())
	}
	admin, err := openAdmin(env, c.AdminListen)
	if err != nil {
		return err
	}
	defer admin.close() // stays open during the shutdown, for probes and metrics
	if err := c.checkKeyFile(c.storeFlags); err != nil {
		return err
	}
	st, err := c.open(env, admin.registerer())
	if err != nil {
		return err
	}
	defer closing(st, &err)
	if err := os.MkdirAll(filepath.Dir(c.snapshot()), 0o700); err != nil { // may be missing with PostgreSQL
		env.log.Warn("creating the directory for the index snapshot failed", "error", err)
	}
	files, err := c.servedImages(env, processors)
	if err != nil {
		return err
	}
	if files != nil {
		defer files.Close()
	}
	if c.Fetch {
		if err := requireNoDemo(env, st); err != nil {
			return err
		}
		c.Demo = "never"
	}
	warnPlainCookies(env.log, publicURL, listener.Addr())
	private := isPrivate(env, listener.Addr())
	account, err := c.firstStart(env, st, private)
	if err != nil {
		return err
	}
	v, err := c.vault(env, c.storeFlags, st)
	if err == nil {
		err = sealPlaintext(env, st, v)
	}
	if err != nil {
		return err
	}
	if err := st.LimitRequestLog(env, time.Duration(c.RequestLogDays)*24*time.Hour); err != nil {
		return err
	}
	s, err := newServer(c, env, deployment{st, files, v, publicURL, listener.Addr(), processors, admin})
	if err != nil {
		return err
	}
	defer s.close()
	enrich, err := c.enricher(env, st)
	if err != nil {
		return err
	}
	if enrich != nil {
		s.whenReady(enrich)
	}
	s.background(func(ctx context.Context) { c.keepFresh(ctx, env, st) })
	s.onReady = func() error {
		if err := os.WriteFile(c.urlFile(), []byte(publicURL), 0o600); err != nil {
			env.log.Warn("recording the public URL failed; account link needs --public-url", "error", err)
		}
		return c.welcome(env, st, publicURL, account, private, s.index)
	}
	limited := connlimit.New(listener, c.connections(env), admin.registerer())
	limited.Attach(s.http)
	return s.serve(env, limited)
}

// servedImages opens the image file store. With PostgreSQL, the data directory may be read-only, so
// opening the default folder may fail; then servedImages returns nil, unless images are fetched.
func (c *serveCommand) servedImages(env *environment, processors int) (*images.Store, error) {
	files, err := c.openImages(env, c.storeFlags, max(1, processors-1))
	if err == nil || c.ImageStore != "" || c.Fetch && c.Collector.Images != collect.None {
		return files, err
	}
	env.log.Warn("opening the folder of label images failed; stored images are not served", "error", err)
	return nil, nil
}

// tune configures the runtime for a large index and short requests, unless the environment already
// does. It returns the number of processors of the machine or container; GOMAXPROCS may be larger.
func tune() (processors int) {
	tuneMemory()
	processors = runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(processors + spareThreads)
	}
	return processors
}

// check validates the flags before anything is opened. It returns the public URL without a trailing
// slash, or "".
func (c *serveCommand) check() (publicURL string, err error) {
	if _, err := c.place(); err != nil {
		return "", err
	}
	if err := c.checkEnrich(); err != nil {
		return "", err
	}
	if _, err := checkedURL("--upgrade-url", c.UpgradeURL); err != nil {
		return "", err
	}
	if _, err := checkedURL("--billing-url", c.BillingURL); err != nil {
		return "", err
	}
	if err := c.checkBilling(c.BillingURL); err != nil {
		return "", err
	}
	_, err = c.signInIssuers(c.Issuers)
	_, linkErr := c.linkPolicies()
	err = errors.Join(c.checkImages(), c.oauthFlags.check(), c.deliveryFlags.check(), c.networkFlags.check(),
		c.checkFetch(), c.checkOperators(), c.checkRequestLog(), c.checkSignUp(), c.checkLinks(), c.checkSiteName(),
		c.checkCompany(), err,
		linkErr)
	if err != nil {
		return "", err
	}
	for _, name := range c.AllowedHosts {
		if name == "" || strings.ContainsAny(name, "/:* ") && net.ParseIP(name) == nil {
			return "", usageErrorf("--allowed-host: %q must be a host name without a scheme or port", name)
		}
	}
	for _, origin := range c.AllowedOrigins {
		if _, err := checkedRoot("--allowed-origin", origin); err != nil {
			return "", err
		}
	}
	return checkedRoot("--public-url", c.PublicURL)
}

// checkSignUp rejects open sign-up without a mail server, because sign-in links are emailed.
func (c *serveCommand) checkSignUp() error {
	if c.SignUp == "open" && c.SMTP == "" {
		return usageErrorf("--sign-up open requires --smtp, to send sign-in links")
	}
	return nil
}

// checkedRoot parses the URL of a host's root and returns it without a trailing slash, or "".
func checkedRoot(flag, text string) (string, error) {
	u, err := checkedURL(flag, text)
	if err != nil || u == nil {
		return "", err
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", usageErrorf("%s: %q must contain only a scheme and host, such as https://registry.example.com",
			flag, text)
	}
	return u.Scheme + "://" + u.Host, nil
}

// checkedURL parses an http or https URL. It returns nil for "".
func checkedURL(flag, text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, usageErrorf("%s: %q is not an http:// or https:// URL with a host", flag, text)
	}
	return u, nil
}

// reachable returns the host and port at which this machine reaches a listener, with localhost for
// a wildcard address.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
