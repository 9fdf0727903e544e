-- The request log: recent requests of each account, for its holder to see.

-- +goose Up

CREATE TABLE request_log (
    id              INTEGER PRIMARY KEY,
    account_id      INTEGER NOT NULL REFERENCES accounts,
    at              INTEGER NOT NULL,
    request_id      TEXT    NOT NULL, -- may be the client's, so it isn't unique
    channel         TEXT    NOT NULL,
    credential_kind TEXT    NOT NULL,
    credential_id   INTEGER NOT NULL,
    method          TEXT    NOT NULL, -- HTTP or MCP method
    target          TEXT    NOT NULL, -- path, tool, prompt or resource
    input           TEXT    NOT NULL, -- query string or arguments, without credentials
    status          INTEGER NOT NULL,
    code            TEXT    NOT NULL, -- error code, or empty
    duration        INTEGER NOT NULL, -- nanoseconds
    meter           TEXT    NOT NULL,
    units           INTEGER NOT NULL,
    answer          TEXT    NOT NULL, -- body of an error response, or empty
    expires_at      INTEGER NOT NULL
) STRICT;

CREATE INDEX request_log_by_account ON request_log (account_id, at, id);
CREATE INDEX request_log_by_age ON request_log (expires_at);

-- Requests that were not recorded, by hour.
CREATE TABLE request_log_gaps (
    account_id INTEGER NOT NULL REFERENCES accounts,
    hour       INTEGER NOT NULL,
    successes  INTEGER NOT NULL,
    errors     INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, hour)
) STRICT, WITHOUT ROWID;

CREATE INDEX request_log_gaps_by_age ON request_log_gaps (expires_at);
