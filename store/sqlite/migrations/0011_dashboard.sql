-- What the dashboard needs: the browsers that account holders have signed in with, and what was refused to them of late.

-- +goose Up

-- A sign-in is a credential. It is kept when it is over, as keys and links are: usage is told by credential.
CREATE TABLE sign_ins (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id   INTEGER NOT NULL REFERENCES accounts,
    via          TEXT    NOT NULL, -- URL of the issuer that said who it is; empty: a link to sign in with
    browser      TEXT    NOT NULL, -- what it says it is
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    ended_at     INTEGER,
    expires_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX sign_ins_by_account ON sign_ins (account_id, expires_at) WHERE ended_at IS NULL;

-- Links that sign in once. One that is used is gone.
CREATE TABLE sign_in_links (
    hash       BLOB    PRIMARY KEY, -- SHA-256 of the token
    account_id INTEGER NOT NULL REFERENCES accounts,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- By this the old ones are forgotten.
CREATE INDEX sign_in_links_by_age ON sign_in_links (expires_at);

-- What is remembered of browsers between their requests. The data is too large for a table without row ids.
CREATE TABLE sessions (
    name       TEXT    NOT NULL PRIMARY KEY,
    data       BLOB    NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_by_age ON sessions (expires_at);

-- The requests that were refused of late, summed by minute. What settles the usage does not touch them.
CREATE TABLE refusals (
    account_id      INTEGER NOT NULL REFERENCES accounts,
    minute          INTEGER NOT NULL,
    channel         TEXT    NOT NULL,
    credential_kind TEXT    NOT NULL,
    credential_id   INTEGER NOT NULL,
    reason          TEXT    NOT NULL,
    count           INTEGER NOT NULL,
    last_at         INTEGER NOT NULL,
    PRIMARY KEY (account_id, minute, channel, credential_kind, credential_id, reason)
) STRICT, WITHOUT ROWID;

CREATE INDEX refusals_by_age ON refusals (account_id, last_at);

-- An account is asked for its identities.
CREATE INDEX identities_by_account ON identities (account_id);
