-- Voided batches. A voided batch does not count, even if it was committed before.

-- +goose Up

ALTER TABLE ledger_batches ADD COLUMN voided INTEGER NOT NULL DEFAULT 0;
