-- Pages that dashboard sessions paid for and can reload without a charge.

-- +goose Up

CREATE TABLE paid_pages (
    sign_in_id INTEGER NOT NULL, -- the session
    page       TEXT    NOT NULL, -- hash of the search, the revision and the rows
    batch_id   BLOB    NOT NULL, -- the ledger batch that charged for it
    account_id INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
    units      INTEGER NOT NULL, -- list records charged
    paid_at    INTEGER NOT NULL,
    reloaded   INTEGER NOT NULL DEFAULT 0, -- shown again since then, so voiding the batch keeps the charge
    PRIMARY KEY (sign_in_id, page, batch_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX paid_pages_by_time ON paid_pages (paid_at);
CREATE INDEX paid_pages_by_account ON paid_pages (account_id);
