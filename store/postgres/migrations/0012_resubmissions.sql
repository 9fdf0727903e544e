-- A label is asked for those that submit it again.
--
-- An import may go on meanwhile, by a process of the version before. What was cut off leaves an index that nobody uses, so it is made anew.

-- +goose NO TRANSACTION
-- +goose Up

DROP INDEX CONCURRENTLY IF EXISTS colas_by_resubmitted;

CREATE INDEX CONCURRENTLY colas_by_resubmitted ON colas (for_resubmission_ttb_id) WHERE for_resubmission_ttb_id IS NOT NULL;
