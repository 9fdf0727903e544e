-- Files of label images. The files are in a folder or bucket; images with the same content share a file.

-- +goose Up

CREATE TABLE image_files (
    ttb_image_id TEXT    PRIMARY KEY,
    hash         BLOB    NOT NULL CHECK (length(hash) = 32), -- SHA-256 of the file, which names it
    content_type TEXT    NOT NULL,
    width        INTEGER NOT NULL, -- in pixels
    height       INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    fetched_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
