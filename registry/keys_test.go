package registry_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/auth"
	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/golden"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

// mustCreateKey creates an API key.
func (w *world) mustCreateKey(t *testing.T, c cola.Caller, p registry.KeyParams) registry.NewKey {
	t.Helper()
	created, _, err := w.CreateKey(t.Context(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// accepts reports whether a request with a key is accepted.
func (w *world) accepts(t *testing.T, account cola.AccountID, key int64) bool {
	t.Helper()
	_, err := w.Standing(t.Context(), keyCaller(account, key))
	if err != nil && code(err) != cola.CodeUnauthorized {
		t.Fatal(err)
	}
	return err == nil
}

// TestNewKey checks that a new key works immediately and is then listed with its usage.
func TestNewKey(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "keys@example.com", cola.TierFree)
	created := w.mustCreateKey(t, holder, registry.KeyParams{Name: "  <script>alert(1)</script> Łódź 🍺 "})
	h := http.Header{"X-Api-Key": {created.Secret}}
	caller, err := auth.New(w.store, nil, nil).Authenticate(t.Context(), h, cola.ChannelREST)
	if err != nil || caller.Account != holder.Account || caller.Credential.ID != created.ID {
		t.Fatalf("Caller = %+v, %v, want the key's caller", caller, err)
	}
	if _, err := w.Admit(t.Context(), caller); err != nil {
		t.Error(err)
	}
	keys, state, err := w.Keys(t.Context(), holder)
	want := []registry.Key{{
		ID: created.ID, Name: "<script>alert(1)</script> Łódź 🍺", Prefix: created.Secret[:8], LastFour: created.Secret[len(created.Secret)-4:],
		CreatedAt: testNow, LastUsedAt: testNow, Requests: 1, KeyAccess: store.KeyAccess{Scopes: cola.Scopes()},
	}}
	if diff := cmp.Diff(want, keys); err != nil || diff != "" || !state.Known() {
		t.Errorf("Keys: %v (-want +got):\n%s", err, diff)
	}
	want[0].Requests, want[0].LastUsedAt = 0, time.Time{}
	if diff := cmp.Diff(want[0], created.Key); diff != "" {
		t.Errorf("created key (-want +got):\n%s", diff)
	}
}

// TestKeyParams checks that invalid parameters return errors by field and create no key.
func TestKeyParams(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "params@example.com", cola.TierFree)
	today := cola.DateOf(testNow)
	messages := golden.Load(t, "key_params")
	for _, tt := range []struct {
		name string
		p    registry.KeyParams
	}{
		{"empty", registry.KeyParams{}},
		{"blank name", registry.KeyParams{Name: " \u3000\t"}},
		{"a long name", registry.KeyParams{Name: strings.Repeat("ł", 101)}},
		{"a NUL", registry.KeyParams{Name: "a\x00b"}},
		{"a newline", registry.KeyParams{Name: "a\nb"}},
		{"bidi control", registry.KeyParams{Name: "a\u202eb"}},
		{"hidden characters", registry.KeyParams{Name: "a\u200bb"}},
		{"only an accent", registry.KeyParams{Name: "\u0301"}},
		{"invalid UTF-8", registry.KeyParams{Name: "a\xffb"}},
		{"expiry today", registry.KeyParams{Name: "n", Expires: today}},
		{"expiry in the past", registry.KeyParams{Name: "n", Expires: 1}},
		{"expiry too late", registry.KeyParams{Name: "n", Expires: cola.NewDate(2036, 11, 21)}},
		{"unknown scope", registry.KeyParams{Name: "n", Scope: "write"}},
		{"invalid networks", registry.KeyParams{Name: "n", Networks: "203.0.113.7 localhost, <b>;fe80::1%eth0\n203.0.113.0/33"}},
		{"too many networks", registry.KeyParams{Name: "n", Networks: strings.Repeat("203.0.113.7,", 21)}},
		{"several problems", registry.KeyParams{Expires: today, Decoded: cola.Decoded{Problems: cola.Problems{"other": {"Odd."}}}}},
	} {
		created, state, err := w.CreateKey(t.Context(), holder, tt.p)
		var refusal *cola.Error
		if !errors.As(err, &refusal) || refusal.Code != cola.CodeValidation || created.Secret != "" || !state.Known() {
			t.Errorf("%s: CreateKey = %+v, %v, want validation_error", tt.name, created, err)
			continue
		}
		messages.Check(t, tt.name, refusal.Details)
	}
	if keys, _, err := w.Keys(t.Context(), holder); err != nil || len(keys) != 0 {
		t.Errorf("Keys = %+v, %v, want none", keys, err)
	}
	if created := w.mustCreateKey(t, holder, registry.KeyParams{Name: strings.Repeat("ł", 100), Expires: cola.NewDate(2036, 11, 20)}); created.ExpiresAt.IsZero() {
		t.Errorf("key %+v has no expiry", created)
	}
}

// TestKeyExpiry checks that a key is valid through its last day.
func TestKeyExpiry(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "expires@example.com", cola.TierFree)
	created := w.mustCreateKey(t, holder, registry.KeyParams{Name: "n", Expires: cola.NewDate(2026, 11, 21)})
	end := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	if !created.ExpiresAt.Equal(end) || !created.IsActive(end.Add(-1)) || created.IsActive(end) {
		t.Errorf("expires at %v, want %v", created.ExpiresAt, end)
	}
	w.advance(36*time.Hour - time.Microsecond)
	if !w.accepts(t, holder.Account, created.ID) {
		t.Error("key is rejected before its expiry")
	}
	w.advance(time.Microsecond)
	if w.accepts(t, holder.Account, created.ID) {
		t.Error("key is accepted after its expiry")
	}
}

// TestKeyLimit checks that the number of valid keys is limited, including under concurrent
// creation, and that invalid keys do not count.
func TestKeyLimit(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "limit@example.com", cola.TierFree)
	var first int64
	for n := range registry.MaxKeys - 1 {
		key, err := w.store.CreateKey(t.Context(), store.Key{AccountID: holder.Account, Name: "n"}, sha256.Sum256(fmt.Append(nil, n)), 0)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			first = key.ID
		}
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, _, errs[i] = w.CreateKey(t.Context(), holder, registry.KeyParams{Name: "last"}) })
	}
	wg.Wait()
	created := 0
	for _, err := range errs {
		var refusal *cola.Error
		switch {
		case err == nil:
			created++
		case !errors.As(err, &refusal) || refusal.Code != cola.CodeKeyLimit || refusal.Details["limit"] != registry.MaxKeys || !strings.Contains(refusal.Message, "Revoke one"):
			t.Errorf("error = %v, want key_limit", err)
		}
	}
	if created != 1 {
		t.Errorf("created %d keys, want 1", created)
	}
	if _, _, err := w.RotateKey(t.Context(), holder, first, registry.KeyRotationParams{Overlap: "none"}); err != nil {
		t.Errorf("RotateKey at the limit: %v", err)
	}
	if _, err := w.RevokeKey(t.Context(), holder, first+1); err != nil {
		t.Fatal(err)
	}
	w.mustCreateKey(t, holder, registry.KeyParams{Name: "with room again"})
}

// TestKeyLimitOnReplacement checks that repeated rotation with an overlap cannot exceed the key
// limit by more than one key.
func TestKeyLimitOnReplacement(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "again@example.com", cola.TierFree)
	created := w.mustCreateKey(t, holder, registry.KeyParams{Name: "n"})
	var err error
	for n := 0; err == nil && n < 2*registry.MaxKeys; n++ {
		_, _, err = w.RotateKey(t.Context(), holder, created.ID, registry.KeyRotationParams{Overlap: "30 days"})
	}
	if code(err) != cola.CodeKeyLimit {
		t.Errorf("error = %v, want key_limit", err)
	}
	keys, _, err := w.Keys(t.Context(), holder)
	if err != nil || len(keys) > registry.MaxKeys+1 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

// TestDailyKeyLimit checks that each key counts toward the daily limit for 24 hours after its
// creation, even if a rotation has replaced it.
func TestDailyKeyLimit(t *testing.T) {
	w := mustWorld(t, 0)
	holder, other := w.mustHolder(t, "busy@example.com", cola.TierFree), w.mustHolder(t, "calm@example.com", cola.TierFree)
	created := w.mustCreateKey(t, holder, registry.KeyParams{Name: "n"})
	w.advance(time.Hour)
	for range 2*registry.MaxKeys - 1 {
		var err error
		if created, _, err = w.RotateKey(t.Context(), holder, created.ID, registry.KeyRotationParams{Overlap: "none"}); err != nil {
			t.Fatal(err)
		}
	}
	_, _, create := w.CreateKey(t.Context(), holder, registry.KeyParams{Name: "n"})
	_, _, rotate := w.RotateKey(t.Context(), holder, created.ID, registry.KeyRotationParams{Overlap: "none"})
	for _, err := range []error{create, rotate} {
		if code(err) != cola.CodeKeyLimit || !strings.Contains(err.Error(), "tomorrow") {
			t.Errorf("error = %v, want key_limit until tomorrow", err)
		}
	}
	if !w.accepts(t, holder.Account, created.ID) {
		t.Error("latest key is rejected")
	}
	w.mustCreateKey(t, other, registry.KeyParams{Name: "n"})
	w.advance(23 * time.Hour)
	w.mustCreateKey(t, holder, registry.KeyParams{Name: "a day after the first"})
	if _, _, err := w.CreateKey(t.Context(), holder, registry.KeyParams{Name: "n"}); code(err) != cola.CodeKeyLimit {
		t.Errorf("second attempt: error = %v, want key_limit", err)
	}
}

// TestRotateKey checks that the old key stays valid for the overlap, but not past its own expiry,
// and that the new key has the same name and lifetime.
func TestRotateKey(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		overlap string
		expires cola.Date
		after   time.Duration // time until rotation
		old     time.Duration // remaining validity of the old key
		end     string        // expiry of the new key
	}{
		{"none", 0, 0, 0, ""},
		{" 1 HOUR ", 0, day, time.Hour, ""},
		{"1 day", 0, 0, day, ""},
		{"7 days", cola.NewDate(2027, 2, 28), 5 * day, 7 * day, "2027-03-06T00:00:00Z"},         // 101 days after creation
		{"30 days", cola.NewDate(2026, 11, 30), 5 * day, 5*day + day/2, "2026-12-06T00:00:00Z"}, // expires before the overlap ends
		{"none", cola.NewDate(2026, 11, 21), 35 * time.Hour, 0, "2026-11-23T00:00:00Z"},
	} {
		w := mustWorld(t, 0)
		holder := w.mustHolder(t, "rotate@example.com", cola.TierFree)
		old := w.mustCreateKey(t, holder, registry.KeyParams{Name: "CI", Expires: tt.expires})
		w.advance(tt.after)
		created, state, err := w.RotateKey(t.Context(), holder, old.ID, registry.KeyRotationParams{Overlap: tt.overlap})
		if err != nil || created.Name != "CI" || created.ID == old.ID || created.Secret == old.Secret || !state.Known() {
			t.Fatalf("%+v: RotateKey = %+v, %v", tt, created, err)
		}
		if _, err := auth.ParseSecret(created.Secret); err != nil || !w.accepts(t, holder.Account, created.ID) {
			t.Errorf("%+v: new key is rejected: %v", tt, err)
		}
		if got := created.ExpiresAt.Format(time.RFC3339); (tt.end == "") != created.ExpiresAt.IsZero() || tt.end != "" && got != tt.end {
			t.Errorf("%+v: new key expires at %s", tt, got)
		}
		if tt.old > 0 {
			w.advance(tt.old - time.Microsecond)
			if !w.accepts(t, holder.Account, old.ID) {
				t.Errorf("%+v: old key expired too early", tt)
			}
			w.advance(time.Microsecond)
		}
		if w.accepts(t, holder.Account, old.ID) {
			t.Errorf("%+v: old key is still accepted", tt)
		}
	}
}

// TestRejectedRotations checks that invalid keys and unknown overlaps are rejected.
func TestRejectedRotations(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "no@example.com", cola.TierFree)
	expired := w.mustCreateKey(t, holder, registry.KeyParams{Name: "expired", Expires: cola.NewDate(2026, 11, 21)})
	w.advance(48 * time.Hour)
	revoked, valid := w.mustCreateKey(t, holder, registry.KeyParams{Name: "revoked"}), w.mustCreateKey(t, holder, registry.KeyParams{Name: "valid"})
	if _, err := w.RevokeKey(t.Context(), holder, revoked.ID); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		id      int64
		overlap string
		want    cola.Code
		message string
	}{
		{"expired", expired.ID, "none", cola.CodeNotActive, "new key"},
		{"revoked", revoked.ID, "1 day", cola.CodeNotActive, "new key"},
		{"no overlap", valid.ID, "", cola.CodeValidation, "overlap"},
		{"another overlap", valid.ID, "2 days", cola.CodeValidation, "overlap"},
		{"unknown key", valid.ID + 1, "none", cola.CodeNotFound, "API key"},
	} {
		created, _, err := w.RotateKey(t.Context(), holder, tt.id, registry.KeyRotationParams{Overlap: tt.overlap})
		if code(err) != tt.want || !strings.Contains(err.Error(), tt.message) || created.Secret != "" {
			t.Errorf("%s: RotateKey = %+v, %v, want %s", tt.name, created, err, tt.want)
		}
	}
	if keys, _, err := w.Keys(t.Context(), holder); err != nil || len(keys) != 3 || !w.accepts(t, holder.Account, valid.ID) {
		t.Errorf("Keys = %+v, %v, want three unchanged keys", keys, err)
	}
}

// TestRepeatedRotation checks that a key can be rotated again during its overlap, for example after
// its first successor is lost, and that all its successors expire at the same time.
func TestRepeatedRotation(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "again@example.com", cola.TierFree)
	for name, expires := range map[string]cola.Date{"forever": 0, "till spring": cola.NewDate(2027, 3, 31)} {
		w.mustCreateKey(t, holder, registry.KeyParams{Name: "another"})
		old := w.mustCreateKey(t, holder, registry.KeyParams{Name: name, Expires: expires})
		var ends []time.Time
		for range 3 {
			created, _, err := w.RotateKey(t.Context(), holder, old.ID, registry.KeyRotationParams{Overlap: "1 hour"})
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, created.ExpiresAt)
			w.advance(10 * time.Minute)
		}
		if ends[0].IsZero() != (expires == 0) || !ends[1].Equal(ends[0]) || !ends[2].Equal(ends[0]) {
			t.Errorf("%s: new keys expire at %v, want the same time", name, ends)
		}
	}
}

// TestConcurrentRotations checks that a key rotated without an overlap has one successor.
func TestConcurrentRotations(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "twice@example.com", cola.TierFree)
	old := w.mustCreateKey(t, holder, registry.KeyParams{Name: "n"})
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			_, _, errs[i] = w.RotateKey(t.Context(), holder, old.ID, registry.KeyRotationParams{Overlap: "none"})
		})
	}
	wg.Wait()
	created := 0
	for _, err := range errs {
		if err == nil {
			created++
		} else if code(err) != cola.CodeNotActive {
			t.Error(err)
		}
	}
	if keys, _, err := w.Keys(t.Context(), holder); created != 1 || err != nil || len(keys) != 2 {
		t.Errorf("%d successors, keys = %+v, %v, want one", created, keys, err)
	}
}

// TestRevokeKey checks that revocation takes effect with the next request, and that revoking a key
// again has no effect.
func TestRevokeKey(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "revoke@example.com", cola.TierFree)
	older, newer := w.mustCreateKey(t, holder, registry.KeyParams{Name: "older"}), w.mustCreateKey(t, holder, registry.KeyParams{Name: "newer"})
	for range 2 {
		if _, err := w.RevokeKey(t.Context(), holder, older.ID); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Hour)
	}
	if w.accepts(t, holder.Account, older.ID) || !w.accepts(t, holder.Account, newer.ID) {
		t.Error("want only the newer key accepted")
	}
	keys, _, err := w.Keys(t.Context(), holder)
	if err != nil || len(keys) != 2 || keys[0].ID != newer.ID || !keys[1].RevokedAt.Equal(testNow) || keys[1].IsActive(testNow) {
		t.Errorf("Keys = %+v, %v, want newest first, with one revoked", keys, err)
	}
}

// TestKeyRequests checks that a key's requests this month are counted, whatever they cost.
func TestKeyRequests(t *testing.T) {
	w := mustWorld(t, 300)
	holder := w.mustHolder(t, "requests@example.com", cola.TierPro)
	busy, idle := w.mustCreateKey(t, holder, registry.KeyParams{Name: "busy"}), w.mustCreateKey(t, holder, registry.KeyParams{Name: "idle"})
	count := func(want int) {
		t.Helper()
		keys, _, err := w.Keys(t.Context(), holder)
		if err != nil || keys[1].ID != busy.ID || keys[1].Requests != want || keys[0].Requests != 0 || keys[0].ID != idle.ID {
			t.Errorf("Keys = %+v, %v, want %d requests", keys, err, want)
		}
	}
	w.newest(t, keyCaller(holder.Account, busy.ID), cola.SearchParams{})
	if _, err := w.Admit(t.Context(), keyCaller(holder.Account, busy.ID)); err != nil {
		t.Fatal(err)
	}
	count(2)
	w.advance(11 * 24 * time.Hour)
	count(0)
}

// restricted returns a caller that sent a key from the given client address.
func restricted(account cola.AccountID, key int64, client string) cola.Caller {
	c := keyCaller(account, key)
	c.Client, _ = netip.ParseAddr(client)
	c.Scopes = cola.Scopes()
	return c
}

// TestChangeKey checks that a change to a key's name and access rights applies to the next request
// of an already authenticated caller, or within a second after a rejection, and survives a
// rotation.
func TestChangeKey(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "change@example.com", cola.TierPro)
	created := w.mustCreateKey(t, holder, registry.KeyParams{Name: "CI", Scope: "read", Networks: "203.0.113.7/24\n::ffff:198.51.100.1, 203.0.113.0/24"})
	if got := created.Networks.String(); got != "203.0.113.0/24,198.51.100.1" || created.Scope() != registry.ReadOnly {
		t.Fatalf("new key: networks %s, scope %s", got, created.Scope())
	}
	inside, outside := restricted(holder.Account, created.ID, "203.0.113.9"), restricted(holder.Account, created.ID, "192.0.2.1")
	expect := func(when string, c cola.Caller, read, write cola.Code) {
		t.Helper()
		if _, _, err := w.Destinations(t.Context(), c, cola.SavedSearchListParams{}); code(err) != read {
			t.Errorf("%s: read error = %v, want %q", when, err, read)
		}
		if _, _, err := w.CreateSavedSearch(t.Context(), c, cola.SavedSearchParams{}); code(err) != write {
			t.Errorf("%s: write error = %v, want %s", when, err, write)
		}
	}
	expect("inside", inside, "", cola.CodeInsufficientScope)
	expect("outside", outside, cola.CodeForbidden, cola.CodeForbidden)
	change := func(p registry.KeyParams) {
		t.Helper()
		if state, err := w.ChangeKey(t.Context(), holder, created.ID, p); err != nil || !state.Known() {
			t.Fatalf("ChangeKey = %+v, %v", state, err)
		}
	}
	change(registry.KeyParams{Name: " deploy ", Scope: "saved_searches:write", Networks: "192.0.2.0/24"})
	expect("inside after the change", inside, cola.CodeForbidden, cola.CodeForbidden)
	time.Sleep(time.Second) // a rejection is cached
	expect("outside after the change", outside, "", cola.CodeValidation)
	expect("unknown address", restricted(holder.Account, created.ID, ""), cola.CodeForbidden, cola.CodeForbidden)
	rotated, _, err := w.RotateKey(t.Context(), holder, created.ID, registry.KeyRotationParams{Overlap: "1 day"})
	if err != nil || rotated.Name != "deploy" || rotated.Scope() != "saved_searches:write" || rotated.Networks.String() != "192.0.2.0/24" {
		t.Errorf("rotated key = %+v, %v, want the same access", rotated, err)
	}
	change(registry.KeyParams{Name: "old", Scope: "read"})
	time.Sleep(time.Second)
	expect("without networks", inside, "", cola.CodeInsufficientScope)
	expect("the rotated key", restricted(holder.Account, rotated.ID, "192.0.2.1"), "", cola.CodeValidation)
	keys, _, err := w.Keys(t.Context(), holder)
	if err != nil || keys[0].Name != "deploy" || keys[1].Name != "old" || len(keys[1].Networks) != 0 {
		t.Errorf("Keys = %+v, %v", keys, err)
	}
}

// TestChangeKeyErrors checks that invalid changes have no effect.
func TestChangeKeyErrors(t *testing.T) {
	w := mustWorld(t, 0)
	holder, other := w.mustHolder(t, "a@example.com", cola.TierFree), w.mustHolder(t, "b@example.com", cola.TierFree)
	key, revoked := w.mustCreateKey(t, holder, registry.KeyParams{Name: "n"}), w.mustCreateKey(t, holder, registry.KeyParams{Name: "r"})
	if _, err := w.RevokeKey(t.Context(), holder, revoked.ID); err != nil {
		t.Fatal(err)
	}
	before, _, err := w.Keys(t.Context(), holder)
	if err != nil {
		t.Fatal(err)
	}
	valid := registry.KeyParams{Name: "x", Scope: "read"}
	for name, tt := range map[string]struct {
		by   cola.Caller
		id   int64
		p    registry.KeyParams
		want cola.Code
	}{
		"no scope":          {holder, key.ID, registry.KeyParams{Name: "x"}, cola.CodeValidation},
		"no name":           {holder, key.ID, registry.KeyParams{Scope: "read"}, cola.CodeValidation},
		"invalid network":   {holder, key.ID, registry.KeyParams{Name: "x", Scope: "read", Networks: "x"}, cola.CodeValidation},
		"another account":   {other, key.ID, valid, cola.CodeNotFound},
		"unknown key":       {holder, 9999, valid, cola.CodeNotFound},
		"revoked key":       {holder, revoked.ID, valid, cola.CodeNotActive},
		"by the key itself": {keyCaller(holder.Account, key.ID), key.ID, valid, cola.CodeForbidden},
	} {
		if _, err := w.ChangeKey(t.Context(), tt.by, tt.id, tt.p); code(err) != tt.want {
			t.Errorf("%s: error = %v, want %s", name, err, tt.want)
		}
	}
	after, _, err := w.Keys(t.Context(), holder)
	before[1].LastUsedAt = after[1].LastUsedAt
	if diff := cmp.Diff(before, after); err != nil || diff != "" {
		t.Errorf("Keys: %v (-before +after):\n%s", err, diff)
	}
}

// TestReadOnlyKeyRedaction checks that a read-only key doesn't see the addresses of destinations.
func TestReadOnlyKeyRedaction(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "redact@example.com", cola.TierPro)
	key := w.mustCreateKey(t, holder, registry.KeyParams{Name: "n"})
	c := restricted(holder.Account, key.ID, "")
	hook, _, err := w.CreateDestination(t.Context(), c, cola.DestinationParams{Kind: "webhook", Address: "https://hooks.example.com/secret"})
	if err != nil {
		t.Fatal(err)
	}
	see := func() (listed, one string) {
		t.Helper()
		list, _, err := w.Destinations(t.Context(), c, cola.SavedSearchListParams{})
		if err != nil {
			t.Fatal(err)
		}
		found, _, err := w.Destination(t.Context(), c, hook.UUID, "")
		if err != nil {
			t.Fatal(err)
		}
		return list.Rows[len(list.Rows)-1].Address.V, found.Value.Address.V
	}
	if listed, one := see(); listed != "https://hooks.example.com/secret" || one != listed {
		t.Errorf("key that can write sees %s, %s", listed, one)
	}
	if _, err := w.ChangeKey(t.Context(), holder, key.ID, registry.KeyParams{Name: "n", Scope: "read"}); err != nil {
		t.Fatal(err)
	}
	if listed, one := see(); listed != "https://hooks.example.com" || one != listed {
		t.Errorf("read-only key sees %s, %s", listed, one)
	}
}

// TestDestinationReadCharges checks that reading destinations with a key makes one request to the
// ledger, which also checks the key's networks and scope.
func TestDestinationReadCharges(t *testing.T) {
	w := mustWorld(t, 0)
	holder := w.mustHolder(t, "charges@example.com", cola.TierPro)
	key := w.mustCreateKey(t, holder, registry.KeyParams{Name: "n", Networks: "203.0.113.0/24"})
	inside, outside := restricted(holder.Account, key.ID, "203.0.113.9"), restricted(holder.Account, key.ID, "192.0.2.1")
	list, _, err := w.Destinations(t.Context(), inside, cola.SavedSearchListParams{})
	if err != nil {
		t.Fatal(err)
	}
	own := list.Rows[0].UUID
	tag := func(c cola.Caller, id, ifNoneMatch string) (string, error) {
		found, state, err := w.Destination(t.Context(), c, id, ifNoneMatch)
		if state.Known() == (code(err) == cola.CodeForbidden) {
			t.Errorf("Destination(%s): quota state %+v with error %v", id, state, err)
		}
		return found.ETag, err
	}
	etag, err := tag(inside, own, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		read func() error
		want cola.Code
	}{
		"list": {func() error {
			_, _, err := w.Destinations(t.Context(), inside, cola.SavedSearchListParams{})
			return err
		}, ""},
		"one":          {func() error { _, err := tag(inside, own, ""); return err }, ""},
		"not modified": {func() error { _, err := tag(inside, own, etag); return err }, ""},
		"missing":      {func() error { _, err := tag(inside, "0b9f8c0e-6a55-4f0e-9a39-2f1f0f9f6d11", ""); return err }, cola.CodeNotFound},
		"not a UUID":   {func() error { _, err := tag(inside, "1", ""); return err }, cola.CodeNotFound},
		"outside":      {func() error { _, err := tag(outside, own, etag); return err }, cola.CodeForbidden},
	} {
		before := w.settled.Load()
		if err := tt.read(); code(err) != tt.want {
			t.Errorf("%s: error = %v, want %q", name, err, tt.want)
		}
		if n := w.settled.Load() - before; n != 1 {
			t.Errorf("%s: %d requests to the ledger, want 1", name, n)
		}
	}
}
