-- What each delivery attempt sent and received, without secrets, for the account holder to see.

-- +goose Up

ALTER TABLE delivery_attempts
    ADD COLUMN subject  text COLLATE "C",
    ADD COLUMN sent     bytea,
    ADD COLUMN headers  text COLLATE "C",
    ADD COLUMN response text COLLATE "C";

COMMENT ON COLUMN delivery_attempts.subject IS 'Of an email.';
COMMENT ON COLUMN delivery_attempts.sent IS 'Body of the message, compressed with gzip; NULL: not recorded.';
COMMENT ON COLUMN delivery_attempts.headers IS 'Some headers of the response, one per line.';
COMMENT ON COLUMN delivery_attempts.response IS 'Start of the response''s body.';
