-- Recent revisions. A search index uses them to check that the state it was built from is part of this database's
-- history.
--
-- A trigger records them, so that processes of the previous version, which don't know the table, record theirs too.

-- +goose Up

CREATE TABLE revisions (
    revision INTEGER PRIMARY KEY
) STRICT;

INSERT INTO revisions SELECT revision FROM meta WHERE revision > 0;

-- +goose StatementBegin
CREATE TRIGGER revisions_are_noted AFTER UPDATE OF revision ON meta
BEGIN
    INSERT OR IGNORE INTO revisions VALUES (new.revision);
END;
-- +goose StatementEnd
