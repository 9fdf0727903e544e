-- State of collectors: labels of an initial load are history.

-- +goose Up

ALTER TABLE fetch_windows ADD COLUMN history INTEGER NOT NULL DEFAULT 0; -- whether its labels are history; cleared once it is complete
ALTER TABLE fetch_labels ADD COLUMN history INTEGER NOT NULL DEFAULT 0;  -- whether a window of history listed it
