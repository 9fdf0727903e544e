package registry_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// TestAccountMailer checks that two processes send each email once, that failures are retried with
// increasing delays for three days, and that a final failure isn't retried.
func TestAccountMailer(t *testing.T) {
	w := mustWorld(t, 0)
	ann, bob := w.mustHolder(t, "ann@example.com", cola.TierFree), w.mustHolder(t, "bob@example.com", cola.TierFree)
	var sent []string
	var fault error
	var final bool
	send := func(_ context.Context, e store.AccountEmail) (bool, error) {
		sent = append(sent, e.To+" "+string(e.Event)+" "+e.About)
		return final, fault
	}
	newMailer := func() *registry.AccountMailer {
		return &registry.AccountMailer{Store: w.store, Now: w.now, Logger: slog.New(slog.DiscardHandler), Send: send}
	}
	first, second := newMailer(), newMailer()
	round := func(want ...string) {
		t.Helper()
		sent = nil
		for _, m := range []*registry.AccountMailer{first, second} {
			if err := m.Round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
	}
	round()
	w.spend(t, ann, cola.TierFree.Limits().ListRecords)
	round() // the next check is due in five minutes
	w.advance(5 * time.Minute)
	round("ann@example.com quota list_records 100 free")
	first, second = newMailer(), newMailer() // restarted
	round()

	identity := store.Identity{Issuer: "https://issuer.example", Subject: "1"}
	for _, final = range []bool{true, false} {
		fault = errors.New("rejected")
		if err := w.store.AddIdentity(t.Context(), bob.Account, identity); err != nil {
			t.Fatal(err)
		}
		round("bob@example.com identity_added https://issuer.example")
		if err := w.store.RemoveIdentity(t.Context(), bob.Account, identity, 0); err != nil {
			t.Fatal(err)
		}
		fault = nil
		round("bob@example.com identity_removed https://issuer.example")
		w.advance(2 * time.Minute)
		if final {
			round()
			continue
		}
		fault = errors.New("unavailable")
		const retry = "bob@example.com identity_added https://issuer.example"
		round(retry)
		w.advance(2 * time.Minute)
		round()
		w.advance(2 * time.Minute)
		round(retry)
		w.advance(72 * time.Hour)
		round() // given up
	}
}

// TestQuotaEmailSetting checks that account holders can turn quota emails off, but only in the
// dashboard.
func TestQuotaEmailSetting(t *testing.T) {
	w := mustWorld(t, 0)
	holder, _, on := managed(t, w, "holder@example.com")
	for _, want := range []bool{false, true} {
		if _, err := w.SetQuotaEmails(t.Context(), holder, want); err != nil {
			t.Fatal(err)
		}
		if a, _, err := w.Account(t.Context(), holder); err != nil || a.QuotaEmails != want {
			t.Errorf("QuotaEmails = %v, %v, want %v", a.QuotaEmails, err, want)
		}
	}
	if _, err := w.SetQuotaEmails(t.Context(), keyCaller(holder.Account, on.key), false); code(err) != cola.CodeForbidden {
		t.Errorf("SetQuotaEmails with a key: %v, want forbidden", err)
	}
}

// stuckEmails is a store with one email that is due. Other methods are not called.
type stuckEmails struct {
	store.AccountEmails
	claimed bool
	retry   time.Duration // passed to SettleAccountEmail
}

func (s *stuckEmails) QueueQuotaEmails(context.Context) (int, error) { return 0, nil }

func (s *stuckEmails) ClaimAccountEmails(context.Context, int, time.Duration) ([]store.AccountEmail, error) {
	if s.claimed {
		return nil, nil
	}
	s.claimed = true
	return []store.AccountEmail{{ID: 1, CreatedAt: time.Now(), Attempts: 1}}, nil
}

func (s *stuckEmails) SettleAccountEmail(_ context.Context, _ store.AccountEmail, retry time.Duration) error {
	s.retry = retry
	return nil
}

// TestAccountMailerTimeout checks that sending times out if the mail server doesn't respond, and
// that the email is retried.
func TestAccountMailerTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &stuckEmails{}
		m := registry.AccountMailer{
			Store: st, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Send: func(ctx context.Context, _ store.AccountEmail) (bool, error) {
				<-ctx.Done()
				return false, ctx.Err()
			},
		}
		if err := m.Round(t.Context()); err != nil || st.retry == 0 {
			t.Errorf("Round = %v, retry after %v; want a retry", err, st.retry)
		}
	})
}
