-- Reference data. Every set is small and read whole, so nothing but its key is indexed.

-- +goose Up

CREATE TABLE avas (
    ava_id           TEXT PRIMARY KEY,
    name             TEXT NOT NULL,
    aka              TEXT,
    states           TEXT,
    counties         TEXT,
    established_date TEXT,
    removed_date     TEXT,
    valid_start_date TEXT,
    valid_end_date   TEXT,
    parent_avas      TEXT,
    child_avas       TEXT,
    petitioner       TEXT,
    cfr_author       TEXT,
    cfr_index        TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE production_reports (
    commodity            TEXT    NOT NULL,
    report_type          TEXT    NOT NULL,
    report_date          TEXT    NOT NULL,
    position             INTEGER NOT NULL, -- within the report, from 0: rows have no key of their own
    year                 INTEGER NOT NULL,
    month_number         INTEGER,
    statistical_group    TEXT,
    statistical_category TEXT,
    statistical_detail   TEXT,
    count_ims            INTEGER,
    value                REAL,
    value_unit           TEXT,
    is_redacted          INTEGER NOT NULL,
    PRIMARY KEY (commodity, report_type, report_date, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE processing_times (
    commodity              TEXT NOT NULL,
    snapshot_date          TEXT NOT NULL,
    turnaround_days_median INTEGER,
    queue_frontier_date    TEXT,
    queue_depth_days       INTEGER,
    PRIMARY KEY (commodity, snapshot_date)
) STRICT, WITHOUT ROWID;

CREATE TABLE formula_processing_times (
    commodity              TEXT NOT NULL,
    formula_type           TEXT NOT NULL,
    snapshot_date          TEXT NOT NULL,
    turnaround_days_median INTEGER,
    queue_frontier_date    TEXT,
    queue_depth_days       INTEGER,
    PRIMARY KEY (commodity, formula_type, snapshot_date)
) STRICT, WITHOUT ROWID;

CREATE TABLE registration_processing_times (
    category               TEXT NOT NULL,
    application_type       TEXT NOT NULL,
    report_month           TEXT NOT NULL,
    turnaround_days_median INTEGER,
    snapshot_date          TEXT,
    PRIMARY KEY (category, application_type, report_month)
) STRICT, WITHOUT ROWID;

CREATE TABLE category_aliases (
    alias TEXT PRIMARY KEY, -- former path
    path  TEXT NOT NULL     -- current path
) STRICT, WITHOUT ROWID;
