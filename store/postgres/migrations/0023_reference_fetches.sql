-- Downloads of reference data, such as permit lists.

-- +goose Up

CREATE TABLE reference_fetches (
    source        text        COLLATE "C" PRIMARY KEY,
    url           text        NOT NULL DEFAULT '',
    etag          text        NOT NULL DEFAULT '',
    last_modified text        NOT NULL DEFAULT '',
    hash          bytea       CHECK (octet_length(hash) = 32),
    claimed_at    timestamptz NOT NULL,
    checked_at    timestamptz,
    imported_at   timestamptz,
    failure       text        NOT NULL DEFAULT '',
    failed_at     timestamptz
);

COMMENT ON TABLE reference_fetches IS 'Downloads of reference data, such as permit lists: one row for each source.';
COMMENT ON COLUMN reference_fetches.url IS 'Address of the content that was imported last.';
COMMENT ON COLUMN reference_fetches.etag IS 'Validator of that address, as is last_modified.';
COMMENT ON COLUMN reference_fetches.hash IS 'SHA-256 of the content.';
COMMENT ON COLUMN reference_fetches.claimed_at IS 'Start of the latest fetch.';
COMMENT ON COLUMN reference_fetches.checked_at IS 'End of the last fetch that succeeded.';
COMMENT ON COLUMN reference_fetches.failure IS 'Failure of the latest fetch.';
