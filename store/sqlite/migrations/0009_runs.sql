-- Which labels are news, up to where each saved search has looked at them, and what it has found.

-- +goose Up

-- The labels that are there have not arrived: they are history.
CREATE TABLE cola_arrivals (
    ttb_id        INTEGER PRIMARY KEY REFERENCES colas ON DELETE CASCADE,
    revision      INTEGER NOT NULL, -- at which the label arrived; 0: never, since its first date was history, and was lost
    approval_date TEXT              -- the label's
) STRICT;

CREATE INDEX cola_arrivals_by_date ON cola_arrivals (approval_date) WHERE revision > 0;

-- Whoever changes an approval date, and however: the arrival has the same, and a label that loses the only one it had does not
-- arrive with the next.
-- +goose StatementBegin
CREATE TRIGGER arrivals_follow_dates AFTER UPDATE OF approval_date ON colas WHEN new.approval_date IS NOT old.approval_date
BEGIN
    UPDATE cola_arrivals SET approval_date = new.approval_date WHERE ttb_id = new.ttb_id;
    INSERT OR IGNORE INTO cola_arrivals SELECT new.ttb_id, 0, NULL WHERE new.approval_date IS NULL;
END;
-- +goose StatementEnd

-- Up to where a search has looked: that of its latest run, or of its creation.
ALTER TABLE saved_searches ADD COLUMN mark_at INTEGER;
ALTER TABLE saved_searches ADD COLUMN mark_revision INTEGER;
ALTER TABLE saved_searches ADD COLUMN hold INTEGER NOT NULL DEFAULT 0; -- rises with every claim, and with whatever ends one
ALTER TABLE saved_searches ADD COLUMN held_until INTEGER;              -- NULL: nobody holds it

UPDATE saved_searches SET mark_at = coalesce(last_run_at, created_at), mark_revision = (SELECT revision FROM meta);

-- By this the due ones are found.
CREATE INDEX saved_searches_by_due ON saved_searches (next_run_at) WHERE active;

-- Triggers, so that processes of the version before mark what they create, and no change of a search can forget who holds it.
-- +goose StatementBegin
CREATE TRIGGER new_searches_are_marked AFTER INSERT ON saved_searches WHEN new.mark_at IS NULL
BEGIN
    UPDATE saved_searches SET mark_at = new.created_at, mark_revision = (SELECT revision FROM meta) WHERE id = new.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER changed_searches_are_let_go AFTER UPDATE OF filters, cadence, day, active ON saved_searches
BEGIN
    UPDATE saved_searches SET hold = hold + 1, held_until = NULL WHERE id = new.id;
END;
-- +goose StatementEnd

CREATE TABLE saved_search_runs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    search_id   INTEGER NOT NULL REFERENCES saved_searches ON DELETE CASCADE,
    ran_at      INTEGER NOT NULL,
    date_from   TEXT    NOT NULL, -- approval dates of the window, both included
    date_to     TEXT    NOT NULL,
    match_count INTEGER NOT NULL, -- of the matches that no earlier run had
    late_count  INTEGER NOT NULL  -- of these, those approved before the window
) STRICT;

CREATE INDEX saved_search_runs_by_search ON saved_search_runs (search_id);

-- What each search has ever found. It is what a label comes to a search but once by, so it outlives runs and labels.
CREATE TABLE saved_search_matches (
    search_id INTEGER NOT NULL REFERENCES saved_searches ON DELETE CASCADE,
    ttb_id    INTEGER NOT NULL,
    run_id    INTEGER NOT NULL,
    late      INTEGER NOT NULL,
    PRIMARY KEY (search_id, ttb_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX saved_search_matches_by_run ON saved_search_matches (search_id, run_id DESC, ttb_id);
