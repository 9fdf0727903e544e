-- Labels and permit holders, and the sequence that numbers their changes.
--
-- Conventions of the whole schema: NULL is unknown; what is sorted or compared by more than equality is collated "C", by
-- bytes, so that every backend gives the same order; a list of text is an array, NULL where it is unknown or empty.
--
-- The service searches in memory and asks this database by key and by revision only. An analyst who asks for more makes the
-- indexes that go with it, which the service neither needs nor minds, such as
--   CREATE INDEX ON cola_barcodes (barcode_value);
--   CREATE INDEX ON colas (permit_number);
--   CREATE INDEX ON colas (approval_date);

-- +goose Up

CREATE TABLE meta (
    only_row           boolean PRIMARY KEY CHECK (only_row),
    store_id           text    NOT NULL,
    revision           bigint  NOT NULL,
    reference_revision bigint  NOT NULL
) WITH (fillfactor = 10);

COMMENT ON TABLE meta IS 'One row about the database as a whole. Whoever changes records locks it until the commit.';
COMMENT ON COLUMN meta.store_id IS 'Made once; never the same for two databases.';
COMMENT ON COLUMN meta.revision IS 'Of the latest change of any record.';
COMMENT ON COLUMN meta.reference_revision IS 'Of the latest change of any reference set.';

INSERT INTO meta VALUES (TRUE, replace(gen_random_uuid()::text, '-', ''), 0, 0);

CREATE TABLE colas (
    ttb_id                       bigint PRIMARY KEY CHECK (ttb_id BETWEEN 1 AND 99999999999999),
    revision                     bigint NOT NULL,
    brand_name                   text   NOT NULL,
    product_name                 text,
    product_type                 text   NOT NULL,
    class_name                   text,
    origin_name                  text,
    permit_number                text   NOT NULL,
    application_status           text,
    approval_date                date,
    image_count                  integer,
    application_date             date,
    domestic_or_imported         text,
    address_recipient            text,
    address_state                text,
    llm_container_type           text,
    llm_category_path            text,
    abv                          double precision,
    volume                       double precision,
    volume_unit                  text,
    barcode_value                text,
    barcode_type                 text,
    application_type             text,
    expiration_date              date,
    latest_update_date           date,
    class_id                     text,
    origin_id                    text,
    is_distinctive_container     boolean,
    for_distinctive_capacity     text,
    is_resubmission              boolean,
    for_resubmission_ttb_id      bigint,
    for_exemption_state          text,
    address_zip_code             text,
    grape_varietals              text[],
    wine_vintage_year            integer,
    wine_appellation             text,
    llm_product_description      text,
    llm_brand_established_year   integer,
    llm_category                 text,
    llm_tasting_note_flavors     text[],
    llm_artwork_credit           text,
    llm_wine_designation         text,
    llm_beer_ibu                 text,
    llm_beer_hops_varieties      text[],
    llm_liquor_aged_years        integer,
    llm_liquor_finishing_process text,
    llm_liquor_grains            text[],
    qrcode_url                   text,
    has_front_image              boolean,
    has_back_image               boolean,
    has_neck_image               boolean,
    has_strip_image              boolean,
    main_image_url               text
);

COMMENT ON TABLE colas IS 'Certificates of label approval, one row each. What begins with llm_ was derived by machine.';
COMMENT ON COLUMN colas.ttb_id IS '14 digits; leading zeros are dropped here: lpad(ttb_id::text, 14, ''0'').';
COMMENT ON COLUMN colas.revision IS 'Of the latest change of the label, its images and barcodes included.';
COMMENT ON COLUMN colas.permit_number IS 'Of the applicant; permittees has a row for it.';
COMMENT ON COLUMN colas.volume IS 'In volume_unit.';
COMMENT ON COLUMN colas.abv IS 'Alcohol by volume, percent.';
COMMENT ON COLUMN colas.barcode_value IS 'Main barcode; cola_barcodes has all that were read.';
COMMENT ON COLUMN colas.address_recipient IS 'Applicant, from the business address on the label; so are the state and the ZIP code.';
COMMENT ON COLUMN colas.llm_category_path IS 'Levels joined by '' > '', of any depth; the first is Beer, Wine or Liquor.';

-- Followers ask for what changed after a revision.
CREATE INDEX colas_by_revision ON colas (revision);

CREATE TABLE cola_images (
    ttb_id             bigint  NOT NULL REFERENCES colas ON DELETE CASCADE,
    position           integer NOT NULL,
    ttb_image_id       text    NOT NULL,
    image_index        integer NOT NULL,
    container_position text,
    extension_type     text,
    width_pixels       integer,
    height_pixels      integer,
    width_inches       double precision,
    height_inches      double precision,
    file_size_mb       double precision,
    barcode_count      integer,
    qrcode_count       integer,
    image_url          text,
    PRIMARY KEY (ttb_id, position)
);

COMMENT ON TABLE cola_images IS 'The images of each label.';
COMMENT ON COLUMN cola_images.position IS 'In the label''s list, from 0.';

CREATE TABLE cola_barcodes (
    ttb_id                  bigint  NOT NULL REFERENCES colas ON DELETE CASCADE,
    position                integer NOT NULL,
    barcode_value           text    NOT NULL,
    barcode_type            text,
    ttb_image_id            text,
    width_pixels            integer,
    height_pixels           integer,
    orientation             text,
    relative_image_position text,
    PRIMARY KEY (ttb_id, position)
);

COMMENT ON TABLE cola_barcodes IS 'The barcodes read off each label''s images.';
COMMENT ON COLUMN cola_barcodes.position IS 'In the label''s list, from 0.';

CREATE TABLE permittees (
    permit_number    text    COLLATE "C" PRIMARY KEY,
    revision         bigint  NOT NULL,
    company_name     text,
    operating_name   text,
    company_state    text,
    company_zip_code text,
    permittee_type   text,
    listed           boolean NOT NULL,
    from_labels      boolean NOT NULL
);

COMMENT ON TABLE permittees IS 'Permit holders.';
COMMENT ON COLUMN permittees.company_name IS 'Owner.';
COMMENT ON COLUMN permittees.operating_name IS 'Trade name.';
COMMENT ON COLUMN permittees.listed IS 'On TTB''s current list.';
COMMENT ON COLUMN permittees.from_labels IS 'Only ever seen on labels, which may fill in what is unknown.';

CREATE INDEX permittees_by_revision ON permittees (revision);
