-- Usage of accounts. Settling a batch writes all of these tables in one transaction.

-- +goose Up

-- Monthly usage counters, which quotas limit.
CREATE TABLE usage_months (
    account_id   INTEGER NOT NULL REFERENCES accounts,
    period       TEXT    NOT NULL, -- YYYY-MM
    detail_views INTEGER NOT NULL,
    list_records INTEGER NOT NULL,
    PRIMARY KEY (account_id, period)
) STRICT, WITHOUT ROWID;

-- Daily usage in detail. The units of the days of a month add up to the counters in usage_months.
CREATE TABLE usage_days (
    account_id      INTEGER NOT NULL REFERENCES accounts,
    day             TEXT    NOT NULL,
    channel         TEXT    NOT NULL,
    credential_kind TEXT    NOT NULL,
    credential_id   INTEGER NOT NULL,
    meter           TEXT    NOT NULL, -- empty for requests without a cost
    units           INTEGER NOT NULL,
    requests        INTEGER NOT NULL,
    PRIMARY KEY (account_id, day, channel, credential_kind, credential_id, meter)
) STRICT, WITHOUT ROWID;

-- Requests allowed in the last 60 seconds, for rate limiting, one row per distinct time.
CREATE TABLE burst_grants (
    account_id INTEGER NOT NULL REFERENCES accounts,
    granted_at INTEGER NOT NULL,
    requests   INTEGER NOT NULL,
    PRIMARY KEY (account_id, granted_at)
) STRICT, WITHOUT ROWID;

-- Recently settled batches, in order, for finding out whether a commit with an unknown outcome succeeded.
CREATE TABLE ledger_batches (
    number     INTEGER PRIMARY KEY,
    id         BLOB    NOT NULL UNIQUE,
    settled_at INTEGER NOT NULL
) STRICT;
