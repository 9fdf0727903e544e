package registry_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/registry"
)

// TestSignIns: an account holder sees the browsers that are signed in, which of them this is, and signs out any.
func TestSignIns(t *testing.T) {
	w := mustWorld(t, 0)
	first := w.mustHolder(t, "browsers@example.com", cola.TierFree)
	w.advance(time.Hour)
	second := w.mustSignIn(t, first.Account, "<b>Chromium</b>")
	got, state, err := w.SignIns(t.Context(), first)
	want := []registry.SignIn{
		{ID: second.Credential.ID, Via: "https://issuer.example", Browser: "<b>Chromium</b>", CreatedAt: w.now(), ExpiresAt: w.now().AddDate(0, 0, 14)},
		{ID: first.Credential.ID, Via: "https://issuer.example", Browser: "Firefox", CreatedAt: instant, ExpiresAt: instant.AddDate(0, 0, 14), Current: true},
	}
	for i := range got {
		got[i].LastUsedAt = time.Time{}
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" || !state.Known() {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	for range 2 {
		if _, err := w.EndSignIn(t.Context(), first, second.Credential.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.Account(t.Context(), second); code(err) != cola.CodeUnauthorized {
		t.Errorf("a browser that was signed out: %v; want unauthorized", err)
	}
	if got, _, err = w.SignIns(t.Context(), first); err != nil || len(got) != 1 || got[0].ID != first.Credential.ID {
		t.Errorf("%+v, %v; want the one", got, err)
	}
	if _, err := w.EndSignIn(t.Context(), first, first.Credential.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Account(t.Context(), first); code(err) != cola.CodeUnauthorized {
		t.Errorf("who has signed out: %v; want unauthorized", err)
	}
}

// TestEndOtherSignIns: the browser that asks stays signed in, and so do those of others.
func TestEndOtherSignIns(t *testing.T) {
	w := mustWorld(t, 0)
	here, other := w.mustHolder(t, "others@example.com", cola.TierFree), w.mustHolder(t, "other@example.com", cola.TierFree)
	for _, browser := range []string{"a", "b", "c"} {
		w.mustSignIn(t, here.Account, browser)
	}
	for _, want := range []int{3, 0} {
		if n, state, err := w.EndOtherSignIns(t.Context(), here); n != want || err != nil || !state.Known() {
			t.Errorf("%d, %v; want %d ended", n, err, want)
		}
	}
	for _, c := range []cola.Caller{here, other} {
		if got, _, err := w.SignIns(t.Context(), c); err != nil || len(got) != 1 || !got[0].Current {
			t.Errorf("%+v, %v; want the browser that asks", got, err)
		}
	}
}
