-- Labels and permit holders, and the sequence that numbers their changes.
--
-- Conventions of the whole schema: NULL is unknown; dates are ISO 8601 text, which reads, sorts and compares in any client
-- and costs seven bytes more than a number of days, under one in a hundred of a label; instants are whole microseconds
-- since 1970 UTC; lists of text are JSON; booleans are 0 and 1.

-- +goose Up

CREATE TABLE meta (
    only_row           INTEGER PRIMARY KEY CHECK (only_row = 1),
    store_id           TEXT    NOT NULL, -- made once; never the same for two databases
    revision           INTEGER NOT NULL, -- of the latest change of any record
    reference_revision INTEGER NOT NULL  -- of the latest change of any reference set
) STRICT;

INSERT INTO meta VALUES (1, lower(hex(randomblob(16))), 0, 0);

-- What the search index reads comes first, so that a scan for it need not decode the rest of a row.
CREATE TABLE colas (
    ttb_id                       INTEGER PRIMARY KEY, -- 14 digits, leading zeros dropped
    revision                     INTEGER NOT NULL,
    brand_name                   TEXT    NOT NULL,
    product_name                 TEXT,
    product_type                 TEXT    NOT NULL,
    class_name                   TEXT,
    origin_name                  TEXT,
    permit_number                TEXT    NOT NULL,
    application_status           TEXT,
    approval_date                TEXT,
    image_count                  INTEGER,
    application_date             TEXT,
    domestic_or_imported         TEXT,
    address_recipient            TEXT,
    address_state                TEXT,
    llm_container_type           TEXT,
    llm_category_path            TEXT,
    abv                          REAL,
    volume                       REAL,
    volume_unit                  TEXT,
    barcode_value                TEXT, -- main barcode
    barcode_type                 TEXT,
    application_type             TEXT,
    expiration_date              TEXT,
    latest_update_date           TEXT,
    class_id                     TEXT,
    origin_id                    TEXT,
    is_distinctive_container     INTEGER,
    for_distinctive_capacity     TEXT,
    is_resubmission              INTEGER,
    for_resubmission_ttb_id      INTEGER,
    for_exemption_state          TEXT,
    address_zip_code             TEXT,
    grape_varietals              TEXT,
    wine_vintage_year            INTEGER,
    wine_appellation             TEXT,
    llm_product_description      TEXT,
    llm_brand_established_year   INTEGER,
    llm_category                 TEXT,
    llm_tasting_note_flavors     TEXT,
    llm_artwork_credit           TEXT,
    llm_wine_designation         TEXT,
    llm_beer_ibu                 TEXT,
    llm_beer_hops_varieties      TEXT,
    llm_liquor_aged_years        INTEGER,
    llm_liquor_finishing_process TEXT,
    llm_liquor_grains            TEXT,
    qrcode_url                   TEXT,
    has_front_image              INTEGER,
    has_back_image               INTEGER,
    has_neck_image               INTEGER,
    has_strip_image              INTEGER,
    main_image_url               TEXT
) STRICT;

-- Followers ask for what changed after a revision.
CREATE INDEX colas_by_revision ON colas (revision);

CREATE TABLE cola_images (
    ttb_id             INTEGER NOT NULL REFERENCES colas ON DELETE CASCADE,
    position           INTEGER NOT NULL, -- in the label's list, from 0
    ttb_image_id       TEXT    NOT NULL,
    image_index        INTEGER NOT NULL,
    container_position TEXT,
    extension_type     TEXT,
    width_pixels       INTEGER,
    height_pixels      INTEGER,
    width_inches       REAL,
    height_inches      REAL,
    file_size_mb       REAL,
    barcode_count      INTEGER,
    qrcode_count       INTEGER,
    image_url          TEXT,
    PRIMARY KEY (ttb_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE cola_barcodes (
    ttb_id                  INTEGER NOT NULL REFERENCES colas ON DELETE CASCADE,
    position                INTEGER NOT NULL, -- in the label's list, from 0
    barcode_value           TEXT    NOT NULL,
    barcode_type            TEXT,
    ttb_image_id            TEXT,
    width_pixels            INTEGER,
    height_pixels           INTEGER,
    orientation             TEXT,
    relative_image_position TEXT,
    PRIMARY KEY (ttb_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE permittees (
    permit_number    TEXT    PRIMARY KEY,
    revision         INTEGER NOT NULL,
    company_name     TEXT,
    operating_name   TEXT,
    company_state    TEXT,
    company_zip_code TEXT,
    permittee_type   TEXT,
    listed           INTEGER NOT NULL, -- on TTB's current list
    from_labels      INTEGER NOT NULL  -- only ever seen on labels: they may fill in what is unknown
) STRICT, WITHOUT ROWID;

CREATE INDEX permittees_by_revision ON permittees (revision);
