-- What every account has used. One settlement writes all of these tables in one transaction.

-- +goose Up

-- The counters that quotas are held to.
CREATE TABLE usage_months (
    account_id   INTEGER NOT NULL REFERENCES accounts,
    period       TEXT    NOT NULL, -- YYYY-MM
    detail_views INTEGER NOT NULL,
    list_records INTEGER NOT NULL,
    PRIMARY KEY (account_id, period)
) STRICT, WITHOUT ROWID;

-- The same usage in detail: the units of a month's days sum up to the month's counters.
CREATE TABLE usage_days (
    account_id      INTEGER NOT NULL REFERENCES accounts,
    day             TEXT    NOT NULL,
    channel         TEXT    NOT NULL,
    credential_kind TEXT    NOT NULL,
    credential_id   INTEGER NOT NULL,
    meter           TEXT    NOT NULL, -- empty for requests that cost nothing
    units           INTEGER NOT NULL,
    requests        INTEGER NOT NULL,
    PRIMARY KEY (account_id, day, channel, credential_kind, credential_id, meter)
) STRICT, WITHOUT ROWID;

-- The requests let through in the last 60 seconds, summed by instant.
CREATE TABLE burst_grants (
    account_id INTEGER NOT NULL REFERENCES accounts,
    granted_at INTEGER NOT NULL,
    requests   INTEGER NOT NULL,
    PRIMARY KEY (account_id, granted_at)
) STRICT, WITHOUT ROWID;

-- The batches settled lately, in order, so that a batch whose answer was lost can be looked up.
CREATE TABLE ledger_batches (
    number     INTEGER PRIMARY KEY,
    id         BLOB    NOT NULL UNIQUE,
    settled_at INTEGER NOT NULL
) STRICT;
