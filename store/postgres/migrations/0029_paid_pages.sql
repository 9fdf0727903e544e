-- Pages that dashboard sessions paid for and can reload without a charge.

-- +goose Up

CREATE TABLE paid_pages (
    sign_in_id bigint      NOT NULL,
    page       text        NOT NULL,
    batch_id   uuid        NOT NULL,
    account_id bigint      NOT NULL REFERENCES accounts ON DELETE CASCADE,
    units      integer     NOT NULL,
    paid_at    timestamptz NOT NULL,
    reloaded   boolean     NOT NULL DEFAULT FALSE,
    PRIMARY KEY (sign_in_id, page, batch_id)
);

COMMENT ON TABLE paid_pages IS 'Pages that dashboard sessions paid for and can reload without a charge.';
COMMENT ON COLUMN paid_pages.page IS 'Hash of the search, the revision and the rows.';
COMMENT ON COLUMN paid_pages.batch_id IS 'The ledger batch that charged for it.';
COMMENT ON COLUMN paid_pages.units IS 'List records charged.';
COMMENT ON COLUMN paid_pages.reloaded IS 'Shown again since then, so voiding the batch keeps the charge.';

CREATE INDEX paid_pages_by_time ON paid_pages (paid_at);
CREATE INDEX paid_pages_by_account ON paid_pages (account_id);
