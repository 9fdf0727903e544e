package registry

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/colaregistry/colaregistry/store"
)

const (
	// mailInterval is the pause between rounds of an AccountMailer.
	mailInterval = 15 * time.Second
	// quotaInterval is the pause between checks for quotas that are nearly used up. The check reads
	// this month's usage for all accounts, so that charges don't have to check it.
	quotaInterval = 5 * time.Minute
	// mailHold is how long a claim lasts. If the claiming process is killed, another one
	// sends the email after that.
	mailHold = 5 * time.Minute
	// mailBatch is how many emails are claimed at once.
	mailBatch = 10
	// sendTimeout is the time limit for sending an email. A whole batch must be sent before its
	// claims expire.
	sendTimeout = 20 * time.Second
)

// AccountMailer sends email to account holders about their accounts. Every serving process that
// sends email has one; they share the work. An email may be sent twice if the process that
// sent it is killed before it records the outcome, or can't record it.
type AccountMailer struct {
	Store  store.AccountEmails
	Now    func() time.Time
	Logger *slog.Logger
	// Send sends an email once, without retries. It reports whether a failure is final.
	Send func(context.Context, store.AccountEmail) (final bool, err error)

	quotasChecked time.Time
}

// Run sends email until the context ends.
func (m *AccountMailer) Run(ctx context.Context) {
	failing := false
	for wait := rand.N(mailInterval); ; wait = mailInterval {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		err := m.Round(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			m.Logger.Error("sending account emails failed; retrying", "error", err)
		}
		failing = err != nil
	}
}

// Round queues quota emails if a check is due, and sends all email that is due.
func (m *AccountMailer) Round(ctx context.Context) error {
	var errs []error
	if now := m.Now(); now.Sub(m.quotasChecked) >= quotaInterval {
		if _, err := m.Store.QueueQuotaEmails(ctx); err != nil {
			errs = append(errs, err)
		} else {
			m.quotasChecked = now
		}
	}
	for {
		claimed, err := m.Store.ClaimAccountEmails(ctx, mailBatch, mailHold)
		if err != nil || len(claimed) == 0 {
			return errors.Join(append(errs, err)...)
		}
		for _, e := range claimed {
			if err := m.send(ctx, e); err != nil {
				return errors.Join(append(errs, err)...)
			}
		}
	}
}

// send sends a claimed email and records the outcome.
func (m *AccountMailer) send(ctx context.Context, e store.AccountEmail) error {
	sending, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	final, err := m.Send(sending, e)
	retry := time.Duration(0)
	if err != nil && !final {
		retry = min(time.Minute<<min(e.Attempts, 10), 6*time.Hour)
		if m.Now().Add(retry).Sub(e.CreatedAt) > store.AccountEmailLifetime {
			retry = 0
		}
	}
	if err != nil && retry == 0 {
		m.Logger.Warn("account email not sent", "event", e.Event, "account", e.Account, "error", err)
	}
	return m.Store.SettleAccountEmail(context.WithoutCancel(ctx), e, retry)
}
