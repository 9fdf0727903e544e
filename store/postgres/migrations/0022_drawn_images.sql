-- Demo labels must not be mixed with real ones.
--
-- Processes of the previous version may import meanwhile. An interrupted build leaves an invalid index, so drop it first.

-- +goose NO TRANSACTION
-- +goose Up

DROP INDEX CONCURRENTLY IF EXISTS cola_images_drawn;

CREATE INDEX CONCURRENTLY cola_images_drawn ON cola_images (ttb_id) WHERE file_name IS NULL AND substr(image_url, 1, 8) = '/images/';

COMMENT ON INDEX cola_images_drawn IS 'Images of demo labels, which the server draws. Images on TTB''s forms have a file name.';
