-- Endpoints confirm before they get messages, and secrets are sealed.

-- +goose Up

ALTER TABLE meta ADD COLUMN key_check TEXT; -- by which starts recognize the keys that seal secrets

-- 1 while free bytes of the file may hold secrets in clear: rows were moved about. A start that seals what is in use rewrites the file.
ALTER TABLE meta ADD COLUMN to_vacuum INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET to_vacuum = EXISTS (SELECT 1 FROM destinations);

-- secret, old_secret and challenge hold sealed texts. token is no longer used: it holds unused: and a random text, since the version
-- before still looks links up by it. Others are tokens of earlier versions that are yet to be hashed.
ALTER TABLE destinations ADD COLUMN link_hash BLOB;      -- SHA-256 of the token of links in email of earlier versions; NULL: none
ALTER TABLE destinations ADD COLUMN verified_at INTEGER; -- when the endpoint confirmed; NULL: not yet, or it is an email address
ALTER TABLE destinations ADD COLUMN challenge TEXT;      -- latest that the endpoint was sent
ALTER TABLE destinations ADD COLUMN challenge_tries INTEGER NOT NULL DEFAULT 0; -- codes entered for it

-- Email address or host, by which the requests of one account are counted; NULL: address_folded, by which those of all are.
ALTER TABLE confirmations_asked ADD COLUMN recipient TEXT;

CREATE UNIQUE INDEX destinations_by_link ON destinations (link_hash) WHERE link_hash IS NOT NULL;

-- An endpoint that has taken a message has shown that it wants them.
UPDATE destinations SET verified_at = last_delivered_at WHERE kind = 'webhook';
UPDATE destinations SET state = 'pending', reason = NULL, failing_since = NULL WHERE kind = 'webhook' AND verified_at IS NULL;

-- Whoever writes, and whichever version of the program: an endpoint that has not confirmed is pending.
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
