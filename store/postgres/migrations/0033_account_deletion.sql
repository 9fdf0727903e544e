-- Deletion of accounts.

-- +goose Up

ALTER TABLE accounts
    ADD COLUMN deletes_at timestamptz,
    ADD COLUMN deleted_at timestamptz;

COMMENT ON COLUMN accounts.suspended_because IS 'For the account holder. NULL: not suspended, or only because of a requested deletion.';
COMMENT ON COLUMN accounts.deletes_at IS 'When a requested deletion starts, until it is complete. Such an account is suspended, so that earlier versions reject it, too.';
COMMENT ON COLUMN accounts.deleted_at IS 'When the deletion started: the account has no email address and no identities. Its usage is kept.';

CREATE INDEX accounts_by_deletion ON accounts (deletes_at) WHERE deletes_at IS NOT NULL;

-- For deleting all rows of an account. The existing index of sign-ins contains only valid ones.
CREATE INDEX sign_ins_by_holder ON sign_ins (account_id);
CREATE INDEX sign_in_links_by_account ON sign_in_links (account_id);
