-- Reference data. Every set is small and read whole, so nothing but its key is indexed.

-- +goose Up

CREATE TABLE avas (
    ava_id           text COLLATE "C" PRIMARY KEY,
    name             text COLLATE "C" NOT NULL,
    aka              text,
    states           text[],
    counties         text[],
    established_date date,
    removed_date     date,
    valid_start_date date,
    valid_end_date   date,
    parent_avas      text[],
    child_avas       text[],
    petitioner       text,
    cfr_author       text,
    cfr_index        text
);

COMMENT ON TABLE avas IS 'American Viticultural Areas.';

CREATE TABLE production_reports (
    commodity            text    COLLATE "C" NOT NULL,
    report_type          text    COLLATE "C" NOT NULL,
    report_date          date    NOT NULL,
    position             integer NOT NULL,
    year                 integer NOT NULL,
    month_number         integer,
    statistical_group    text,
    statistical_category text,
    statistical_detail   text,
    count_ims            integer,
    value                double precision,
    value_unit           text,
    is_redacted          boolean NOT NULL,
    PRIMARY KEY (commodity, report_type, report_date, position)
);

COMMENT ON TABLE production_reports IS 'Rows of the statistical reports. A report is replaced as a whole.';
COMMENT ON COLUMN production_reports.position IS 'Within the report, from 0: rows have no key of their own.';
COMMENT ON COLUMN production_reports.count_ims IS 'How many industry members reported.';
COMMENT ON COLUMN production_reports.value IS 'In value_unit; NULL where it is redacted.';

CREATE TABLE processing_times (
    commodity              text COLLATE "C" NOT NULL,
    snapshot_date          date NOT NULL,
    turnaround_days_median integer,
    queue_frontier_date    date,
    queue_depth_days       integer,
    PRIMARY KEY (commodity, snapshot_date)
);

COMMENT ON TABLE processing_times IS 'Of label applications.';

CREATE TABLE formula_processing_times (
    commodity              text COLLATE "C" NOT NULL,
    formula_type           text COLLATE "C" NOT NULL,
    snapshot_date          date NOT NULL,
    turnaround_days_median integer,
    queue_frontier_date    date,
    queue_depth_days       integer,
    PRIMARY KEY (commodity, formula_type, snapshot_date)
);

COMMENT ON TABLE formula_processing_times IS 'Of formula applications.';

CREATE TABLE registration_processing_times (
    category               text COLLATE "C" NOT NULL,
    application_type       text COLLATE "C" NOT NULL,
    report_month           date NOT NULL,
    turnaround_days_median integer,
    snapshot_date          date,
    PRIMARY KEY (category, application_type, report_month)
);

COMMENT ON TABLE registration_processing_times IS 'Of applications for original permits.';

CREATE TABLE category_aliases (
    alias text COLLATE "C" PRIMARY KEY,
    path  text NOT NULL
);

COMMENT ON TABLE category_aliases IS 'Former category paths and what they are called now.';
