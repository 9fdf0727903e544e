-- Finished imports of files.

-- +goose Up

CREATE TABLE imports (
    id          INTEGER PRIMARY KEY,
    kind        TEXT    NOT NULL, -- of records, as in the import command
    started_at  INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    rows_read   INTEGER NOT NULL,
    added       INTEGER NOT NULL,
    changed     INTEGER NOT NULL,
    unchanged   INTEGER NOT NULL,
    refused     INTEGER NOT NULL,
    failed      INTEGER NOT NULL  -- whether it ended before it had read everything
) STRICT;

CREATE INDEX imports_by_kind ON imports (kind, id);
