-- Searches that accounts keep, and which of them were created by which request.

-- +goose Up

CREATE TABLE saved_searches (
    id          INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of creation
    uuid        TEXT    NOT NULL UNIQUE,           -- by which it is known outside, in lower case
    account_id  INTEGER NOT NULL REFERENCES accounts,
    name        TEXT    NOT NULL,
    filters     TEXT    NOT NULL, -- JSON, by the names of the search form
    cadence     TEXT,             -- NULL for a search that does not run by itself
    day         INTEGER,          -- of the week, 0 is Sunday, or of the month
    active      INTEGER NOT NULL, -- whether it runs by itself
    next_run_at INTEGER,
    last_run_at INTEGER,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX saved_searches_by_account ON saved_searches (account_id);

-- The requests that created searches lately, so that one that is sent again creates nothing. The search may be gone.
CREATE TABLE saved_search_creations (
    account_id  INTEGER NOT NULL REFERENCES accounts,
    once_key    TEXT    NOT NULL, -- that names the request within its account
    fingerprint BLOB    NOT NULL, -- of what it asked for
    uuid        TEXT    NOT NULL, -- of the search
    kept_until  INTEGER NOT NULL,
    PRIMARY KEY (account_id, once_key)
) STRICT, WITHOUT ROWID;

-- By this the old ones are forgotten.
CREATE INDEX saved_search_creations_by_age ON saved_search_creations (kept_until);
