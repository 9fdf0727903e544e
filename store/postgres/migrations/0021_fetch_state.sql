-- State of collectors: labels of an initial load are history.

-- +goose Up

ALTER TABLE fetch_windows ADD COLUMN history boolean NOT NULL DEFAULT FALSE;
ALTER TABLE fetch_labels ADD COLUMN history boolean NOT NULL DEFAULT FALSE;

COMMENT ON COLUMN fetch_windows.history IS 'Whether its labels are history. Cleared once the window is complete.';
COMMENT ON COLUMN fetch_labels.history IS 'Whether a window of history listed the label.';
COMMENT ON COLUMN fetch_labels.state IS 'pending, failed or images (its page is stored).';
