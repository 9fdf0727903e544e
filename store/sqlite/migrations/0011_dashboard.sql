-- Dashboard: sign-ins, browser sessions and recently refused requests.

-- +goose Up

-- A sign-in is a credential. Ended ones are kept, like keys and links, because usage is reported by credential.
CREATE TABLE sign_ins (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id   INTEGER NOT NULL REFERENCES accounts,
    via          TEXT    NOT NULL, -- URL of the issuer that identified the account holder; empty for a sign-in link
    browser      TEXT    NOT NULL, -- name of the browser, as it identifies itself
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    ended_at     INTEGER,
    expires_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX sign_ins_by_account ON sign_ins (account_id, expires_at) WHERE ended_at IS NULL;

-- Sign-in links. A link works once; using it deletes the row.
CREATE TABLE sign_in_links (
    hash       BLOB    PRIMARY KEY, -- SHA-256 of the token
    account_id INTEGER NOT NULL REFERENCES accounts,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- For deleting old rows.
CREATE INDEX sign_in_links_by_age ON sign_in_links (expires_at);

-- Browser sessions. Has row IDs because the data is too large for a WITHOUT ROWID table.
CREATE TABLE sessions (
    name       TEXT    NOT NULL PRIMARY KEY,
    data       BLOB    NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_by_age ON sessions (expires_at);

-- Recently refused requests, added up per minute. Settling usage does not write them.
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

-- For reading the identities of an account.
CREATE INDEX identities_by_account ON identities (account_id);
