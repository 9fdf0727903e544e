package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/httpapi"
	"github.com/colaregistry/colaregistry/quota"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/search"
	"github.com/colaregistry/colaregistry/store"
)

type serveCommand struct {
	storeFlags
	logFlags
	Listen      string        `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address to listen on (${default})."`
	AdminListen string        `placeholder:"ADDR" help:"Another address to listen on, for operators: metrics, probes and profiles, without credentials. None when left out."`
	PublicURL   string        `name:"public-url" placeholder:"URL" help:"Scheme and host that users reach the server at; http:// and the listen address when left out."`
	UpgradeURL  string        `name:"upgrade-url" placeholder:"URL" help:"Where a larger plan is had, told when a quota is used up; the plans in the API reference when left out."`
	DrainDelay  time.Duration `placeholder:"DURATION" help:"How long to go on as usual after a signal, with /readyz at 503, before the listener closes: as long as the proxy in front takes to notice (${default})." default:"0s"`
	Demo        string        `default:"auto" enum:"auto,never" placeholder:"auto|never" help:"Whether to load demonstration data when the embedded database is first made (${default})."`
}

const (
	drainFor  = 30 * time.Second // requests that are still running after a signal may take this long
	gcPercent = 20               // the index is large and never garbage: the default would let the heap double
	// A fold or a build keeps a thread busy for seconds. With none to spare, a request waits for the runtime to preempt it,
	// ten milliseconds; with one to spare the system's scheduler lets the request go first.
	spareThreads = 2
	maxHeader    = 64 << 10
	headerWait   = 10 * time.Second
	readWait     = 30 * time.Second
	writeWait    = 60 * time.Second
	idleTimeout  = 2 * time.Minute
)

// Run serves until the context ends, then drains: requests that have begun are answered, their charges committed.
func (c *serveCommand) Run(env *environment) (err error) {
	publicURL, err := c.check()
	if err != nil {
		return err
	}
	env.log = c.logger(env.stderr)
	tune()
	listener, err := (&net.ListenConfig{}).Listen(env, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Listen, err)
	}
	defer listener.Close() // the server closes it first, unless it never came to serve
	if publicURL == "" {
		publicURL = "http://" + reachable(listener.Addr())
	}
	admin, err := openAdmin(env, c.AdminListen)
	if err != nil {
		return err
	}
	defer admin.close() // last of all, so that the end can be seen
	st, err := c.open(env, admin.registerer())
	if err != nil {
		return err
	}
	defer closing(st, &err)
	if err := os.MkdirAll(filepath.Dir(c.snapshot()), 0o700); err != nil { // a database on a server made no folder
		env.log.Warn("no folder to save the index in", "error", err)
	}
	demo, err := c.firstStart(env, st)
	if err != nil {
		return err
	}
	s := newServer(c, env, st, publicURL, admin)
	defer s.close()
	s.onReady = func() error { return demo.welcome(env, publicURL, s.index) }
	return s.serve(env, listener)
}

// tune sets the runtime up for a large index beside short requests, unless the environment says otherwise.
func tune() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spareThreads)
	}
}

// server is the wired program.
type server struct {
	env      *environment
	index    *search.Index
	ledger   *quota.Ledger
	follower *registry.Follower
	http     *http.Server
	onReady  func() error // told once, when the index is built
	service  *registry.Service
	delay    time.Duration // between the signal and the end of the listener
	ready    chan struct{}
}

func newServer(c *serveCommand, env *environment, st store.Store, publicURL string, admin *admin) *server {
	upgradeURL := c.UpgradeURL
	if upgradeURL == "" {
		upgradeURL = publicURL + "/docs#plans"
	}
	s := &server{env: env, ready: make(chan struct{}), delay: c.DrainDelay}
	s.index = search.New(search.Options{Logger: env.log})
	s.ledger = quota.New(st, quota.Options{Rules: quota.Rules{UpgradeURL: upgradeURL}, Logger: env.log, Metrics: admin.registerer()})
	s.service = registry.New(registry.Options{
		Store: st, Index: s.index, Ledger: s.ledger, PublicURL: publicURL, Now: time.Now, Logger: env.log, Metrics: admin.registerer(),
	})
	admin.probe(s.service.Ready)
	s.follower = registry.NewFollower(s.service, registry.FollowerOptions{
		Snapshot: c.snapshot(),
		Progress: func(labels int) { env.log.Info("building the index", "labels", labels) },
		Built: func(b registry.Build) {
			env.log.Info("ready", "labels", b.Labels, "undated", b.Undated, "took", b.Took.Round(time.Millisecond), "from_snapshot", b.Restored)
			close(s.ready)
		},
	})
	s.http = &http.Server{
		Handler: httpapi.New(s.service, auth.New(st), httpapi.Options{
			PublicURL: publicURL, Logger: env.log, Version: version(), Metrics: admin.registerer(),
		}),
		ReadHeaderTimeout: headerWait, ReadTimeout: readWait, WriteTimeout: writeWait, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(env.log.Handler(), slog.LevelWarn),
	}
	return s
}

// serve answers requests until the context ends. Then it drains: the listener closes, requests that have begun are
// answered, and the index snapshot is saved.
func (s *server) serve(ctx context.Context, l net.Listener) error {
	following, unfollow := context.WithCancel(context.WithoutCancel(ctx))
	defer unfollow()
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := s.follower.Run(following); err != nil {
			s.env.log.Warn("the next start reads every label", "error", err) // nothing is lost with the snapshot
		}
		return nil
	})
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

// drain tells that the server is about to end, goes on for as long as those who send traffic take to notice, and then
// answers what has begun. Connections are closed from the start, each after the answer under way: one that is kept alive
// would be closed just as a request is sent over it.
func (s *server) drain(ctx context.Context) error {
	s.service.Drain()
	s.http.SetKeepAlivesEnabled(false)
	if s.delay > 0 {
		s.env.log.Info("stopping: no longer ready, answering as usual", "for", s.delay)
		time.Sleep(s.delay)
	}
	s.env.log.Info("stopping: answering what has begun")
	ctx, cancel := context.WithTimeout(ctx, drainFor)
	defer cancel()
	return s.http.Shutdown(ctx)
}

// close settles what is charged and lets go of the index. The store is closed after it.
func (s *server) close() {
	s.ledger.Close()
	s.index.Close()
}

// check reports what is wrong with the flags before anything is opened, and returns the public URL without a slash at its
// end, or "" for none.
func (c *serveCommand) check() (publicURL string, err error) {
	if _, err := c.place(); err != nil {
		return "", err
	}
	if _, err := checkedURL("--upgrade-url", c.UpgradeURL); err != nil {
		return "", err
	}
	u, err := checkedURL("--public-url", c.PublicURL)
	if err != nil || u == nil {
		return "", err
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("--public-url: %q goes on after the host; the server answers at the root of its host only", c.PublicURL)
	}
	return u.Scheme + "://" + u.Host, nil
}

// checkedURL reads a URL of the web, or nil for none.
func checkedURL(flag, given string) (*url.URL, error) {
	if given == "" {
		return nil, nil
	}
	u, err := url.Parse(given)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("%s: %q is not a URL with http:// or https:// and a host", flag, given)
	}
	return u, nil
}

// reachable returns the host and port by which this machine reaches a listener: one on every address is reached at
// localhost.
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
