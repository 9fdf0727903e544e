-- Sign-in links sent by email.

-- +goose Up

CREATE TABLE emailed_links (
    hash         bytea       PRIMARY KEY CHECK (octet_length(hash) = 32),
    email        text        NOT NULL,
    email_folded text        COLLATE "C" NOT NULL,
    mailbox      text        COLLATE "C" NOT NULL,
    signs_up     boolean     NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL
);

COMMENT ON TABLE emailed_links IS 'Recent sign-in links sent by email. Used links are deleted; others remain for a day, to limit email.';
COMMENT ON COLUMN emailed_links.hash IS 'SHA-256 of the token.';
COMMENT ON COLUMN emailed_links.email IS 'May have no account.';
COMMENT ON COLUMN emailed_links.email_folded IS 'Identifies the account.';
COMMENT ON COLUMN emailed_links.mailbox IS 'The folded address without a +tag.';
COMMENT ON COLUMN emailed_links.signs_up IS 'Whether no account had the address.';

CREATE INDEX emailed_links_by_mailbox ON emailed_links (mailbox, created_at);
CREATE INDEX emailed_links_by_age ON emailed_links (created_at);
