-- Free daily allowances of accounts, and the number of labels that messages about each run name.

-- +goose Up

CREATE TABLE daily_allowances (
    account_id INTEGER NOT NULL REFERENCES accounts,
    day        TEXT    NOT NULL, -- in UTC
    allowance  TEXT    NOT NULL, -- manual_runs, message_labels or preview_labels
    used       INTEGER NOT NULL,
    PRIMARY KEY (account_id, day, allowance)
) STRICT, WITHOUT ROWID;

CREATE INDEX daily_allowances_by_day ON daily_allowances (day);

-- The distinct labels that previews named to an account.
CREATE TABLE previewed_labels (
    account_id INTEGER NOT NULL REFERENCES accounts,
    day        TEXT    NOT NULL, -- in UTC
    ttb_id     INTEGER NOT NULL,
    PRIMARY KEY (account_id, day, ttb_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX previewed_labels_by_day ON previewed_labels (day);

ALTER TABLE saved_search_runs ADD COLUMN manual INTEGER NOT NULL DEFAULT 0; -- whether the account requested the run

-- How many labels of a run, the first by TTB ID, messages and feeds name. Existing runs, and runs recorded by processes of the
-- previous version, name the maximum.
ALTER TABLE saved_search_runs ADD COLUMN named_labels INTEGER NOT NULL DEFAULT 25;
