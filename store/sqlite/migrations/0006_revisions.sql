-- The revisions taken lately, by which an index can tell whether the state that it was built from is in this database's past.
--
-- A trigger notes them, so that processes of the version before, which do not know the table, note theirs too.

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
