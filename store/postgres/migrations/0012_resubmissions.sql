-- For finding the resubmissions of a label.
--
-- CONCURRENTLY, because a process of the previous version may be importing. An interrupted build leaves an invalid
-- index, so drop it first.

-- +goose NO TRANSACTION
-- +goose Up

DROP INDEX CONCURRENTLY IF EXISTS colas_by_resubmitted;

CREATE INDEX CONCURRENTLY colas_by_resubmitted ON colas (for_resubmission_ttb_id) WHERE for_resubmission_ttb_id IS NOT NULL;
