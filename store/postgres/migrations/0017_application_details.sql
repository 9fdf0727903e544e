-- More fields of the application for a label.

-- +goose Up

ALTER TABLE colas ADD COLUMN trade_name text;     -- name used on the label
ALTER TABLE colas ADD COLUMN serial_number text;  -- the applicant's
ALTER TABLE colas ADD COLUMN formula text;        -- numbers of formulas
ALTER TABLE colas ADD COLUMN qualifications text; -- conditions of the approval, one per line

ALTER TABLE cola_images ADD COLUMN file_name text; -- the applicant's
