-- Deletion of accounts, and email about accounts.

-- +goose Up

-- When a requested deletion starts, until it is complete. Such an account is suspended, so that earlier versions reject it, too;
-- suspended_because is NULL if that is the only reason.
ALTER TABLE accounts ADD COLUMN deletes_at INTEGER;
-- When the deletion started: the account has no email address and no identities. Its usage is kept.
ALTER TABLE accounts ADD COLUMN deleted_at INTEGER;

CREATE INDEX accounts_by_deletion ON accounts (deletes_at) WHERE deletes_at IS NOT NULL;

-- For deleting all rows of an account. The existing index of sign-ins contains only valid ones.
CREATE INDEX sign_ins_by_holder ON sign_ins (account_id);
CREATE INDEX sign_in_links_by_account ON sign_in_links (account_id);

-- Email about accounts.

ALTER TABLE accounts ADD COLUMN no_quota_emails INTEGER NOT NULL DEFAULT 0; -- the holder wants no email when a quota is nearly used up

-- Email to account holders about their accounts, to send. Sent email is deleted, unless once is set.
CREATE TABLE account_emails (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id      INTEGER NOT NULL REFERENCES accounts,
    once            TEXT,             -- identifies email that is sent only once; NULL: may be repeated
    event           TEXT    NOT NULL,
    about           TEXT    NOT NULL, -- issuer, app, or meter and percentage
    address         TEXT,             -- of a deleted account; NULL: the address of the account
    created_at      INTEGER NOT NULL,
    next_attempt_at INTEGER,          -- NULL: sent, or given up
    attempts        INTEGER NOT NULL DEFAULT 0,
    UNIQUE (account_id, once)
) STRICT;

CREATE INDEX account_emails_by_due ON account_emails (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX account_emails_by_age ON account_emails (created_at);

-- For finding accounts that have nearly used up a quota. Charges don't change the column, so they don't write to this index.
CREATE INDEX usage_months_by_period ON usage_months (period);
