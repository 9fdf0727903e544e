-- Saved searches, and the requests that created them.

-- +goose Up

CREATE TABLE saved_searches (
    id          INTEGER PRIMARY KEY AUTOINCREMENT, -- ascending in the order of creation
    uuid        TEXT    NOT NULL UNIQUE,           -- public ID, in lower case
    account_id  INTEGER NOT NULL REFERENCES accounts,
    name        TEXT    NOT NULL,
    filters     TEXT    NOT NULL, -- JSON object with the names of the search form
    cadence     TEXT,             -- NULL if the search has no schedule
    day         INTEGER,          -- day of the week (0 is Sunday) or of the month
    active      INTEGER NOT NULL, -- whether the schedule is on
    next_run_at INTEGER,
    last_run_at INTEGER,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX saved_searches_by_account ON saved_searches (account_id);

-- Recent requests that created searches. A repeated request creates no second search. The search may have been deleted.
CREATE TABLE saved_search_creations (
    account_id  INTEGER NOT NULL REFERENCES accounts,
    once_key    TEXT    NOT NULL, -- idempotency key of the request, unique within the account
    fingerprint BLOB    NOT NULL, -- SHA-256 of the content of the request
    uuid        TEXT    NOT NULL, -- public ID of the search
    kept_until  INTEGER NOT NULL,
    PRIMARY KEY (account_id, once_key)
) STRICT, WITHOUT ROWID;

-- For deleting old rows.
CREATE INDEX saved_search_creations_by_age ON saved_search_creations (kept_until);
