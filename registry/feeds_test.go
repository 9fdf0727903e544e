package registry_test

import (
	"context"
	"crypto/sha256"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/cola/vocabulary"
	"github.com/colaregistry/colaregistry/registry"
	"github.com/colaregistry/colaregistry/store"
)

func (f flaky) SetFeed(ctx context.Context, a cola.AccountID, uuid string, hash *store.FeedHash) error {
	if f.w.full.Load() {
		return errFull
	}
	return f.Store.SetFeed(ctx, a, uuid, hash)
}

func (f flaky) Feed(ctx context.Context, hash store.FeedHash, runs, labels int) (store.Feed, error) {
	if f.w.full.Load() {
		return store.Feed{}, errFull
	}
	return f.Store.Feed(ctx, hash, runs, labels)
}

func (f flaky) NamePreviewLabels(ctx context.Context, a cola.AccountID, day cola.Date, labels []cola.TTBID, limit int) ([]cola.TTBID, error) {
	if f.w.full.Load() {
		return nil, errFull
	}
	return f.Store.NamePreviewLabels(ctx, a, day, labels, limit)
}

var feedURL = regexp.MustCompile(`^` + regexp.QuoteMeta(publicURL) + `/feeds/([A-Za-z0-9_-]{43})$`)

// mustMakeFeed creates a feed for a saved search and returns its token.
func (w *world) mustMakeFeed(t *testing.T, c cola.Caller, search string) string {
	t.Helper()
	feed, state, err := w.CreateFeed(t.Context(), c, search)
	match := feedURL.FindStringSubmatch(feed.URL)
	if err != nil || match == nil || !state.Known() || state.Used != (cola.Used{}) {
		t.Fatalf("CreateFeed = %+v, %+v, %v", feed, state, err)
	}
	return match[1]
}

// TestFeed checks that a feed lists runs with matches, newest first, to anyone with its URL, until
// the URL is replaced or the feed deleted.
func TestFeed(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "feed@example.com", cola.TierPro)
	search := w.mustSave(t, c, alert("oaks")).Search
	token := w.mustMakeFeed(t, c, search.UUID)
	empty, err := w.Feed(t.Context(), token)
	if err != nil || len(empty.Runs) != 0 || empty.URL != publicURL+"/feeds/"+token || empty.Search.ManageURL != search.ManageURL || empty.Search.Name != "oaks" {
		t.Errorf("before the first run: Feed = %+v, %v", empty, err)
	}
	w.mustStoreLabels(t, 26001001000001, 26001001000002)
	w.mustRun(t, 2, 0)
	feed, err := w.Feed(t.Context(), token)
	if err != nil || len(feed.Runs) != 1 || feed.Runs[0].Run.MatchCount != 2 {
		t.Fatalf("Feed = %+v, %v", feed, err)
	}
	var got []string
	for _, l := range feed.Runs[0].Labels {
		late := ""
		if l.Late {
			late = " late"
		}
		got = append(got, l.TTBID.String()+" "+l.BrandName+late)
	}
	if diff := cmp.Diff([]string{"26001001000001 OAK late", "26001001000002 OAK"}, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	newToken := w.mustMakeFeed(t, c, strings.ToUpper(search.UUID))
	if _, err := w.Feed(t.Context(), token); code(err) != cola.CodeNotFound || newToken == token {
		t.Errorf("replaced token: error = %v, want not_found", err)
	}
	if state, err := w.DeleteFeed(t.Context(), c, search.UUID); err != nil || !state.Known() {
		t.Fatal(err)
	}
	if _, err := w.Feed(t.Context(), newToken); code(err) != cola.CodeNotFound {
		t.Errorf("deleted token: error = %v, want not_found", err)
	}
	if _, err := w.DeleteFeed(t.Context(), c, search.UUID); err != nil {
		t.Errorf("second deletion: %v", err)
	}
}

// mustStoreLabels stores labels with the given IDs, all of one brand.
func (w *world) mustStoreLabels(t *testing.T, ids ...cola.TTBID) {
	t.Helper()
	var patches []cola.Patch[cola.Cola]
	for _, id := range ids {
		var c cola.Cola
		c.TTBID, c.BrandName, c.ProductType, c.PermitNumber = id, "OAK", vocabulary.Wine, "NJ-I-721"
		patches = append(patches, cola.Patch[cola.Cola]{Record: c, Fields: cola.Fields(1)<<len(cola.FieldsOf[cola.Cola]()) - 1})
	}
	if _, err := w.store.UpsertColas(t.Context(), patches, store.Commit); err != nil {
		t.Fatal(err)
	}
}

// TestHasFeed checks that the dashboard, and only the dashboard, shows whether a search has a feed.
func TestHasFeed(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "has@example.com", cola.TierPro)
	search := w.mustSave(t, c, alert("oaks")).Search.UUID
	for _, want := range []bool{false, true} {
		if has, state, err := w.HasFeed(t.Context(), onDashboard(c), search); err != nil || has != want || !state.Known() {
			t.Errorf("HasFeed = %v, %+v, %v, want %v", has, state, err, want)
		}
		w.mustMakeFeed(t, c, search)
	}
	_, state, err := w.HasFeed(t.Context(), c, search)
	if code(err) != cola.CodeForbidden || !strings.Contains(err.Error(), "feed") || !state.Known() {
		t.Errorf("HasFeed outside the dashboard: error = %v, want forbidden with a message about feeds", err)
	}
}

// TestFeedTokenStorage checks that the store looks up feeds by the SHA-256 of the token.
func TestFeedTokenStorage(t *testing.T) {
	w := mustWorld(t, 0)
	c := w.mustWriter(t, "hash@example.com", cola.TierPro)
	token := w.mustMakeFeed(t, c, w.mustSave(t, c, alert("oaks")).Search.UUID)
	hash := sha256.Sum256([]byte(token))
	if _, err := w.store.Feed(t.Context(), hash, 1, 1); err != nil {
		t.Errorf("Feed by hash: %v", err)
	}
}

func TestRejectedFeeds(t *testing.T) {
	w := mustWorld(t, 0)
	c, other := w.mustWriter(t, "refused@example.com", cola.TierPro), w.mustWriter(t, "other@example.com", cola.TierPro)
	search := w.mustSave(t, c, alert("oaks")).Search.UUID
	token := w.mustMakeFeed(t, c, search)
	reader := w.mustReader(t, c)
	remove := func(c cola.Caller, id string) error {
		_, err := w.DeleteFeed(t.Context(), c, id)
		return err
	}
	for name, tt := range map[string]struct {
		err  error
		want cola.Code
	}{
		"created without the scope":     {third(w.CreateFeed(t.Context(), reader, search)), cola.CodeInsufficientScope},
		"created by another account":    {third(w.CreateFeed(t.Context(), other, search)), cola.CodeNotFound},
		"created for an unknown search": {third(w.CreateFeed(t.Context(), c, "x")), cola.CodeNotFound},
		"deleted without the scope":     {remove(reader, search), cola.CodeInsufficientScope},
		"deleted by another account":    {remove(other, search), cola.CodeNotFound},
	} {
		if code(tt.err) != tt.want {
			t.Errorf("%s: error = %v, want %s", name, tt.err, tt.want)
		}
	}
	for _, wrong := range []string{"", "x", strings.Repeat("A", 43), token[:42], token + "A", strings.ToLower(token), strings.Repeat("x", 5000), token[:42] + "\x00", "../" + token} {
		if _, err := w.Feed(t.Context(), wrong); code(err) != cola.CodeNotFound || wrong != "" && wrong != "x" && strings.Contains(err.Error(), wrong) {
			t.Errorf("Feed(%.50q): error = %v, want not_found without the token", wrong, err)
		}
	}
	w.full.Store(true)
	feed, err := w.Feed(t.Context(), token)
	if code(err) != cola.CodeUnavailable || !cmp.Equal(feed, registry.Feed{}) || strings.Contains(err.Error(), token) {
		t.Errorf("Feed during an outage: error = %v, want unavailable", err)
	}
	if _, _, err := w.CreateFeed(t.Context(), c, search); code(err) != cola.CodeUnavailable || !strings.Contains(err.Error(), "same request again") {
		t.Errorf("CreateFeed during an outage: error = %v, want unavailable", err)
	}
	if err := remove(c, search); code(err) != cola.CodeUnavailable {
		t.Errorf("DeleteFeed during an outage: error = %v, want unavailable", err)
	}
	w.full.Store(false)
	if err := w.store.Suspend(t.Context(), c.Account, "Not paid."); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Feed(t.Context(), token); code(err) != cola.CodeNotFound {
		t.Errorf("suspended account: error = %v, want not_found", err)
	}
}
