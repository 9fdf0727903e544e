-- For finding the resubmissions of a label.

-- +goose Up

CREATE INDEX colas_by_resubmitted ON colas (for_resubmission_ttb_id) WHERE for_resubmission_ttb_id IS NOT NULL;
