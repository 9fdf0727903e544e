-- Files of label images.

-- +goose Up

CREATE TABLE image_files (
    ttb_image_id text        COLLATE "C" PRIMARY KEY,
    hash         bytea       NOT NULL CHECK (octet_length(hash) = 32),
    content_type text        NOT NULL,
    width        integer     NOT NULL,
    height       integer     NOT NULL,
    bytes        integer     NOT NULL,
    fetched_at   timestamptz NOT NULL
);

COMMENT ON TABLE image_files IS 'Files of label images. The files are in a folder or bucket; images with the same content share a file.';
COMMENT ON COLUMN image_files.hash IS 'SHA-256 of the file, which names it.';
COMMENT ON COLUMN image_files.width IS 'Width in pixels.';
