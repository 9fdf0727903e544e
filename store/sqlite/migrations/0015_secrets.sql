-- Endpoints must confirm before they get messages. Secrets are encrypted.

-- +goose Up

ALTER TABLE meta ADD COLUMN key_check TEXT; -- check value by which the server recognizes the keys that encrypt secrets

-- 1 while free space of the file may hold clear-text secrets, since updated rows leave copies. After sealing them, a start rewrites the file.
ALTER TABLE meta ADD COLUMN to_vacuum INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET to_vacuum = EXISTS (SELECT 1 FROM destinations);

-- secret, old_secret and challenge are encrypted. token is no longer used: it holds "unused:" and random text, because the
-- previous version still looks up links by it. Any other value is an unhashed link token from an earlier version.
ALTER TABLE destinations ADD COLUMN link_hash BLOB;      -- SHA-256 of the token of links in email from earlier versions; NULL: none
ALTER TABLE destinations ADD COLUMN verified_at INTEGER; -- when the endpoint confirmed; NULL if it has not, and for email addresses
ALTER TABLE destinations ADD COLUMN challenge TEXT;      -- latest challenge of the endpoint
ALTER TABLE destinations ADD COLUMN challenge_tries INTEGER NOT NULL DEFAULT 0; -- codes entered for it

CREATE UNIQUE INDEX destinations_by_link ON destinations (link_hash) WHERE link_hash IS NOT NULL;

-- An endpoint that accepted a message counts as confirmed.
UPDATE destinations SET verified_at = last_delivered_at WHERE kind = 'webhook';
UPDATE destinations SET state = 'pending', reason = NULL, failing_since = NULL WHERE kind = 'webhook' AND verified_at IS NULL;

-- An unconfirmed endpoint is always pending, even if an earlier version of the program writes it.
-- +goose StatementBegin
CREATE TRIGGER new_endpoints_are_pending AFTER INSERT ON destinations
BEGIN
    UPDATE destinations SET token = 'unused:' || lower(hex(randomblob(20))), state = iif(kind = 'webhook' AND verified_at IS NULL, 'pending', state),
        reason = iif(kind = 'webhook' AND verified_at IS NULL, NULL, reason) WHERE id = new.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER endpoints_stay_pending AFTER UPDATE OF state ON destinations
    WHEN new.kind = 'webhook' AND new.verified_at IS NULL AND new.state <> 'pending'
BEGIN
    UPDATE destinations SET state = 'pending', reason = NULL WHERE id = new.id;
END;
-- +goose StatementEnd
