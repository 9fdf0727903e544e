-- What each delivery attempt sent and received, without secrets, for the account holder to see.

-- +goose Up

ALTER TABLE delivery_attempts ADD COLUMN subject TEXT;  -- of an email
ALTER TABLE delivery_attempts ADD COLUMN sent BLOB;     -- body of the message, compressed with gzip; NULL: not recorded
ALTER TABLE delivery_attempts ADD COLUMN headers TEXT;  -- some headers of the response, one per line
ALTER TABLE delivery_attempts ADD COLUMN response TEXT; -- start of the response's body
