-- Usage of accounts. Settling a batch writes all of these tables in one transaction.
--
-- The rows of an account are updated often, by the transaction that locks its row in accounts. A low fillfactor leaves
-- room for new row versions on the same page, so that updates needn't touch the indexes (HOT). Autovacuum runs early
-- and often, because every request reads these rows and dead versions would slow it down.

-- +goose Up

CREATE TABLE usage_months (
    account_id   bigint NOT NULL REFERENCES accounts,
    period       text   COLLATE "C" NOT NULL,
    detail_views bigint NOT NULL,
    list_records bigint NOT NULL,
    PRIMARY KEY (account_id, period)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

COMMENT ON TABLE usage_months IS 'Monthly usage counters, which quotas limit.';
COMMENT ON COLUMN usage_months.period IS 'Calendar month (UTC), YYYY-MM.';

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

COMMENT ON TABLE usage_days IS
    'Daily usage in detail. The units of the days of a month add up to the counters in usage_months.';
COMMENT ON COLUMN usage_days.day IS 'Calendar day (UTC).';
COMMENT ON COLUMN usage_days.meter IS 'Empty for requests without a cost.';

CREATE TABLE burst_windows (
    account_id bigint        PRIMARY KEY REFERENCES accounts,
    granted_at timestamptz[] NOT NULL,
    requests   integer[]     NOT NULL,
    CHECK (cardinality(granted_at) = cardinality(requests))
) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

COMMENT ON TABLE burst_windows IS 'Recently allowed requests, for rate limiting. Those of the last 60 seconds count.';
COMMENT ON COLUMN burst_windows.granted_at IS 'Distinct times of requests, oldest first.';
COMMENT ON COLUMN burst_windows.requests IS 'Number of requests at each time in granted_at.';

CREATE TABLE ledger_batches (
    id         uuid        PRIMARY KEY,
    settled_at timestamptz NOT NULL
);

COMMENT ON TABLE ledger_batches IS
    'Recently settled batches, for finding out whether a commit with an unknown outcome succeeded.';

-- For deleting old rows.
CREATE INDEX ledger_batches_by_age ON ledger_batches (settled_at);
