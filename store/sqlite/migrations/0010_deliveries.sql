-- Where what saved searches find is sent, what was sent there, and which searches do not run for a reason of the account's.

-- +goose Up

ALTER TABLE accounts ADD COLUMN suspended_at INTEGER;                    -- NULL: it is not
ALTER TABLE accounts ADD COLUMN suspended_because TEXT;                  -- for the account holder to read
ALTER TABLE accounts ADD COLUMN active_limit INTEGER NOT NULL DEFAULT 10; -- searches that may run by themselves

-- A search is due at next_run_at, whether its schedule or somebody asks for it.
UPDATE saved_searches SET next_run_at = NULL WHERE NOT active;

ALTER TABLE saved_searches ADD COLUMN paused_because TEXT; -- a reason of the account's: while there is one it is not run
ALTER TABLE saved_searches ADD COLUMN feed_hash BLOB;      -- SHA-256 of the token of its feed; NULL: it has none
ALTER TABLE saved_searches ADD COLUMN failures INTEGER NOT NULL DEFAULT 0; -- times in a row that it could not be run

DROP TRIGGER changed_searches_are_let_go;
-- +goose StatementBegin
CREATE TRIGGER changed_searches_are_let_go AFTER UPDATE OF filters, cadence, day, active ON saved_searches
BEGIN
    UPDATE saved_searches SET hold = hold + 1, held_until = NULL, failures = 0 WHERE id = new.id;
END;
-- +goose StatementEnd

-- Whoever records a run, and whichever version of the program: the search can be run.
-- +goose StatementBegin
CREATE TRIGGER run_searches_do_not_fail AFTER UPDATE OF mark_at ON saved_searches WHEN new.failures > 0
BEGIN
    UPDATE saved_searches SET failures = 0 WHERE id = new.id;
END;
-- +goose StatementEnd

DROP INDEX saved_searches_by_due;
CREATE INDEX saved_searches_by_due ON saved_searches (next_run_at) WHERE next_run_at IS NOT NULL AND paused_because IS NULL;
CREATE UNIQUE INDEX saved_searches_by_feed ON saved_searches (feed_hash) WHERE feed_hash IS NOT NULL;

ALTER TABLE saved_search_runs ADD COLUMN upto INTEGER; -- revision up to which it looked at arrivals; NULL: not noted

UPDATE saved_search_runs SET upto = (SELECT mark_revision FROM saved_searches WHERE id = search_id)
    WHERE id IN (SELECT max(id) FROM saved_search_runs GROUP BY search_id);

ALTER TABLE saved_search_matches ADD COLUMN met INTEGER NOT NULL DEFAULT 0; -- filters that the label met, a bit each; 0: not noted

CREATE TABLE destinations (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid              TEXT    NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' ||
                          substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    account_id        INTEGER NOT NULL REFERENCES accounts,
    search_id         INTEGER REFERENCES saved_searches ON DELETE CASCADE, -- NULL: all searches of the account
    kind              TEXT    NOT NULL, -- email or webhook
    address           TEXT,             -- e-mail address or URL; NULL: the e-mail address of the account
    address_folded    TEXT,             -- by which it is compared
    send_empty        INTEGER NOT NULL DEFAULT 0,
    state             TEXT    NOT NULL DEFAULT 'active', -- active, unconfirmed, paused or disabled
    reason            TEXT,             -- why it is paused or disabled
    token             TEXT    NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(20)))), -- by which who gets its mail confirms it or ends it
    secret            TEXT,             -- that webhooks are signed with
    old_secret        TEXT,             -- that they are signed with as well
    old_secret_until  INTEGER,
    created_at        INTEGER NOT NULL,
    last_delivered_at INTEGER,
    failing_since     INTEGER -- NULL: the latest attempt got through, or there was none
) STRICT;

CREATE UNIQUE INDEX destinations_once ON destinations (account_id, kind, coalesce(address_folded, ''), coalesce(search_id, 0));
CREATE INDEX destinations_by_search ON destinations (search_id) WHERE search_id IS NOT NULL;

INSERT INTO destinations (account_id, kind, created_at) SELECT id, 'email', created_at FROM accounts ORDER BY id;

-- Whoever makes an account, and whichever version of the program: it has a destination of its own.
-- +goose StatementBegin
CREATE TRIGGER accounts_have_destinations AFTER INSERT ON accounts
BEGIN
    INSERT INTO destinations (account_id, kind, created_at) VALUES (new.id, 'email', new.created_at);
END;
-- +goose StatementEnd

CREATE TABLE deliveries (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id       TEXT    NOT NULL DEFAULT ('msg_' || lower(hex(randomblob(16)))), -- by which who gets it twice knows it
    account_id       INTEGER NOT NULL REFERENCES accounts,
    destination_id   INTEGER NOT NULL REFERENCES destinations ON DELETE CASCADE, -- where it goes, or what it is about
    search_id        INTEGER REFERENCES saved_searches ON DELETE CASCADE,
    run_id           INTEGER REFERENCES saved_search_runs ON DELETE CASCADE,
    event            TEXT    NOT NULL,
    kind             TEXT    NOT NULL, -- email or webhook
    state            TEXT    NOT NULL DEFAULT 'pending', -- pending, delivered, failed or skipped
    error            TEXT,             -- of the latest attempt, or why it was skipped
    attempts         INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL,
    first_attempt_at INTEGER, -- since it was made, or asked for again
    next_attempt_at  INTEGER, -- NULL: it is settled
    settled_at       INTEGER,
    hold             INTEGER NOT NULL DEFAULT 0, -- rises with every claim, and with whatever ends one
    held_until       INTEGER  -- NULL: nobody holds it
) STRICT;

CREATE INDEX deliveries_by_due ON deliveries (kind, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_by_account ON deliveries (account_id);
CREATE INDEX deliveries_by_destination ON deliveries (destination_id);
CREATE INDEX deliveries_by_search ON deliveries (search_id) WHERE search_id IS NOT NULL;
CREATE INDEX deliveries_by_run ON deliveries (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX deliveries_by_age ON deliveries (created_at);

CREATE TABLE delivery_attempts (
    delivery_id INTEGER NOT NULL REFERENCES deliveries ON DELETE CASCADE,
    n           INTEGER NOT NULL, -- from 1
    at          INTEGER NOT NULL,
    took        INTEGER NOT NULL, -- microseconds
    status      INTEGER,          -- of HTTP or SMTP; NULL: there was no answer
    error       TEXT,             -- NULL: it got through
    PRIMARY KEY (delivery_id, n)
) STRICT, WITHOUT ROWID;

-- When people were asked to confirm an e-mail address: they may have nothing to do with us, so they are not asked often. It outlives destinations,
-- and is forgotten after a day.
CREATE TABLE confirmations_asked (
    id             INTEGER PRIMARY KEY,
    account_id     INTEGER NOT NULL REFERENCES accounts,
    address_folded TEXT    NOT NULL,
    asked_at       INTEGER NOT NULL
) STRICT;

CREATE INDEX confirmations_asked_by_account ON confirmations_asked (account_id, asked_at);
CREATE INDEX confirmations_asked_by_address ON confirmations_asked (address_folded, asked_at);
CREATE INDEX confirmations_asked_by_age ON confirmations_asked (asked_at);

-- What each run is told by. A destination of the search itself comes in place of one of the whole account with the same address, and so does an
-- older one of the account: its own address may have become that of another one. One that is not confirmed comes in place of none.
CREATE VIEW told_runs AS
    SELECT s.account_id, d.id AS destination_id, s.id AS search_id, r.id AS run_id, 'saved_search.ran' AS event, d.kind,
        iif(d.state = 'active', 'pending', 'skipped') AS state, iif(d.state = 'active', NULL, 'The destination was ' || d.state || '.') AS error,
        r.ran_at AS created_at, iif(d.state = 'active', r.ran_at, NULL) AS next_attempt_at, iif(d.state = 'active', NULL, r.ran_at) AS settled_at, d.send_empty
    FROM saved_search_runs r JOIN saved_searches s ON s.id = r.search_id JOIN accounts a ON a.id = s.account_id JOIN destinations d ON d.account_id = s.account_id
    WHERE coalesce(d.search_id, s.id) = s.id AND d.state <> 'unconfirmed' AND (d.address IS NOT NULL OR a.email NOT LIKE '%://%#%')
        AND NOT (d.search_id IS NULL AND EXISTS (SELECT 1 FROM destinations o WHERE o.account_id = d.account_id AND o.kind = d.kind AND o.state <> 'unconfirmed'
            AND (o.search_id = s.id OR o.search_id IS NULL AND o.id < d.id)
            AND coalesce(o.address_folded, a.email_folded) = coalesce(d.address_folded, a.email_folded)));

-- Whoever records a run, and whichever version of the program: what tells of it is in the same transaction. What a run found is counted
-- after it is written.
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
