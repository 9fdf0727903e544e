-- Work of collectors, which fetch labels from TTB's registry.

-- +goose Up

-- Windows of labels to list: days of completion, and parts of days by class. Both ends of the class are empty for a whole day.
CREATE TABLE fetch_windows (
    day          TEXT    NOT NULL,
    class_from   TEXT    NOT NULL,
    class_to     TEXT    NOT NULL,
    state        TEXT    NOT NULL DEFAULT 'pending', -- pending, split, complete or incomplete
    total        INTEGER,                            -- labels in a split or complete window
    attempts     INTEGER NOT NULL DEFAULT 0,         -- failed ones since the window became pending
    due_at       INTEGER NOT NULL,
    hold         INTEGER,                            -- random number of the claim, NULL if unclaimed
    held_until   INTEGER,
    completed_at INTEGER,
    settled_at   INTEGER NOT NULL,                   -- after which the day's labels no longer change
    failure      TEXT,                               -- of the latest attempt; of an incomplete day, NULL if only parts failed
    PRIMARY KEY (day, class_from, class_to)
) STRICT, WITHOUT ROWID;

CREATE INDEX fetch_windows_by_state ON fetch_windows (state, day DESC, class_from, class_to);

-- Labels whose pages are to be fetched. Finished ones are deleted.
CREATE TABLE fetch_labels (
    ttb_id     INTEGER PRIMARY KEY,
    completed  TEXT,                               -- NULL: unknown
    images     INTEGER NOT NULL,                   -- whether to fetch images, too
    state      TEXT    NOT NULL DEFAULT 'pending', -- pending or failed
    attempts   INTEGER NOT NULL DEFAULT 0,         -- failed ones since the label was queued
    due_at     INTEGER NOT NULL,
    hold       INTEGER,                            -- random number of the claim, NULL if unclaimed
    held_until INTEGER,
    failure    TEXT                                -- of the latest attempt
) STRICT;

CREATE INDEX fetch_labels_by_state ON fetch_labels (state, completed DESC, ttb_id DESC);

-- One row about TTB's site.
CREATE TABLE fetch_site (
    only_row         INTEGER PRIMARY KEY CHECK (only_row = 1),
    requests         INTEGER NOT NULL,
    first_request_at INTEGER,
    last_request_at  INTEGER, -- the latest reserved slot, which may be in the future
    spacing          INTEGER NOT NULL, -- microseconds that the latest reservation requires between slots
    paused_until     INTEGER,
    blocked_at       INTEGER,
    blocked_because  TEXT,
    last_failure     TEXT,    -- of a window or label
    last_failure_at  INTEGER
) STRICT;

INSERT INTO fetch_site (only_row, requests, spacing) VALUES (1, 0, 0);
