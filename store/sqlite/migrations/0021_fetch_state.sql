-- State of collectors: labels of an initial load are history, and demo labels must not be mixed with real ones.

-- +goose Up

ALTER TABLE fetch_windows ADD COLUMN history INTEGER NOT NULL DEFAULT 0; -- whether its labels are history; cleared once it is complete
ALTER TABLE fetch_labels ADD COLUMN history INTEGER NOT NULL DEFAULT 0;  -- whether a window of history listed it

-- Images of demo labels, which the server draws. Images on TTB's forms have a file name.
CREATE INDEX cola_images_drawn ON cola_images (ttb_id) WHERE file_name IS NULL AND substr(image_url, 1, 8) = '/images/';
