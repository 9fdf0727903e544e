-- Estimated approval dates of labels. TTB's export has no approval dates, so the completed date or the receipt date stands in.
--
-- Reads continue while the update rewrites the table, because each statement is a transaction of its own. All can be repeated.

-- +goose NO TRANSACTION
-- +goose Up

ALTER TABLE colas ADD COLUMN IF NOT EXISTS date_estimate date;

COMMENT ON COLUMN colas.date_estimate IS 'Estimated approval date, stored for known dates, too; NULL: the ID has no plausible receipt date.';
COMMENT ON COLUMN cola_arrivals.approval_date IS 'Effective date of the label: its approval date or else the estimate.';
COMMENT ON COLUMN cola_arrivals.revision IS 'Revision at which the label arrived, or at which its approval date replaced an estimate; 0: it never arrives.';

-- The rule of cola.EstimateApproval with a processing time of 20 days.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION estimated_approval(id bigint, completed date) RETURNS date LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN day < 1 OR extract(year FROM received) <> year OR received > (now() AT TIME ZONE 'UTC')::date THEN NULL
        WHEN completed BETWEEN received AND received + 120 THEN completed
        ELSE least(received + 20, completed)
    END
    FROM (
        SELECT year, day, make_date(year, 1, 1) + (day - 1) AS received
        FROM (
            SELECT (CASE WHEN id < 80000000000000 THEN 2000 ELSE 1900 END + id / 1000000000000)::integer AS year,
                (id / 1000000000 % 1000)::integer AS day
        ) AS parts
    ) AS receipt
$$;
-- +goose StatementEnd

-- The previous version inserts labels without an estimate.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION estimate_new_label() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.date_estimate = estimated_approval(NEW.ttb_id, NEW.latest_update_date);
    RETURN NEW;
END
$$;
-- +goose StatementEnd

DROP TRIGGER IF EXISTS estimate_new_labels ON colas;

CREATE TRIGGER estimate_new_labels BEFORE INSERT ON colas
    FOR EACH ROW WHEN (NEW.date_estimate IS NULL) EXECUTE FUNCTION estimate_new_label();

UPDATE colas SET date_estimate = estimated_approval(ttb_id, latest_update_date) WHERE date_estimate IS NULL;

UPDATE cola_arrivals a SET approval_date = c.date_estimate FROM colas c WHERE c.ttb_id = a.ttb_id AND a.approval_date IS NULL;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION follow_approval_date() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE cola_arrivals SET approval_date = coalesce(NEW.approval_date, NEW.date_estimate) WHERE ttb_id = NEW.ttb_id;
    IF coalesce(NEW.approval_date, NEW.date_estimate) IS NULL THEN
        INSERT INTO cola_arrivals VALUES (NEW.ttb_id, 0, NULL) ON CONFLICT (ttb_id) DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
BEGIN
    DROP TRIGGER IF EXISTS arrivals_follow_dates ON colas;
    CREATE TRIGGER arrivals_follow_dates AFTER UPDATE OF approval_date, date_estimate ON colas
        FOR EACH ROW WHEN (coalesce(NEW.approval_date, NEW.date_estimate) IS DISTINCT FROM coalesce(OLD.approval_date, OLD.date_estimate))
        EXECUTE FUNCTION follow_approval_date();
END
$$;
-- +goose StatementEnd
