-- Demo labels must not be mixed with real ones.

-- +goose Up

-- Images of demo labels, which the server draws. Images on TTB's forms have a file name.
CREATE INDEX cola_images_drawn ON cola_images (ttb_id) WHERE file_name IS NULL AND substr(image_url, 1, 8) = '/images/';
