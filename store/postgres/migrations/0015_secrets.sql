-- Endpoints must confirm before they get messages. Secrets are encrypted.

-- +goose Up

ALTER TABLE meta ADD COLUMN key_check text;

COMMENT ON COLUMN meta.key_check IS 'Check value by which the server recognizes the keys that encrypt secrets.';

ALTER TABLE destinations
    ADD COLUMN link_hash       bytea CHECK (octet_length(link_hash) = 32),
    ADD COLUMN verified_at     timestamptz,
    ADD COLUMN challenge       text,
    ADD COLUMN challenge_tries integer NOT NULL DEFAULT 0;

-- The previous version still looks up links by token, so no value in it may be guessable.
COMMENT ON COLUMN destinations.token IS 'No longer used. Holds "unused:" and random text; any other value is an unhashed link token from an earlier version.';
COMMENT ON COLUMN destinations.secret IS 'Secret that signs webhooks, encrypted. Until old_secret_until, old_secret signs as well.';
COMMENT ON COLUMN destinations.link_hash IS 'SHA-256 of the token of links in email from earlier versions; NULL: none.';
COMMENT ON COLUMN destinations.verified_at IS 'When the endpoint confirmed; NULL if it has not, and for email addresses.';
COMMENT ON COLUMN destinations.challenge IS 'Latest challenge of the endpoint, encrypted.';
COMMENT ON COLUMN destinations.challenge_tries IS 'Codes entered for the challenge.';
COMMENT ON COLUMN destinations.state IS 'active, unconfirmed, pending, paused or disabled; reason says why it is one of the latter two.';

COMMENT ON TABLE confirmations_asked IS 'When people and endpoints were asked to confirm. Rows outlive destinations and are deleted after a day.';
COMMENT ON COLUMN confirmations_asked.address_folded IS 'Email address or host, by which requests are counted.';

CREATE UNIQUE INDEX destinations_by_link ON destinations (link_hash) WHERE link_hash IS NOT NULL;

-- An endpoint that accepted a message counts as confirmed.
UPDATE destinations SET verified_at = last_delivered_at WHERE kind = 'webhook';
UPDATE destinations SET state = 'pending', reason = NULL, failing_since = NULL WHERE kind = 'webhook' AND verified_at IS NULL;

-- An unconfirmed endpoint is always pending, even if an earlier version of the program writes it.
-- +goose StatementBegin
CREATE FUNCTION hold_endpoints() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.token = 'unused:' || gen_random_uuid();
    END IF;
    IF NEW.kind = 'webhook' AND NEW.verified_at IS NULL AND NEW.state <> 'pending' THEN
        NEW.state = 'pending';
        NEW.reason = NULL;
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER new_endpoints_are_pending BEFORE INSERT ON destinations FOR EACH ROW EXECUTE FUNCTION hold_endpoints();
CREATE TRIGGER endpoints_stay_pending BEFORE UPDATE OF state ON destinations FOR EACH ROW EXECUTE FUNCTION hold_endpoints();

-- The previous version can't sign with encrypted secrets or create links, so its processes must not claim deliveries during the
-- upgrade. Newer versions identify themselves with this setting.
-- +goose StatementBegin
CREATE FUNCTION refuse_claims() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('colaregistry.opens_secrets', TRUE) IS DISTINCT FROM 'on' THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER earlier_versions_send_nothing BEFORE UPDATE OF held_until ON deliveries
    FOR EACH ROW WHEN (NEW.held_until IS NOT NULL AND NEW.hold > OLD.hold) EXECUTE FUNCTION refuse_claims();
