-- Stripe customers and their subscriptions, as last read from Stripe.

-- +goose Up

CREATE TABLE subscriptions (
    account_id      bigint  NOT NULL PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    customer_id     text    NOT NULL UNIQUE,
    version         bigint  NOT NULL DEFAULT 0,
    subscription_id text,
    status          text,
    tier            text,
    granted         text,
    period_end      timestamptz,
    ends_at         timestamptz,
    past_due_since  timestamptz,
    read_at         timestamptz
);

COMMENT ON TABLE subscriptions IS 'Stripe customers and their subscriptions, as last read from Stripe.';
COMMENT ON COLUMN subscriptions.version IS 'Number of writes, to detect concurrent ones.';
COMMENT ON COLUMN subscriptions.subscription_id IS 'NULL until the customer subscribes.';
COMMENT ON COLUMN subscriptions.tier IS 'Tier of the subscription''s price.';
COMMENT ON COLUMN subscriptions.granted IS 'Tier that the subscription gives the account.';
COMMENT ON COLUMN subscriptions.ends_at IS 'NULL unless it is set to end or has ended.';
COMMENT ON COLUMN subscriptions.read_at IS 'NULL until first read.';

CREATE TABLE stripe_events (
    id           text        NOT NULL PRIMARY KEY,
    processed_at timestamptz NOT NULL
);

COMMENT ON TABLE stripe_events IS 'Events that were processed, so that repeated ones are not.';

CREATE INDEX stripe_events_by_time ON stripe_events (processed_at);
