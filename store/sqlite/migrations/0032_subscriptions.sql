-- Stripe customers and their subscriptions, as last read from Stripe.

-- +goose Up

CREATE TABLE subscriptions (
    account_id      INTEGER NOT NULL PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    customer_id     TEXT    NOT NULL UNIQUE,
    version         INTEGER NOT NULL DEFAULT 0, -- number of writes, to detect concurrent ones
    subscription_id TEXT,                       -- NULL until the customer subscribes
    status          TEXT,
    tier            TEXT,                       -- of the subscription's price
    granted         TEXT,                       -- tier that the subscription gives the account
    period_end      INTEGER,
    ends_at         INTEGER,                    -- NULL unless it is set to end or has ended
    past_due_since  INTEGER,
    read_at         INTEGER                     -- NULL until first read
) STRICT;

CREATE TABLE stripe_events (
    id           TEXT    NOT NULL PRIMARY KEY,
    processed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX stripe_events_by_time ON stripe_events (processed_at);
