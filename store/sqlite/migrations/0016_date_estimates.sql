-- Estimated approval dates of labels. TTB's export has no approval dates, so the completed date or the receipt date stands in.

-- +goose Up

ALTER TABLE colas ADD COLUMN date_estimate TEXT; -- stored for known dates, too; NULL: the ID has no plausible receipt date

-- The rule of cola.EstimateApproval with a processing time of 20 days.
CREATE VIEW estimated_approvals AS
    SELECT ttb_id, CASE
        WHEN day < 1 OR CAST(strftime('%Y', received) AS INTEGER) <> year OR received > date('now') THEN NULL
        WHEN completed BETWEEN received AND date(received, '+120 days') THEN completed
        ELSE min(date(received, '+20 days'), coalesce(completed, '9999-12-31'))
    END AS estimate
    FROM (
        SELECT ttb_id, completed, year, day, date(printf('%d-01-01', year), printf('%+d days', day - 1)) AS received
        FROM (
            SELECT ttb_id, latest_update_date AS completed, iif(ttb_id / 1000000000000 < 80, 2000, 1900) + ttb_id / 1000000000000 AS year,
                ttb_id / 1000000000 % 1000 AS day
            FROM colas
        )
    );

UPDATE colas SET date_estimate = (SELECT estimate FROM estimated_approvals e WHERE e.ttb_id = colas.ttb_id);

-- The previous version inserts labels without an estimate.
-- +goose StatementBegin
CREATE TRIGGER estimate_new_labels AFTER INSERT ON colas WHEN new.date_estimate IS NULL
BEGIN
    UPDATE colas SET date_estimate = (SELECT estimate FROM estimated_approvals e WHERE e.ttb_id = new.ttb_id) WHERE ttb_id = new.ttb_id;
END;
-- +goose StatementEnd

-- cola_arrivals.approval_date is the label's effective date: the approval date or else the estimate.
UPDATE cola_arrivals SET approval_date = (SELECT date_estimate FROM colas c WHERE c.ttb_id = cola_arrivals.ttb_id) WHERE approval_date IS NULL;

DROP TRIGGER arrivals_follow_dates;
-- +goose StatementBegin
CREATE TRIGGER arrivals_follow_dates AFTER UPDATE OF approval_date, date_estimate ON colas
    WHEN coalesce(new.approval_date, new.date_estimate) IS NOT coalesce(old.approval_date, old.date_estimate)
BEGIN
    UPDATE cola_arrivals SET approval_date = coalesce(new.approval_date, new.date_estimate) WHERE ttb_id = new.ttb_id;
    INSERT OR IGNORE INTO cola_arrivals SELECT new.ttb_id, 0, NULL WHERE coalesce(new.approval_date, new.date_estimate) IS NULL;
END;
-- +goose StatementEnd
