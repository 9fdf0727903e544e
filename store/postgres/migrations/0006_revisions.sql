-- Recent revisions. A search index uses them to check that the state it was built from is part of this database's
-- history.
--
-- A trigger records them, so that processes of the previous version, which don't know the table, record theirs too.

-- +goose Up

CREATE TABLE revisions (
    revision bigint PRIMARY KEY
);

COMMENT ON TABLE revisions IS 'The revisions of the last 30 days, and the one before them.';

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
