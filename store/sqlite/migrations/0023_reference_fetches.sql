-- Downloads of reference data, such as permit lists: one row for each source.

-- +goose Up

CREATE TABLE reference_fetches (
    source        TEXT    PRIMARY KEY,
    url           TEXT    NOT NULL DEFAULT '', -- address of the content that was imported last
    etag          TEXT    NOT NULL DEFAULT '', -- validators of that address
    last_modified TEXT    NOT NULL DEFAULT '',
    hash          BLOB CHECK (length(hash) = 32), -- SHA-256 of the content
    claimed_at    INTEGER NOT NULL,            -- start of the latest fetch
    checked_at    INTEGER,                     -- end of the last fetch that succeeded
    imported_at   INTEGER,
    failure       TEXT    NOT NULL DEFAULT '', -- of the latest fetch
    failed_at     INTEGER
) STRICT, WITHOUT ROWID;
