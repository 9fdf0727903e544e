package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/colaregistry/colaregistry/alerts"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/web"
)

type alertsCommand struct {
	Tick    alertsTick    `cmd:"" help:"Run due saved searches once and send their results."`
	Receive alertsReceive `cmd:"" help:"Receive and verify webhooks, for testing."`
}

type alertsTick struct {
	storeFlags
	secretFlags
	deliveryFlags
	siteFlags
	companyFlags
	PublicURL string        `name:"public-url" placeholder:"URL" help:"Scheme and host of links in messages (default: http://127.0.0.1:8080); required with --smtp."`
	At        string        `placeholder:"TIME" help:"Run as of this time, such as 2026-11-23T06:00:00Z (default: now), for testing. Each search is recorded as run at this time, and results are sent immediately."`
	Hold      time.Duration `default:"2m" placeholder:"DURATION" help:"How long this process holds its claim on searches and deliveries before others may take over, at least 1s (default: ${default})."`
}

// Run runs one tick and prints the result.
func (c *alertsTick) Run(env *environment) (err error) {
	at := time.Now()
	if c.At != "" {
		if at, err = time.Parse(time.RFC3339, c.At); err != nil {
			return usageErrorf("--at: %q is not a time; use the form 2026-11-23T06:00:00Z", c.At)
		}
	}
	if c.Hold < time.Second {
		return usageErrorf("--hold: %v is too short; use at least 1s", c.Hold)
	}
	if err := errors.Join(c.deliveryFlags.check(), c.checkSiteName(), c.checkCompany()); err != nil {
		return err
	}
	publicURL, err := checkedRoot("--public-url", c.PublicURL)
	if err != nil {
		return err
	}
	if publicURL == "" {
		publicURL = "http://127.0.0.1:8080"
		if c.SMTP != "" {
			return usageErrorf("--smtp requires --public-url, for links in email")
		}
	}
	st, err := c.openExisting(env)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	senders, err := c.openSenders(env, st, publicURL)
	if err != nil {
		return err
	}
	runner := alerts.New(alerts.Options{Store: st, Hold: c.Hold, Logger: env.log})
	report, err := runner.Tick(env, at)
	fmt.Fprintln(env.stdout, summarizeTick(report))
	if err != nil {
		return err
	}
	dispatcher := alerts.NewDispatcher(alerts.DispatcherOptions{
		Store: st, Senders: senders, Hold: c.Hold, Now: time.Now, Logger: env.log,
	})
	delivered, err := dispatcher.Deliver(env, later(at, time.Now()))
	if summary := summarizeDeliveries(delivered); summary != "" {
		fmt.Fprintln(env.stdout, summary)
	}
	if err == nil && report.Failed > 0 {
		return exitError(exitFailed) // already logged
	}
	return err
}

// openSenders loads the database's keys and returns the senders.
func (c *alertsTick) openSenders(env *environment, st database, publicURL string) (map[string]alerts.Sender, error) {
	v, err := c.vault(env, c.storeFlags, st)
	if err != nil {
		return nil, err
	}
	mailer, err := c.mailer(v, publicURL, "", c.SiteName, c.Company, env.log)
	if err != nil {
		return nil, err
	}
	return c.senders(v, publicURL, mailer), nil
}

// later returns the later of two times. With --at in the future, the deliveries aren't due until
// then.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// summarizeTick returns the sentences that alerts tick prints.
func summarizeTick(r alerts.Report) string {
	summary := fmt.Sprintf("%s ran and found %s",
		amount(r.Runs, "search", "searches"), amount(r.Matches, "label", "labels"))
	if r.Late > 0 {
		summary += fmt.Sprintf(" (%d late)", r.Late)
	}
	summary += "."
	if r.Failed > 0 {
		summary += fmt.Sprintf(" %s failed.", amount(r.Failed, "search", "searches"))
	}
	if r.Missed > 0 {
		summary += fmt.Sprintf(" %s changed during the run.", amount(r.Missed, "search", "searches"))
	}
	if !r.NextDueAt.IsZero() {
		summary += " Next due " + r.NextDueAt.UTC().Format(time.RFC3339) + "."
	}
	return summary
}

// amount formats a number with its noun.
func amount(n int, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return web.Thousands(n) + " " + plural
}

// alertsReceive is a webhook receiver for testing and a model for production receivers.
type alertsReceive struct {
	Listen string        `default:"127.0.0.1:9090" env:"COLAREGISTRY_RECEIVE_LISTEN" placeholder:"ADDR" help:"Address to listen on (default: ${default})."`
	Secret string        `required:"" placeholder:"whsec_…" help:"Signing secret of the destination. Prefer the environment variable, because other users of the machine can see command lines."`
	Count  int           `placeholder:"N" help:"Exit after this many distinct messages, not counting challenges (default: run until interrupted)."`
	Within time.Duration `placeholder:"DURATION" help:"Exit with an error after this time, such as 10m (default: no limit)."`
}

const (
	maxReceived = 1 << 20 // bytes per message; 25 labels take about 12 KB
	closeWithin = 2 * time.Second
)

// Run receives webhooks, checks their signatures and prints a line for each.
func (c *alertsReceive) Run(env *environment) error {
	checker, err := webhooks.NewWebhook(c.Secret)
	if err != nil || !strings.HasPrefix(c.Secret, "whsec_") {
		return usageErrorf("--secret: not a signing secret; " +
			"secrets start with whsec_ and are shown when a destination is created or its secret is rotated")
	}
	if c.Count < 0 || c.Within < 0 {
		return usageErrorf("--count and --within must not be negative")
	}
	listener, err := (&net.ListenConfig{}).Listen(env, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Listen, err)
	}
	ctx, done := context.WithCancel(env)
	defer done()
	errTimeout := errors.New("the messages did not arrive in time")
	if c.Within > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, c.Within, errTimeout)
		defer stop()
	}
	r := &receiver{check: checker.Verify, out: env.stdout, seen: map[string]bool{}, limit: c.Count, done: done}
	server := &http.Server{Handler: r, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout}
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(closed)
		shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		_ = server.Shutdown(shutdownCtx) // lets the last response finish
		_ = server.Close()               // closes the remaining connections
	})
	fmt.Fprintf(env.stderr, "Receiving webhooks at http://%s\n", reachable(listener.Addr()))
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-closed // Serve returns when Shutdown starts
	if context.Cause(ctx) == errTimeout {
		return errTimeout
	}
	return nil
}

// receiver handles webhooks.
type receiver struct {
	check func(body []byte, headers http.Header) error
	out   io.Writer
	limit int // call done after this many distinct messages; 0 for never
	done  func()

	mu   sync.Mutex
	seen map[string]bool // by webhook-id
}

// ServeHTTP verifies the signature of a webhook and prints a line for it. It accepts duplicates and
// answers challenges with their token; neither counts toward the limit.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReceived))
	if err != nil {
		status, message := http.StatusBadRequest, "could not read the body"
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			status, message = http.StatusRequestEntityTooLarge, "the body is too large"
		}
		r.reject(w, err, status, message)
		return
	}
	if err := r.check(body, req.Header); err != nil {
		r.reject(w, err, http.StatusUnauthorized, "invalid signature")
		return
	}
	if token := challengeIn(body); token != "" {
		fmt.Fprintln(w, token)
		r.mu.Lock()
		defer r.mu.Unlock()
		fmt.Fprintf(r.out, "confirmed\t%s\n", req.Header.Get(webhooks.HeaderWebhookID))
		return
	}
	w.WriteHeader(http.StatusNoContent)
	r.record(req.Header.Get(webhooks.HeaderWebhookID), body)
}

// reject prints an error and responds with a status and a message.
func (r *receiver) reject(w http.ResponseWriter, err error, status int, message string) {
	fmt.Fprintf(r.out, "rejected\t%v\n", err)
	http.Error(w, message, status)
}

// challengeIn returns the token of a challenge, or "" for any other message.
func challengeIn(body []byte) string {
	var m struct {
		Type string `json:"type"`
		Data struct {
			Challenge string `json:"challenge"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &m) != nil || m.Type != cola.EventConfirm {
		return ""
	}
	return m.Data.Challenge
}

func (r *receiver) record(id string, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[id] {
		fmt.Fprintf(r.out, "duplicate\t%s\n", id)
		return
	}
	r.seen[id] = true
	fmt.Fprintf(r.out, "verified\t%s\t%s\n", id, summarizeMessage(body))
	if len(r.seen) == r.limit {
		r.done()
	}
}

// summarizeMessage summarizes a message in one line.
func summarizeMessage(body []byte) string {
	var m struct {
		Type string `json:"type"`
		Data struct {
			SavedSearch struct {
				Name string `json:"name"`
			} `json:"saved_search"`
			Run struct {
				MatchCount int `json:"match_count"`
			} `json:"run"`
			Labels []struct {
				TTBID     string `json:"ttb_id"`
				BrandName string `json:"brand_name"`
			} `json:"labels"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return fmt.Sprintf("not a valid message: %v", err)
	}
	summary := m.Type
	if m.Data.SavedSearch.Name != "" {
		summary += fmt.Sprintf("\t%q found %s", m.Data.SavedSearch.Name,
			amount(m.Data.Run.MatchCount, "label", "labels"))
	}
	for _, l := range m.Data.Labels {
		summary += fmt.Sprintf("\t%s %s", l.TTBID, l.BrandName)
	}
	return summary
}
