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
)

type alertsCommand struct {
	Tick    alertsTick    `cmd:"" help:"Run due saved searches once and send their results. A server does this every minute."`
	Receive alertsReceive `cmd:"" help:"Receive webhooks on this machine, for trials: answer challenges, verify signatures and print a line per message."`
}

type alertsTick struct {
	storeFlags
	secretFlags
	deliveryFlags
	PublicURL string        `name:"public-url" placeholder:"URL" help:"Scheme and host of links in messages (default: http://127.0.0.1:8080). Required with --smtp."`
	At        string        `placeholder:"TIME" help:"Run as of this time, such as 2026-11-23T06:00:00Z (default: now), for trials. Marks move to it, and results are sent at once."`
	Hold      time.Duration `default:"2m" placeholder:"DURATION" help:"How long other processes leave claimed searches to this one (${default})."`
}

// Run runs one tick and prints the result.
func (c *alertsTick) Run(env *environment) (err error) {
	at := time.Now()
	if c.At != "" {
		if at, err = time.Parse(time.RFC3339, c.At); err != nil {
			return fmt.Errorf("--at: %q is not a time; write it like 2026-11-23T06:00:00Z", c.At)
		}
	}
	if c.Hold < time.Second {
		return fmt.Errorf("--hold: %v is too short; use at least a second", c.Hold)
	}
	if err := c.deliveryFlags.check(); err != nil {
		return err
	}
	publicURL, err := checkedRoot("--public-url", c.PublicURL)
	if err != nil {
		return err
	}
	if publicURL == "" {
		if publicURL = "http://127.0.0.1:8080"; c.SMTP != "" {
			return errors.New("--smtp requires --public-url, for links in email such as unsubscribe")
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
	dispatcher := alerts.NewDispatcher(alerts.DispatcherOptions{Store: st, Senders: senders, Hold: c.Hold, Now: time.Now, Logger: env.log})
	delivered, err := dispatcher.Deliver(env, latest(at, time.Now()))
	if told := summarizeDeliveries(delivered); told != "" {
		fmt.Fprintln(env.stdout, told)
	}
	if err == nil && report.Failed > 0 {
		return exitError(exitFailed) // the log has the details
	}
	return err
}

// openSenders loads the keys of the database and returns the senders.
func (c *alertsTick) openSenders(env *environment, st database, publicURL string) (map[string]alerts.Sender, error) {
	v, err := c.vault(env, c.storeFlags, st)
	if err != nil {
		return nil, err
	}
	return c.senders(v, publicURL, env.log)
}

// latest returns the later of two times: a run as of a future time is due then.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// summarizeTick summarizes a tick.
func summarizeTick(r alerts.Report) string {
	told := fmt.Sprintf("%s ran and found %s", amount(r.Runs, "search", "searches"), amount(r.Matches, "label", "labels"))
	if r.Late > 0 {
		told += fmt.Sprintf(", %d of them late", r.Late)
	}
	told += "."
	if r.Failed > 0 {
		told += fmt.Sprintf(" %s failed.", amount(r.Failed, "search", "searches"))
	}
	if r.Missed > 0 {
		told += fmt.Sprintf(" %s changed during the run.", amount(r.Missed, "search", "searches"))
	}
	if !r.NextDueAt.IsZero() {
		told += " Next due " + r.NextDueAt.UTC().Format(time.RFC3339) + "."
	}
	return told
}

// amount formats a number with its noun.
func amount(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", several)
}

// alertsReceive is a webhook receiver for trials. It does what a receiver in production must do.
type alertsReceive struct {
	Listen string        `default:"127.0.0.1:9090" env:"COLAREGISTRY_RECEIVE_LISTEN" placeholder:"ADDR" help:"Address to listen on (${default})."`
	Secret string        `required:"" placeholder:"whsec_…" help:"Signing secret, as shown when the destination was created. Prefer the environment."`
	Count  int           `placeholder:"N" help:"Exit after this many distinct messages, not counting challenges; by default, run until interrupted."`
	Within time.Duration `placeholder:"DURATION" help:"Fail if they don't arrive within this time (default: wait forever)."`
}

const (
	maxReceived = 1 << 20 // bytes of a message: 25 labels take about 12 KB
	closeWithin = 2 * time.Second
)

// Run receives webhooks, checks their signatures and prints a line for each.
func (c *alertsReceive) Run(env *environment) error {
	checker, err := webhooks.NewWebhook(c.Secret)
	if err != nil || !strings.HasPrefix(c.Secret, "whsec_") {
		return errors.New("--secret must be a signing secret: it starts with whsec_ and was shown when the destination was created")
	}
	if c.Count < 0 || c.Within < 0 {
		return errors.New("--count and --within must not be negative")
	}
	listener, err := (&net.ListenConfig{}).Listen(env, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Listen, err)
	}
	ctx, enough := context.WithCancel(env)
	defer enough()
	timeout := errors.New("the messages did not arrive in time")
	if c.Within > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, c.Within, timeout)
		defer stop()
	}
	r := &receiver{check: checker.Verify, out: env.stdout, seen: map[string]bool{}, until: c.Count, enough: enough}
	server := &http.Server{Handler: r, ReadHeaderTimeout: headerWait, ReadTimeout: readWait}
	context.AfterFunc(ctx, func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		_ = server.Shutdown(closing) // the last response is written; lingering connections are closed
		_ = server.Close()
	})
	fmt.Fprintf(env.stderr, "Receiving webhooks at http://%s\n", reachable(listener.Addr()))
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if context.Cause(ctx) == timeout {
		return timeout
	}
	return nil
}

// receiver handles webhooks.
type receiver struct {
	check  func(body []byte, headers http.Header) error
	out    io.Writer
	until  int // stop after this many distinct messages; 0: never
	enough func()

	mu   sync.Mutex
	seen map[string]bool // by webhook-id
}

// ServeHTTP verifies the signature of a webhook and prints a line about it. It accepts a repeated
// message and marks the line as a repetition. It answers a challenge with its token; challenges
// don't count.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReceived))
	if err == nil {
		err = r.check(body, req.Header)
	}
	if err != nil {
		fmt.Fprintf(r.out, "refused\t%v\n", err)
		http.Error(w, "invalid signature", http.StatusUnauthorized)
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
	r.take(req.Header.Get(webhooks.HeaderWebhookID), body)
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

func (r *receiver) take(id string, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[id] {
		fmt.Fprintf(r.out, "again\t%s\n", id)
		return
	}
	r.seen[id] = true
	fmt.Fprintf(r.out, "verified\t%s\t%s\n", id, gist(body))
	if len(r.seen) == r.until {
		r.enough()
	}
}

// gist summarizes a message in one line.
func gist(body []byte) string {
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
	told := m.Type
	if m.Data.SavedSearch.Name != "" {
		told += fmt.Sprintf("\t%q found %s", m.Data.SavedSearch.Name, amount(m.Data.Run.MatchCount, "label", "labels"))
	}
	for _, l := range m.Data.Labels {
		told += fmt.Sprintf("\t%s %s", l.TTBID, l.BrandName)
	}
	return told
}
