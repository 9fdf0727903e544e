-- A label is asked for those that submit it again.

-- +goose Up

CREATE INDEX colas_by_resubmitted ON colas (for_resubmission_ttb_id) WHERE for_resubmission_ttb_id IS NOT NULL;
