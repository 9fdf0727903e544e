-- Values that a model derived from labels.

-- +goose Up

-- Labels that a model was asked about, with the latest result.
CREATE TABLE enrichments (
    ttb_id         INTEGER PRIMARY KEY,
    model          TEXT    NOT NULL DEFAULT '', -- empty: not asked yet
    input_hash     BLOB,                        -- SHA-256 of what the model was given
    label_revision INTEGER NOT NULL DEFAULT 0,  -- of the label to which the result was last applied
    fields         TEXT    NOT NULL DEFAULT '', -- JSON object of the fields that results filled
    answer         TEXT    NOT NULL DEFAULT '', -- JSON object of the fields that the result will fill; empty once it is applied
    failure        TEXT,                        -- why there is no usable answer
    attempts       INTEGER NOT NULL DEFAULT 0,  -- requests for the latest result
    tokens_in      INTEGER NOT NULL DEFAULT 0,  -- tokens of these requests
    tokens_out     INTEGER NOT NULL DEFAULT 0,
    enriched_at    INTEGER,
    hold           INTEGER,                     -- random number of the claim, NULL if unclaimed
    held_until     INTEGER
) STRICT;

-- Use of the daily limits.
CREATE TABLE enrichment_days (
    day      TEXT    PRIMARY KEY,
    requests INTEGER NOT NULL,
    tokens   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
