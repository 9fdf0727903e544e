-- Work of collectors, which fetch labels from TTB's registry.

-- +goose Up

CREATE TABLE fetch_windows (
    day          date    NOT NULL,
    class_from   text    COLLATE "C" NOT NULL,
    class_to     text    COLLATE "C" NOT NULL,
    state        text    NOT NULL DEFAULT 'pending',
    total        integer,
    attempts     integer NOT NULL DEFAULT 0,
    due_at       timestamptz NOT NULL,
    hold         bigint,
    held_until   timestamptz,
    completed_at timestamptz,
    settled_at   timestamptz NOT NULL,
    failure      text,
    PRIMARY KEY (day, class_from, class_to)
);

COMMENT ON TABLE fetch_windows IS 'Windows of labels to list: days of completion, and parts of days by class.';
COMMENT ON COLUMN fetch_windows.class_from IS 'Lowest class of a part. Both ends are empty for a whole day.';
COMMENT ON COLUMN fetch_windows.state IS 'pending, split, complete or incomplete.';
COMMENT ON COLUMN fetch_windows.total IS 'Labels in a split or complete window.';
COMMENT ON COLUMN fetch_windows.attempts IS 'Failed ones since the window became pending.';
COMMENT ON COLUMN fetch_windows.hold IS 'Random number of the claim, NULL if unclaimed.';
COMMENT ON COLUMN fetch_windows.settled_at IS 'Time after which the day''s labels no longer change.';
COMMENT ON COLUMN fetch_windows.failure IS 'Failure of the latest attempt; of an incomplete day, NULL if only parts failed.';

CREATE INDEX fetch_windows_by_state ON fetch_windows (state, day DESC, class_from, class_to);

CREATE TABLE fetch_labels (
    ttb_id     bigint  PRIMARY KEY,
    completed  date,
    images     boolean NOT NULL,
    state      text    NOT NULL DEFAULT 'pending',
    attempts   integer NOT NULL DEFAULT 0,
    due_at     timestamptz NOT NULL,
    hold       bigint,
    held_until timestamptz,
    failure    text
);

COMMENT ON TABLE fetch_labels IS 'Labels whose pages are to be fetched. Finished ones are deleted.';
COMMENT ON COLUMN fetch_labels.completed IS 'Completed date, NULL if unknown.';
COMMENT ON COLUMN fetch_labels.images IS 'Whether to fetch images, too.';
COMMENT ON COLUMN fetch_labels.state IS 'pending or failed.';
COMMENT ON COLUMN fetch_labels.attempts IS 'Failed ones since the label was queued.';
COMMENT ON COLUMN fetch_labels.hold IS 'Random number of the claim, NULL if unclaimed.';

CREATE INDEX fetch_labels_by_state ON fetch_labels (state, completed DESC NULLS LAST, ttb_id DESC);

CREATE TABLE fetch_site (
    only_row         boolean PRIMARY KEY CHECK (only_row),
    requests         bigint  NOT NULL,
    first_request_at timestamptz,
    last_request_at  timestamptz,
    spacing          bigint  NOT NULL,
    paused_until     timestamptz,
    blocked_at       timestamptz,
    blocked_because  text,
    last_failure     text,
    last_failure_at  timestamptz
) WITH (fillfactor = 10);

COMMENT ON TABLE fetch_site IS 'One row about TTB''s site.';
COMMENT ON COLUMN fetch_site.last_request_at IS 'The latest reserved slot, which may be in the future.';
COMMENT ON COLUMN fetch_site.spacing IS 'Microseconds that the latest reservation requires between slots.';
COMMENT ON COLUMN fetch_site.last_failure IS 'Latest failure of a window or label.';

INSERT INTO fetch_site (only_row, requests, spacing) VALUES (TRUE, 0, 0);
