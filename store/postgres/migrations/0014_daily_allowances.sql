-- What accounts get for free on a UTC day, and how many labels the messages of each run name.

-- +goose Up

CREATE TABLE daily_allowances (
    account_id bigint  NOT NULL REFERENCES accounts,
    day        date    NOT NULL,
    allowance  text    NOT NULL,
    used       integer NOT NULL,
    PRIMARY KEY (account_id, day, allowance)
);

COMMENT ON TABLE daily_allowances IS 'What accounts used of what they get for free on a UTC day.';
COMMENT ON COLUMN daily_allowances.allowance IS 'manual_runs, message_labels or preview_labels.';

CREATE INDEX daily_allowances_by_day ON daily_allowances (day);

CREATE TABLE previewed_labels (
    account_id bigint NOT NULL REFERENCES accounts,
    day        date   NOT NULL,
    ttb_id     bigint NOT NULL,
    PRIMARY KEY (account_id, day, ttb_id)
);

COMMENT ON TABLE previewed_labels IS 'The distinct labels that previews named to an account on a UTC day.';

CREATE INDEX previewed_labels_by_day ON previewed_labels (day);

-- Existing runs, and those that processes of the version before record, keep the most labels that any run may name.
ALTER TABLE saved_search_runs
    ADD COLUMN manual       boolean NOT NULL DEFAULT FALSE,
    ADD COLUMN named_labels integer NOT NULL DEFAULT 25;

COMMENT ON COLUMN saved_search_runs.manual IS 'Whether the account asked for the run.';
COMMENT ON COLUMN saved_search_runs.named_labels IS 'The first so many labels of the run, by TTB id, are named by messages and feeds.';
