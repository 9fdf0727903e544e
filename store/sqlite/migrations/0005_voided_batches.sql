-- Batches that were given up: they count for nothing, whether they had been committed or not.

-- +goose Up

ALTER TABLE ledger_batches ADD COLUMN voided INTEGER NOT NULL DEFAULT 0;
