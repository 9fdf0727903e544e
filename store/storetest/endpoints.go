package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/store"
)

func testEndpoints(t *testing.T, open Opener) {
	runChecks(t, open, []check{
		{"unconfirmed endpoint stays pending", unconfirmedStaysPending},
		{"confirmation by response", confirmByResponse},
		{"pending endpoint receives only challenges", pendingReceivesChallenges},
		{"confirmation limits per host", confirmLimitsPerHost},
	})
}

// pendingHook returns a new webhook with an open challenge.
func pendingHook(account cola.AccountID, address string) store.NewDestination {
	n := newHook(account, address)
	n.State = cola.DestinationPending
	n.Challenge = "sealed:01234567:one"
	n.Confirm = &store.ConfirmationRequest{Due: duePast, Limits: newConfirmation(duePast).Limits}
	return n
}

func unconfirmedStaysPending(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	dest := mustDestination(t, st, pendingHook(a.ID, hook))
	for state, reason := range map[string]string{
		cola.DestinationActive: "", cola.DestinationPaused: cola.ReasonHolder,
		cola.DestinationDisabled: cola.ReasonGone, cola.DestinationUnconfirmed: "",
	} {
		checkEqual(t, "UpdateDestination to "+state, dest, changeDestination(t, st, dest, inState(state, reason)))
		n := newHook(a.ID, hook+"/"+state)
		if n.State = state; state != cola.DestinationActive { // a new active endpoint counts as verified
			checkEqual(t, "state created as "+state, cola.DestinationPending, mustDestination(t, st, n).State)
		}
	}
	dest.State, dest.VerifiedAt = cola.DestinationActive, epoch
	confirmed := changeDestination(t, st, dest,
		func(d *store.Destination) { d.State, d.VerifiedAt = cola.DestinationActive, epoch })
	checkEqual(t, "verified destination", dest, confirmed)
	checkEqual(t, "state after pausing", cola.DestinationPaused, mustSetActive(t, st, dest, false).State)
	checkEqual(t, "state after resuming", cola.DestinationActive, mustSetActive(t, st, dest, true).State)
}

func confirmByResponse(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	dest := mustDestination(t, st, pendingHook(a.ID, hook))
	d := mustClaimDelivery(t, st)
	checkEqual(t, "claimed delivery", [...]any{cola.EventConfirm, dest}, [...]any{d.Event, d.Destination})
	mustRecordAttempt(t, st, deliveredAttempt(d, duePast)) // accepted, but the response does not echo the token
	got := mustReload(t, st, dest)
	checkEqual(t, "state after a response without the token", [...]any{cola.DestinationPending, time.Time{}},
		[...]any{got.State, got.VerifiedAt})

	mustRequestConfirmation(t, st, dest, duePast)
	attempt := deliveredAttempt(mustClaimDelivery(t, st), duePast)
	attempt.Verified = true
	mustRecordAttempt(t, st, attempt)
	got = mustReload(t, st, dest)
	checkEqual(t, "state after a response with the token",
		[...]any{cola.DestinationActive, duePast.Add(attemptDuration)}, [...]any{got.State, got.VerifiedAt})

	mustSetActive(t, st, dest, false)
	changeDestination(t, st, dest, func(*store.Destination) {})
	mustRequestConfirmation(t, st, dest, duePast)
	attempt = deliveredAttempt(mustClaimDelivery(t, st), duePast)
	attempt.Verified = true
	mustRecordAttempt(t, st, attempt)
	checkEqual(t, "state after a response while paused", cola.DestinationPaused, mustReload(t, st, dest).State)
}

func pendingReceivesChallenges(t *testing.T, st store.Store, _ *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	dest := mustDestination(t, st, pendingHook(a.ID, hook))
	mustSetActive(t, st, mustOwn(t, st, a.ID), false)
	runWithMatch(t, st, a.ID, 1)
	_, errTest := st.AddTest(t.Context(), a.ID, dest.UUID, duePast)
	_, errReplay := st.ReplayUndelivered(t.Context(), a.ID, dest.UUID, duePast, 10)
	for desc, err := range map[string]error{"AddTest": errTest, "ReplayUndelivered": errReplay} {
		if !errors.Is(err, store.ErrNotActive) {
			t.Errorf("%s error = %v, want ErrNotActive", desc, err)
		}
	}
	checkEqual(t, "event of the claimed delivery", cola.EventConfirm, mustClaimDelivery(t, st).Event)
	for _, d := range deliveriesOf(t, st, a.ID, store.DeliveryFilter{Destination: dest.UUID}) {
		if _, err := st.Replay(t.Context(), a.ID, d.ID, duePast); !errors.Is(err, store.ErrNotActive) {
			t.Errorf("Replay(%s delivery) error = %v, want ErrNotActive", d.Event, err)
		}
		if d.Event == cola.EventRan {
			checkEqual(t, "state of the run's delivery", cola.DeliverySkipped, d.State)
		}
	}
	changeDestination(t, st, dest, func(d *store.Destination) { d.SendEmpty = true })
	checkEqual(t, "number of pending challenges", 1,
		len(deliveriesOf(t, st, a.ID, store.DeliveryFilter{State: cola.DeliveryPending})))
	changeDestination(t, st, dest, func(d *store.Destination) { d.State, d.VerifiedAt = cola.DestinationActive, epoch })
	n, err := st.ReplayUndelivered(t.Context(), a.ID, dest.UUID, duePast, 10)
	checkEqual(t, "ReplayUndelivered after the confirmation", 1, must(t, n, err))
}

func confirmLimitsPerHost(t *testing.T, st store.Store, clock *clock) {
	a := mustAccount(t, st, "a@example.com", cola.TierFree)
	b := mustAccount(t, st, "b@example.com", cola.TierFree)
	c := mustAccount(t, st, "c@example.com", cola.TierFree)
	limits := store.ConfirmationLimits{
		RepeatWindow:  time.Hour,
		MaxRepeats:    2,
		Window:        24 * time.Hour,
		MaxPerAccount: noLimit,
		MaxPerAddress: 3,
	}
	ask := func(account cola.AccountID, address string) error {
		n := pendingHook(account, address)
		n.Confirm.Limits = limits
		return confirmOnce(t.Context(), st, n)
	}
	for _, k := range []struct {
		desc    string
		account cola.AccountID
		address string
		limit   store.ConfirmationLimit
		wait    time.Duration
	}{
		{"first request", a.ID, "https://victim.example/1", "", 0},
		{"another URL on the host", a.ID, "https://USER@Victim.Example.:8443/2", "", 0},
		{"over the account's limit for the host", a.ID, "https://victim.example/3", store.LimitRepeats, time.Hour},
		{"another host", a.ID, "https://other.example/", "", 0},
		{"another account", b.ID, "https://victim.example/", "", 0},
		{"over the host's limit", b.ID, "https://victim.example/4", store.LimitPerAddress, 24 * time.Hour},
		{"third account, first request", c.ID, "https://victim.example/5", "", 0},
		{"third account, second request", c.ID, "https://victim.example/6", store.LimitPerAddress, 24 * time.Hour},
	} {
		checkConfirmLimit(t, k.desc, ask(k.account, k.address), k.limit, k.wait)
	}
	mustDestination(t, st, newHook(c.ID, "https://victim.example/confirmed"))
	mustDo(t, ask(c.ID, "https://VICTIM.example/7"))
	checkConfirmLimit(t, "account without a confirmed endpoint", ask(b.ID, "https://victim.example/8"),
		store.LimitPerAddress, 24*time.Hour)
	clock.advance(24 * time.Hour)
	mustDo(t, ask(b.ID, "https://victim.example/4"))
}

const earlierToken = "3f6c1f1f0a9b4c52a52e84b60a1f4c2d07be8365"

// RowsBeforeSecrets returns statements that write an account with an email destination and three
// endpoints to the schema that predates sealed secrets. One endpoint has accepted a message, one is
// new, and one is paused. created is an SQL expression for a time.
func RowsBeforeSecrets(created string) string {
	return fmt.Sprintf(`INSERT INTO accounts (id, email, email_folded, tier, created_at) VALUES (1, 'ann@example.com', 'ann@example.com', 'pro', %[1]s);
		INSERT INTO destinations (uuid, account_id, kind, address, address_folded, state, reason, token, secret, old_secret, created_at, last_delivered_at) VALUES
			('mailbox', 1, 'email', 'x@example.com', 'x@example.com', 'unconfirmed', NULL, '%[2]s', NULL, NULL, %[1]s, NULL),
			('taken', 1, 'webhook', '%[3]s/1', '%[3]s/1', 'active', NULL, 'b', 'whsec_taken', 'whsec_old', %[1]s, %[1]s),
			('fresh', 1, 'webhook', '%[3]s/2', '%[3]s/2', 'active', NULL, 'c', 'whsec_fresh', NULL, %[1]s, NULL),
			('paused', 1, 'webhook', '%[3]s/3', '%[3]s/3', 'paused', 'holder', 'd', 'whsec_paused', NULL, %[1]s, NULL)`, created, earlierToken, hook)
}

// CheckRowsBeforeSecrets checks the migration of the rows that RowsBeforeSecrets writes, and later
// writes by a process running the previous version. run executes a statement as that version would;
// tokenOf reads a destination's token.
func CheckRowsBeforeSecrets(t *testing.T, st store.Store, created string, run func(statement string) error,
	tokenOf func(uuid string) string) {
	states := func() map[string]string {
		states := map[string]string{}
		for _, d := range mustDestinations(t, st, 1) {
			if states[d.UUID] = d.State; d.Own {
				delete(states, d.UUID)
			}
		}
		return states
	}
	want := map[string]string{
		"mailbox": cola.DestinationUnconfirmed,
		"taken":   cola.DestinationActive,
		"fresh":   cola.DestinationPending,
		"paused":  cola.DestinationPending,
	}
	checkEqual(t, "states after the migration", want, states())
	mustDo(t, run(`UPDATE destinations SET state = 'active', reason = NULL WHERE uuid = 'paused'`))
	mustDo(t, run(fmt.Sprintf(`INSERT INTO destinations (uuid, account_id, kind, address, address_folded, state, secret, created_at) VALUES
		('new', 1, 'webhook', '%[2]s/4', '%[2]s/4', 'active', 'whsec_new', %[1]s)`, created, hook)))
	mustDo(t, run(fmt.Sprintf(`INSERT INTO destinations (uuid, account_id, kind, address, address_folded, state, token, created_at) VALUES
		('named', 1, 'email', 'y@example.com', 'y@example.com', 'unconfirmed', 'chosen', %[1]s)`, created)))
	want["new"], want["named"] = cola.DestinationPending, cola.DestinationUnconfirmed
	checkEqual(t, "states after writes by the previous version", want, states())

	plaintext, err := st.SecretKeys(t.Context())
	checkEqual(t, "plaintext secrets and links", map[string]int{"": 5 + 5}, must(t, plaintext, err))
	tokens := func() (stored []string) {
		t.Helper()
		for _, d := range mustDestinations(t, st, 1) {
			stored = append(stored, tokenOf(d.UUID))
		}
		return stored
	}
	for _, uuid := range []string{"new", "named"} {
		if token := tokenOf(uuid); !strings.HasPrefix(token, "unused:") || strings.Contains(token, uuid) ||
			strings.Contains(token, "chosen") {
			t.Errorf("token of %s written by the previous version = %s, want a random one", uuid, token)
		}
	}
	for _, hashed := range []int{5, 0} { // including the token of the account's own address
		n, err := st.HashLinks(t.Context())
		checkEqual(t, "number of hashed tokens", hashed, must(t, n, err))
	}
	seen := map[string]bool{earlierToken: true, "b": true, "c": true, "d": true}
	for _, d := range mustDestinations(t, st, 1) {
		seen[d.UUID] = true
	}
	for _, token := range tokens() {
		if seen[token] || len(token) < len("unused:")+32 {
			t.Errorf("token = %q, want one that cannot be guessed", token)
		}
		seen[token] = true
	}
	hash := sha256.Sum256([]byte(earlierToken))
	found, err := st.DestinationByLink(t.Context(), hash[:])
	checkEqual(t, "destination by the link of an earlier email", "mailbox", must(t, found, err).UUID)
	checkKnownSecrets(t, st, store.SecretDestination, []string{string(hash[:]), earlierToken, "\xff"},
		[]string{string(hash[:])})
	keys, err := st.SecretKeys(t.Context())
	checkEqual(t, "plaintext secrets", map[string]int{"": 5}, must(t, keys, err))
}
