-- Arrivals of new labels, and runs and matches of saved searches.

-- +goose Up

-- New labels. Labels that exist when the table is created are history and have no row.
CREATE TABLE cola_arrivals (
    ttb_id        INTEGER PRIMARY KEY REFERENCES colas ON DELETE CASCADE,
    -- Revision at which the label arrived; 0: never, because its first date was history and was removed.
    revision      INTEGER NOT NULL,
    approval_date TEXT              -- of the label, copied from colas
) STRICT;

CREATE INDEX cola_arrivals_by_date ON cola_arrivals (approval_date) WHERE revision > 0;

-- Copies each change of an approval date to the arrival. A label without an arrival whose date is removed gets one with
-- revision 0, so that it does not arrive with its next date. A trigger, so that this holds for every writer.
-- +goose StatementBegin
CREATE TRIGGER arrivals_follow_dates AFTER UPDATE OF approval_date ON colas WHEN new.approval_date IS NOT old.approval_date
BEGIN
    UPDATE cola_arrivals SET approval_date = new.approval_date WHERE ttb_id = new.ttb_id;
    INSERT OR IGNORE INTO cola_arrivals SELECT new.ttb_id, 0, NULL WHERE new.approval_date IS NULL;
END;
-- +goose StatementEnd

-- Time and revision of the latest run, or else of creation. The next run continues from here.
ALTER TABLE saved_searches ADD COLUMN mark_at INTEGER;
ALTER TABLE saved_searches ADD COLUMN mark_revision INTEGER;
-- Claim number; increases whenever the row is claimed or a claim ends.
ALTER TABLE saved_searches ADD COLUMN hold INTEGER NOT NULL DEFAULT 0;
ALTER TABLE saved_searches ADD COLUMN held_until INTEGER;              -- end of the claim; NULL if not claimed

UPDATE saved_searches SET mark_at = coalesce(last_run_at, created_at), mark_revision = (SELECT revision FROM meta);

-- For finding due searches.
CREATE INDEX saved_searches_by_due ON saved_searches (next_run_at) WHERE active;

-- Triggers, so that they also apply to processes of the previous version: a new search gets a mark, and a changed
-- search loses its claim.
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
    date_from   TEXT    NOT NULL, -- approval dates of the window, date_to inclusive
    date_to     TEXT    NOT NULL,
    match_count INTEGER NOT NULL, -- number of matches that no earlier run had
    late_count  INTEGER NOT NULL  -- number of these matches that were approved before the window
) STRICT;

CREATE INDEX saved_search_runs_by_search ON saved_search_runs (search_id);

-- All labels that each search has found. Rows outlive runs and labels, so that a search finds a label only once.
CREATE TABLE saved_search_matches (
    search_id INTEGER NOT NULL REFERENCES saved_searches ON DELETE CASCADE,
    ttb_id    INTEGER NOT NULL,
    run_id    INTEGER NOT NULL,
    late      INTEGER NOT NULL,
    PRIMARY KEY (search_id, ttb_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX saved_search_matches_by_run ON saved_search_matches (search_id, run_id DESC, ttb_id);
