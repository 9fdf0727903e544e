-- The request log: recent requests of each account, for its holder to see.

-- +goose Up

CREATE TABLE request_log (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id      bigint      NOT NULL REFERENCES accounts,
    at              timestamptz NOT NULL,
    request_id      text        COLLATE "C" NOT NULL,
    channel         text        COLLATE "C" NOT NULL,
    credential_kind text        COLLATE "C" NOT NULL,
    credential_id   bigint      NOT NULL,
    method          text        COLLATE "C" NOT NULL,
    target          text        COLLATE "C" NOT NULL,
    input           text        COLLATE "C" NOT NULL,
    status          bigint      NOT NULL,
    code            text        COLLATE "C" NOT NULL,
    duration        bigint      NOT NULL,
    meter           text        COLLATE "C" NOT NULL,
    units           bigint      NOT NULL,
    answer          text        COLLATE "C" NOT NULL,
    expires_at      timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

COMMENT ON TABLE request_log IS 'Recent requests of each account, for its holder to see. Contains no credentials and no request bodies.';
COMMENT ON COLUMN request_log.request_id IS 'May be the client''s, so it isn''t unique.';
COMMENT ON COLUMN request_log.method IS 'HTTP or MCP method.';
COMMENT ON COLUMN request_log.target IS 'Path, tool, prompt or resource.';
COMMENT ON COLUMN request_log.input IS 'Query string or arguments, without credentials.';
COMMENT ON COLUMN request_log.code IS 'Error code, or empty.';
COMMENT ON COLUMN request_log.duration IS 'Nanoseconds.';
COMMENT ON COLUMN request_log.answer IS 'Body of an error response, or empty.';

CREATE INDEX request_log_by_account ON request_log (account_id, at, id);
CREATE INDEX request_log_by_age ON request_log (expires_at);

CREATE TABLE request_log_gaps (
    account_id bigint      NOT NULL REFERENCES accounts,
    hour       timestamptz NOT NULL,
    successes  bigint      NOT NULL,
    errors     bigint      NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, hour)
) WITH (fillfactor = 80);

COMMENT ON TABLE request_log_gaps IS 'Requests that were not recorded, by hour.';

CREATE INDEX request_log_gaps_by_age ON request_log_gaps (expires_at);
