-- Sign-in links sent by email.

-- +goose Up

-- Recent links. Used links are deleted; others remain for a day, to limit email.
CREATE TABLE emailed_links (
    hash         BLOB    PRIMARY KEY CHECK (length(hash) = 32), -- SHA-256 of the token
    email        TEXT    NOT NULL, -- may have no account
    email_folded TEXT    NOT NULL, -- identifies the account
    mailbox      TEXT    NOT NULL, -- the folded address without a +tag
    signs_up     INTEGER NOT NULL, -- no account had the address
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX emailed_links_by_mailbox ON emailed_links (mailbox, created_at);
CREATE INDEX emailed_links_by_age ON emailed_links (created_at);
