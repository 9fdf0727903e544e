-- Free daily allowances of accounts, and the number of labels that messages about each run name.

-- +goose Up

CREATE TABLE daily_allowances (
    account_id bigint  NOT NULL REFERENCES accounts,
    day        date    NOT NULL,
    allowance  text    NOT NULL,
    used       integer NOT NULL,
    PRIMARY KEY (account_id, day, allowance)
);

COMMENT ON TABLE daily_allowances IS 'Use of the free allowances of accounts, per UTC day.';
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

-- Existing runs, and runs recorded by processes of the previous version, name the maximum number of labels.
ALTER TABLE saved_search_runs
    ADD COLUMN manual       boolean NOT NULL DEFAULT FALSE,
    ADD COLUMN named_labels integer NOT NULL DEFAULT 25;

COMMENT ON COLUMN saved_search_runs.manual IS 'Whether the account requested the run.';
COMMENT ON COLUMN saved_search_runs.named_labels IS 'How many labels of the run, the first by TTB ID, messages and feeds name.';
