package registry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"

	"github.com/colaregistry/colaregistry/cola"
	"github.com/colaregistry/colaregistry/internal/security"
	"github.com/colaregistry/colaregistry/store"
)

// maxFeedRuns limits a feed to the newest runs with matches.
const maxFeedRuns = 30

const (
	feedsPath = "/feeds/" // below the public URL, before the token
	feedBytes = 32        // random bytes in a token
)

// Feed is the content of a saved search's feed.
type Feed struct {
	Search cola.SavedSearch
	URL    string // the feed's own URL
	Runs   []FeedRun
}

// FeedRun is a run with matches.
type FeedRun struct {
	Run    cola.SavedSearchRun
	Labels []FeedLabel // labels named in messages about the run, up to the feed's limit
}

// FeedLabel is the current record of a label that a run found.
type FeedLabel struct {
	cola.ColaSummary
	Late bool
}

// Messages for requests with an unknown outcome.
const (
	createFeedUnconfirmed = "The feed may not have been created. Send the same request again in a few seconds; only the latest URL works."
	deleteFeedUnconfirmed = "The feed may not have been deleted. Send the same request again in a few seconds; it's safe to retry."
)

// CreateFeed creates a feed for one of the caller's searches and returns its URL, which is not
// shown again. The search's previous feed URL stops working. CreateFeed is free and needs the scope
// cola.ScopeWriteSavedSearches. It fails with CodeNotFound if the search is missing or belongs to
// another account.
func (s *Service) CreateFeed(
	ctx context.Context, c cola.Caller, id string,
) (cola.SavedSearchFeed, cola.QuotaState, error) {
	key, state, err := s.authorizeSearchWrite(ctx, c, id)
	if err != nil {
		return cola.SavedSearchFeed{}, state, err
	}
	var bits [feedBytes]byte
	rand.Read(bits[:])
	token := base64.RawURLEncoding.EncodeToString(bits[:])
	hash := hashFeedToken(token)
	if err := s.setFeed(ctx, c, key, &hash); err != nil {
		return cola.SavedSearchFeed{}, state, changeSearchError(err, id, createFeedUnconfirmed)
	}
	return cola.SavedSearchFeed{URL: s.publicURL + feedsPath + token}, state, nil
}

// DeleteFeed deletes the feed of one of the caller's searches. A missing feed is not an error.
// DeleteFeed is free and needs the scope cola.ScopeWriteSavedSearches. It fails with CodeNotFound
// if the search is missing or belongs to another account.
func (s *Service) DeleteFeed(ctx context.Context, c cola.Caller, id string) (cola.QuotaState, error) {
	key, state, err := s.authorizeSearchWrite(ctx, c, id)
	if err != nil {
		return state, err
	}
	if err := s.setFeed(ctx, c, key, nil); err != nil {
		return state, changeSearchError(err, id, deleteFeedUnconfirmed)
	}
	return state, nil
}

// dashboardFeedsOnly is the error for callers outside the dashboard who ask for a search's feed.
const dashboardFeedsOnly = "Only the dashboard shows whether a search has a feed. " +
	"Use POST /saved-searches/{uuid}/feed for a new feed URL; the previous one stops working."

// HasFeed reports whether one of the caller's searches has a feed. It is free, and for the
// dashboard only. It fails with CodeNotFound if the search is missing or belongs to another
// account.
func (s *Service) HasFeed(ctx context.Context, c cola.Caller, id string) (has bool, state cola.QuotaState, err error) {
	if state, err = s.admitDashboard(ctx, c, dashboardFeedsOnly, nil); err != nil {
		return false, state, err
	}
	key, err := parseSearchID(id)
	if err != nil {
		return false, state, err
	}
	err = withTimeout(ctx, readTimeout, func(ctx context.Context) (err error) {
		has, err = s.store.HasFeed(ctx, c.Account, key)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, state, savedSearchNotFound(id)
	case err != nil:
		return false, state, storeError(err, "look up feed")
	}
	return has, state, nil
}

func (s *Service) setFeed(ctx context.Context, c cola.Caller, search string, hash *store.FeedHash) error {
	return withTimeout(ctx, saveTimeout, func(ctx context.Context) error {
		return s.store.SetFeed(ctx, c.Account, search, hash)
	})
}

func hashFeedToken(token string) store.FeedHash { return sha256.Sum256([]byte(token)) }

// Feed returns the feed for a token, with at most cola.MaxMessageLabels labels in total. Anyone
// with the token may read it, free of charge. It fails with CodeNotFound if the token is unknown or
// the account is suspended, and with CodeQuotaExceeded if the feed is read too often or the
// client's IP address sent too many wrong tokens.
func (s *Service) Feed(ctx context.Context, token string) (Feed, error) {
	if !looksLikeToken(token) {
		return Feed{}, s.events.Failed(ctx, security.Feed, feedNotFound())
	}
	if err := s.tokenLimit.take(token); err != nil {
		return Feed{}, err
	}
	var stored store.Feed
	err := withTimeout(ctx, runsTimeout, func(ctx context.Context) (err error) {
		stored, err = s.store.Feed(ctx, hashFeedToken(token), maxFeedRuns, cola.MaxMessageLabels)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Feed{}, s.events.Failed(ctx, security.Feed, feedNotFound())
	case err != nil:
		return Feed{}, storeError(err, "read feed")
	}
	feed := Feed{Search: stored.Search, URL: s.publicURL + feedsPath + token}
	s.setURLs(&feed.Search)
	for _, run := range stored.Runs {
		result := FeedRun{Run: run.Run}
		for _, l := range run.Labels {
			result.Labels = append(result.Labels, FeedLabel{ColaSummary: l.Label, Late: l.Match.Late})
		}
		feed.Runs = append(feed.Runs, result)
	}
	return feed, nil
}

// feedNotFound does not repeat the token, which is a secret even if mistyped.
func feedNotFound() error {
	return cola.Errorf(cola.CodeNotFound, "No feed has this URL. It may have been deleted or replaced, or the account "+
		"may be suspended. The account holder can create a new one.")
}
