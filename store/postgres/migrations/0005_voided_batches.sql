-- Voided batches. A voided batch does not count, even if it was committed before.

-- +goose Up

ALTER TABLE ledger_batches ADD COLUMN voided boolean NOT NULL DEFAULT FALSE;

COMMENT ON COLUMN ledger_batches.voided IS
    'Whether the batch was voided. A voided batch does not count, and can no longer be committed.';
