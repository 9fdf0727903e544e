package reference

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/colaregistry/colaregistry/ingest"
	"github.com/colaregistry/colaregistry/store"
)

// notifyingStore calls done when a source has failed.
type notifyingStore struct {
	Store
	done func()
}

func (n notifyingStore) FailReferenceFetch(ctx context.Context, source, failure string) error {
	defer n.done()
	return n.Store.FailReferenceFetch(ctx, source, failure)
}

// TestFollow checks that Follow waits for the end of the quiet hours, logs the outcomes and ends
// when it is canceled, and that a second follower doesn't fetch the sources again.
func TestFollow(t *testing.T) {
	st := mustOpen(t)
	web := newSite(t, map[string]http.HandlerFunc{"/a": text(permitList)})
	var out bytes.Buffer
	o := Options{
		UserAgent: "test", Pause: time.Nanosecond, Logger: slog.New(slog.NewTextHandler(&out, nil)), Force: true,
		Sources: []Source{web.source("permits", ingest.Permittees, "/a"), web.source("missing", ingest.AVAs, "/b")},
	}
	ctx, cancel := context.WithCancel(t.Context())
	quiet := time.Now().Add(50 * time.Millisecond)
	Follow(ctx, notifyingStore{st, cancel}, o, func(now time.Time) time.Time {
		if len(web.requests()) > 0 {
			t.Error("requests during quiet hours")
		}
		if now.After(quiet) {
			return time.Time{}
		}
		return quiet
	})
	for _, want := range []string{"added=1", "source=missing", "404"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("log has no %q:\n%s", want, out.String())
		}
	}
	if n := len(web.requests()); n != 2 || imports(t, st) != 1 {
		t.Errorf("%d requests, %d imports, want 2 and 1", n, imports(t, st))
	}
	if err := follow(t.Context(), st, Options{MinAge: followAge, UserAgent: "test", Sources: o.Sources}); err != nil || len(web.requests()) > 0 {
		t.Errorf("second follower: error = %v, want nil and no requests", err)
	}
}

// panickingStore panics.
type panickingStore struct{ Store }

func (panickingStore) ClaimReferenceFetch(context.Context, string, time.Duration) (store.ReferenceFetch, error) {
	panic("bug")
}

// TestFollowPanics checks that a panic becomes an error, and that its stack is logged.
func TestFollowPanics(t *testing.T) {
	var out bytes.Buffer
	o := Options{Sources: []Source{{Name: "a", URL: "https://example.com/"}}, Logger: slog.New(slog.NewTextHandler(&out, nil))}
	if err := follow(t.Context(), panickingStore{}, o); err == nil || !strings.Contains(out.String(), "follow_test.go") {
		t.Errorf("error = %v, want an error and the stack in the log:\n%s", err, out.String())
	}
}
