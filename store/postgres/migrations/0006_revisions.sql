-- The revisions taken lately, by which an index can tell whether the state that it was built from is in this database's past.
--
-- A trigger notes them, so that processes of the version before, which do not know the table, note theirs too.

-- +goose Up

CREATE TABLE revisions (
    revision bigint PRIMARY KEY
);

COMMENT ON TABLE revisions IS 'The revisions taken in the last 30 days, and the one before them.';

INSERT INTO revisions SELECT revision FROM meta WHERE revision > 0;

-- +goose StatementBegin
CREATE FUNCTION note_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO revisions VALUES (NEW.revision) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER revisions_are_noted AFTER UPDATE OF revision ON meta FOR EACH ROW EXECUTE FUNCTION note_revision();
