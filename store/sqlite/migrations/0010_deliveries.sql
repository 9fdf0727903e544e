-- Destinations, deliveries, and suspended accounts and paused searches.

-- +goose Up

ALTER TABLE accounts ADD COLUMN suspended_at INTEGER;                    -- NULL if not suspended
ALTER TABLE accounts ADD COLUMN suspended_because TEXT;                  -- reason shown to the account holder
-- Maximum number of searches with an active schedule.
ALTER TABLE accounts ADD COLUMN active_limit INTEGER NOT NULL DEFAULT 10;

-- From here on next_run_at is set for requested runs as well, not only for scheduled ones.
UPDATE saved_searches SET next_run_at = NULL WHERE NOT active;

ALTER TABLE saved_searches ADD COLUMN paused_because TEXT; -- reason concerning the account; NULL if not paused
ALTER TABLE saved_searches ADD COLUMN feed_hash BLOB;      -- SHA-256 of the feed token; NULL if there is no feed
ALTER TABLE saved_searches ADD COLUMN failures INTEGER NOT NULL DEFAULT 0; -- number of consecutive failed runs

DROP TRIGGER changed_searches_are_let_go;
-- +goose StatementBegin
CREATE TRIGGER changed_searches_are_let_go AFTER UPDATE OF filters, cadence, day, active ON saved_searches
BEGIN
    UPDATE saved_searches SET hold = hold + 1, held_until = NULL, failures = 0 WHERE id = new.id;
END;
-- +goose StatementEnd

-- A recorded run resets the number of failures. A trigger, so that this also applies to processes of the previous
-- version.
-- +goose StatementBegin
CREATE TRIGGER run_searches_do_not_fail AFTER UPDATE OF mark_at ON saved_searches WHEN new.failures > 0
BEGIN
    UPDATE saved_searches SET failures = 0 WHERE id = new.id;
END;
-- +goose StatementEnd

DROP INDEX saved_searches_by_due;
CREATE INDEX saved_searches_by_due ON saved_searches (next_run_at) WHERE next_run_at IS NOT NULL AND paused_because IS NULL;
CREATE UNIQUE INDEX saved_searches_by_feed ON saved_searches (feed_hash) WHERE feed_hash IS NOT NULL;

-- Revision up to which the run read arrivals; NULL if not recorded.
ALTER TABLE saved_search_runs ADD COLUMN upto INTEGER;

UPDATE saved_search_runs SET upto = (SELECT mark_revision FROM saved_searches WHERE id = search_id)
    WHERE id IN (SELECT max(id) FROM saved_search_runs GROUP BY search_id);

-- Bit set of the filters that the label matched; 0 if not recorded.
ALTER TABLE saved_search_matches ADD COLUMN met INTEGER NOT NULL DEFAULT 0;

CREATE TABLE destinations (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid              TEXT    NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' ||
                          substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    account_id        INTEGER NOT NULL REFERENCES accounts,
    search_id         INTEGER REFERENCES saved_searches ON DELETE CASCADE, -- NULL for all searches of the account
    kind              TEXT    NOT NULL, -- email or webhook
    address           TEXT,             -- email address or URL; NULL for the email address of the account
    address_folded    TEXT,             -- normalized address, for comparison
    send_empty        INTEGER NOT NULL DEFAULT 0,
    state             TEXT    NOT NULL DEFAULT 'active', -- active, unconfirmed, paused or disabled
    reason            TEXT,             -- why it is paused or disabled
    -- In links that confirm the address or unsubscribe it.
    token             TEXT    NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(20)))),
    secret            TEXT,             -- signs webhooks
    old_secret        TEXT,             -- signs them as well until old_secret_until
    old_secret_until  INTEGER,
    created_at        INTEGER NOT NULL,
    last_delivered_at INTEGER,
    -- First of the consecutive failed attempts; NULL if the latest succeeded or there was none.
    failing_since     INTEGER
) STRICT;

CREATE UNIQUE INDEX destinations_once ON destinations (account_id, kind, coalesce(address_folded, ''), coalesce(search_id, 0));
CREATE INDEX destinations_by_search ON destinations (search_id) WHERE search_id IS NOT NULL;

INSERT INTO destinations (account_id, kind, created_at) SELECT id, 'email', created_at FROM accounts ORDER BY id;

-- A new account gets its own email destination. A trigger, so that this also applies to processes of the previous
-- version.
-- +goose StatementBegin
CREATE TRIGGER accounts_have_destinations AFTER INSERT ON accounts
BEGIN
    INSERT INTO destinations (account_id, kind, created_at) VALUES (new.id, 'email', new.created_at);
END;
-- +goose StatementEnd

CREATE TABLE deliveries (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Lets the recipient recognize a message that is sent twice.
    message_id       TEXT    NOT NULL DEFAULT ('msg_' || lower(hex(randomblob(16)))),
    account_id       INTEGER NOT NULL REFERENCES accounts,
    -- Recipient of the message, or its subject.
    destination_id   INTEGER NOT NULL REFERENCES destinations ON DELETE CASCADE,
    search_id        INTEGER REFERENCES saved_searches ON DELETE CASCADE,
    run_id           INTEGER REFERENCES saved_search_runs ON DELETE CASCADE,
    event            TEXT    NOT NULL,
    kind             TEXT    NOT NULL, -- email or webhook
    state            TEXT    NOT NULL DEFAULT 'pending', -- pending, delivered, failed or skipped
    error            TEXT,             -- error of the latest attempt, or the reason for skipping
    attempts         INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL,
    first_attempt_at INTEGER, -- first attempt since creation, or since a retry was requested
    next_attempt_at  INTEGER, -- NULL if settled, that is, not pending
    settled_at       INTEGER,
    hold             INTEGER NOT NULL DEFAULT 0, -- claim number; increases whenever the row is claimed or a claim ends
    held_until       INTEGER  -- end of the claim; NULL if not claimed
) STRICT;

CREATE INDEX deliveries_by_due ON deliveries (kind, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_by_account ON deliveries (account_id);
CREATE INDEX deliveries_by_destination ON deliveries (destination_id);
CREATE INDEX deliveries_by_search ON deliveries (search_id) WHERE search_id IS NOT NULL;
CREATE INDEX deliveries_by_run ON deliveries (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX deliveries_by_age ON deliveries (created_at);

CREATE TABLE delivery_attempts (
    delivery_id INTEGER NOT NULL REFERENCES deliveries ON DELETE CASCADE,
    n           INTEGER NOT NULL, -- number of the attempt, from 1
    at          INTEGER NOT NULL,
    took        INTEGER NOT NULL, -- duration in microseconds
    status      INTEGER,          -- HTTP or SMTP status code; NULL if there was no response
    error       TEXT,             -- NULL if the attempt succeeded
    PRIMARY KEY (delivery_id, n)
) STRICT, WITHOUT ROWID;

-- When people were asked to confirm an email address. Limits how often that happens, since an address may belong to
-- somebody without an account. Rows outlive destinations and are deleted after a day.
CREATE TABLE confirmations_asked (
    id             INTEGER PRIMARY KEY,
    account_id     INTEGER NOT NULL REFERENCES accounts,
    address_folded TEXT    NOT NULL,
    asked_at       INTEGER NOT NULL
) STRICT;

CREATE INDEX confirmations_asked_by_account ON confirmations_asked (account_id, asked_at);
CREATE INDEX confirmations_asked_by_address ON confirmations_asked (address_folded, asked_at);
CREATE INDEX confirmations_asked_by_age ON confirmations_asked (asked_at);

-- The deliveries of each run, at most one per kind and address. If several destinations have the same address, that of
-- the search takes precedence over that of the account, and an older one of the account over a newer one. (The
-- account's own address may have become equal to that of another destination.) Unconfirmed destinations get nothing and
-- don't take precedence.
CREATE VIEW told_runs AS
    SELECT s.account_id, d.id AS destination_id, s.id AS search_id, r.id AS run_id, 'saved_search.ran' AS event, d.kind,
        iif(d.state = 'active', 'pending', 'skipped') AS state, iif(d.state = 'active', NULL, 'The destination was ' || d.state || '.') AS error,
        r.ran_at AS created_at, iif(d.state = 'active', r.ran_at, NULL) AS next_attempt_at, iif(d.state = 'active', NULL, r.ran_at) AS settled_at, d.send_empty
    FROM saved_search_runs r JOIN saved_searches s ON s.id = r.search_id JOIN accounts a ON a.id = s.account_id JOIN destinations d ON d.account_id = s.account_id
    WHERE coalesce(d.search_id, s.id) = s.id AND d.state <> 'unconfirmed' AND (d.address IS NOT NULL OR a.email NOT LIKE '%://%#%')
        AND NOT (d.search_id IS NULL AND EXISTS (SELECT 1 FROM destinations o WHERE o.account_id = d.account_id AND o.kind = d.kind AND o.state <> 'unconfirmed'
            AND (o.search_id = s.id OR o.search_id IS NULL AND o.id < d.id)
            AND coalesce(o.address_folded, a.email_folded) = coalesce(d.address_folded, a.email_folded)));

-- Insert the deliveries of a new run in the transaction that records it. Triggers, so that this also applies to
-- processes of the previous version. match_count is updated after the run is inserted, hence the second trigger.
-- +goose StatementBegin
CREATE TRIGGER runs_are_told AFTER INSERT ON saved_search_runs
BEGIN
    INSERT INTO deliveries (account_id, destination_id, search_id, run_id, event, kind, state, error, created_at, next_attempt_at, settled_at)
    SELECT account_id, destination_id, search_id, run_id, event, kind, state, error, created_at, next_attempt_at, settled_at
    FROM told_runs WHERE run_id = new.id AND (new.match_count > 0 OR send_empty) ORDER BY destination_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER counted_runs_are_told AFTER UPDATE OF match_count ON saved_search_runs WHEN old.match_count = 0 AND new.match_count > 0
BEGIN
    INSERT INTO deliveries (account_id, destination_id, search_id, run_id, event, kind, state, error, created_at, next_attempt_at, settled_at)
    SELECT account_id, destination_id, search_id, run_id, event, kind, state, error, created_at, next_attempt_at, settled_at
    FROM told_runs WHERE run_id = new.id AND NOT send_empty ORDER BY destination_id;
END;
-- +goose StatementEnd
