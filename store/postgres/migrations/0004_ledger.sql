-- What every account has used. One settlement writes all of these tables in one transaction.
--
-- The rows of an account are changed again and again, by whoever holds the lock on its row in accounts. Pages keep room, so
-- that a new version of a row goes beside the old one and no index is touched; the dead ones are swept early and often,
-- since what is read with every request should not lie among them.

-- +goose Up

CREATE TABLE usage_months (
    account_id   bigint NOT NULL REFERENCES accounts,
    period       text   COLLATE "C" NOT NULL,
    detail_views bigint NOT NULL,
    list_records bigint NOT NULL,
    PRIMARY KEY (account_id, period)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

COMMENT ON TABLE usage_months IS 'The counters that quotas are held to.';
COMMENT ON COLUMN usage_months.period IS 'Calendar month in UTC, YYYY-MM.';

CREATE TABLE usage_days (
    account_id      bigint NOT NULL REFERENCES accounts,
    day             date   NOT NULL,
    channel         text   COLLATE "C" NOT NULL,
    credential_kind text   COLLATE "C" NOT NULL,
    credential_id   bigint NOT NULL,
    meter           text   COLLATE "C" NOT NULL,
    units           bigint NOT NULL,
    requests        bigint NOT NULL,
    PRIMARY KEY (account_id, day, channel, credential_kind, credential_id, meter)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

COMMENT ON TABLE usage_days IS 'The same usage in detail: the units of a month''s days sum up to the month''s counters.';
COMMENT ON COLUMN usage_days.day IS 'In UTC.';
COMMENT ON COLUMN usage_days.meter IS 'Empty for requests that cost nothing.';

CREATE TABLE burst_windows (
    account_id bigint        PRIMARY KEY REFERENCES accounts,
    granted_at timestamptz[] NOT NULL,
    requests   integer[]     NOT NULL,
    CHECK (cardinality(granted_at) = cardinality(requests))
) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

COMMENT ON TABLE burst_windows IS 'The requests let through lately, summed by instant; those of the last 60 seconds count.';
COMMENT ON COLUMN burst_windows.granted_at IS 'Instants, oldest first.';
COMMENT ON COLUMN burst_windows.requests IS 'How many at each instant.';

CREATE TABLE ledger_batches (
    id         uuid        PRIMARY KEY,
    settled_at timestamptz NOT NULL
);

COMMENT ON TABLE ledger_batches IS 'The batches settled lately, so that one whose answer was lost can be looked up.';

-- By this the old ones are forgotten.
CREATE INDEX ledger_batches_by_age ON ledger_batches (settled_at);
