-- More fields of the application for a label.

-- +goose Up

ALTER TABLE colas ADD COLUMN trade_name TEXT;     -- name used on the label
ALTER TABLE colas ADD COLUMN serial_number TEXT;  -- the applicant's
ALTER TABLE colas ADD COLUMN formula TEXT;        -- numbers of formulas
ALTER TABLE colas ADD COLUMN qualifications TEXT; -- conditions of the approval, one per line

ALTER TABLE cola_images ADD COLUMN file_name TEXT; -- the applicant's
