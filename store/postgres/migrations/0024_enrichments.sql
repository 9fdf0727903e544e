-- Values that a model derived from labels.

-- +goose Up

CREATE TABLE enrichments (
    ttb_id         bigint  PRIMARY KEY,
    model          text    NOT NULL DEFAULT '',
    input_hash     bytea,
    label_revision bigint  NOT NULL DEFAULT 0,
    fields         text    NOT NULL DEFAULT '',
    answer         text    NOT NULL DEFAULT '',
    failure        text,
    attempts       integer NOT NULL DEFAULT 0,
    tokens_in      bigint  NOT NULL DEFAULT 0,
    tokens_out     bigint  NOT NULL DEFAULT 0,
    enriched_at    timestamptz,
    hold           bigint,
    held_until     timestamptz
);

COMMENT ON TABLE enrichments IS 'Labels that a model was asked about, with the latest result.';
COMMENT ON COLUMN enrichments.model IS 'Empty if it was not asked yet.';
COMMENT ON COLUMN enrichments.input_hash IS 'SHA-256 of what the model was given.';
COMMENT ON COLUMN enrichments.label_revision IS 'Revision of the label to which the result was last applied.';
COMMENT ON COLUMN enrichments.fields IS 'JSON object of the fields that results filled.';
COMMENT ON COLUMN enrichments.answer IS 'JSON object of the fields that the result will fill; empty once it is applied.';
COMMENT ON COLUMN enrichments.failure IS 'Why there is no usable answer.';
COMMENT ON COLUMN enrichments.attempts IS 'Requests for the latest result.';
COMMENT ON COLUMN enrichments.tokens_in IS 'Tokens of these requests.';
COMMENT ON COLUMN enrichments.hold IS 'Random number of the claim, NULL if unclaimed.';

CREATE TABLE enrichment_days (
    day      date   PRIMARY KEY,
    requests bigint NOT NULL,
    tokens   bigint NOT NULL
);

COMMENT ON TABLE enrichment_days IS 'Use of the daily limits.';
