-- State of collectors: labels of an initial load are history, and demo labels must not be mixed with real ones.

-- +goose Up

ALTER TABLE fetch_windows ADD COLUMN history boolean NOT NULL DEFAULT FALSE;
ALTER TABLE fetch_labels ADD COLUMN history boolean NOT NULL DEFAULT FALSE;

COMMENT ON COLUMN fetch_windows.history IS 'Whether its labels are history. Cleared once the window is complete.';
COMMENT ON COLUMN fetch_labels.history IS 'Whether a window of history listed the label.';

CREATE INDEX cola_images_drawn ON cola_images (ttb_id) WHERE file_name IS NULL AND substr(image_url, 1, 8) = '/images/';

COMMENT ON INDEX cola_images_drawn IS 'Images of demo labels, which the server draws. Images on TTB''s forms have a file name.';
COMMENT ON COLUMN fetch_labels.state IS 'pending, failed or images (its page is stored).';
