-- One row per account for the rate limit window. A row per grant made a charge read and write dozens of rows.

-- +goose Up

-- The requests granted in the last 60 seconds.
CREATE TABLE burst_windows (
    account_id INTEGER PRIMARY KEY REFERENCES accounts,
    grants     TEXT    NOT NULL -- JSON array of [granted_at, requests], oldest first
) STRICT;

INSERT INTO burst_windows (account_id, grants)
    SELECT account_id, json_group_array(json_array(granted_at, requests) ORDER BY granted_at)
    FROM burst_grants GROUP BY account_id;

-- A process that still runs the previous version must not grant requests beside the new windows.
DROP TABLE burst_grants;
