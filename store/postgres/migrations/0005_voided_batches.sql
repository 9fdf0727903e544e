-- Batches that were given up: they count for nothing, whether they had been committed or not.

-- +goose Up

ALTER TABLE ledger_batches ADD COLUMN voided boolean NOT NULL DEFAULT FALSE;

COMMENT ON COLUMN ledger_batches.voided IS 'Given up: the batch counts for nothing and never will.';
