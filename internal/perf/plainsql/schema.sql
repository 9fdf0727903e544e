-- The tables that plain SQL searches, as we would write them if PostgreSQL were to answer the searches by itself: one row a
-- label, everything that is searched or shown in it, and an index for every kind of question. Each step is timed.

-- name: functions
CREATE EXTENSION unaccent;
CREATE EXTENSION pg_trgm;
CREATE EXTENSION pg_prewarm;

-- plain spells a text as it is compared: lower case, without accents and apostrophes, white space made one space. It is declared
-- immutable, which unaccent is as long as nobody edits its rules, so that it may stand in generated columns.
CREATE FUNCTION plain(t text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT btrim(regexp_replace(lower(public.unaccent('public.unaccent'::regdictionary,
        translate(t, '''`´‘’‛′‵ʹʻʼʽ＇', ''))), '\s+', ' ', 'g'))
$$;

-- words_of splits a text into words, which are runs of letters and digits. The parser of to_tsvector would keep hosts, paths
-- and numbers with a sign together; given only words and spaces it does not.
CREATE FUNCTION words_of(t text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT to_tsvector('simple', regexp_replace(plain(t), '[^[:alnum:]]+', ' ', 'g'))
$$;

-- name: tables
-- What is read from the service's store, as it comes.
CREATE UNLOGGED TABLE incoming_labels (
    ttb_id bigint, brand_name text, product_name text, product_type text, class_name text, origin_name text, permit_number text,
    application_status text, approval_date date, image_count int, has_barcode boolean, application_date date,
    container_type text, category_path text, abv double precision, address_recipient text
);
CREATE UNLOGGED TABLE incoming_barcodes (gtin bigint, ttb_id bigint);
CREATE UNLOGGED TABLE incoming_permittees (
    permit_number text, company_name text, operating_name text, company_state text, company_zip_code text, permittee_type text,
    listed boolean
);

-- Brands are a table of their own: a part of a brand is looked for among the distinct names, which are far fewer than labels.
CREATE TABLE brands (
    brand_id    int  PRIMARY KEY,
    brand_name  text COLLATE "C" NOT NULL UNIQUE,
    brand_plain text COLLATE "C" NOT NULL GENERATED ALWAYS AS (plain(brand_name)) STORED
);

-- A label, with its brand's name and its applicant's names beside it: no search has to join to find or to show it.
-- Text is compared by bytes (COLLATE "C"), which is quicker and all that equality needs.
CREATE TABLE labels (
    ttb_id             bigint NOT NULL,
    approval_date      date,
    abv                double precision,
    brand_id           int NOT NULL,
    image_count        int,
    has_barcode        boolean NOT NULL,
    product_type       text COLLATE "C" NOT NULL,
    category_root      text COLLATE "C", -- first level of category_path
    container_type     text COLLATE "C",
    origin_name        text COLLATE "C",
    application_status text COLLATE "C",
    permit_number      text COLLATE "C" NOT NULL,
    brand_name         text COLLATE "C" NOT NULL,
    product_name       text COLLATE "C",
    class_name         text COLLATE "C",
    company            text COLLATE "C" NOT NULL, -- applicant, owner and trade name, each where it differs
    brand_plain        text COLLATE "C" NOT NULL GENERATED ALWAYS AS (plain(brand_name)) STORED,
    words              tsvector NOT NULL GENERATED ALWAYS AS (words_of(brand_name || ' ' || coalesce(product_name, '') || ' ' ||
                           coalesce(class_name, '') || ' ' || permit_number || ' ' || company)) STORED
);

-- Every word of every dated label, a row each: what the full-text index cannot do is told at the index below.
CREATE TABLE label_words (word text COLLATE "C" NOT NULL, approval_date date NOT NULL, ttb_id bigint NOT NULL);

-- Every barcode of a label by its number, with the date to sort by.
CREATE TABLE label_barcodes (gtin bigint NOT NULL, approval_date date, ttb_id bigint NOT NULL);

-- Permittees, with the counts and dates that a trigger on labels would keep.
CREATE TABLE permittees (
    permit_number    text COLLATE "C" PRIMARY KEY,
    company_name     text, operating_name text, company_state text, company_zip_code text, permittee_type text,
    listed           boolean NOT NULL,
    colas            int NOT NULL,
    colas_approved   int NOT NULL,
    last_application date,
    last_approval    date,
    names_plain      text COLLATE "C" NOT NULL GENERATED ALWAYS AS
                         (plain(coalesce(company_name, '')) || E'\n' || plain(coalesce(operating_name, ''))) STORED
);

-- name: fill
INSERT INTO brands (brand_id, brand_name)
SELECT row_number() OVER (ORDER BY brand_name COLLATE "C"), brand_name FROM incoming_labels GROUP BY brand_name;

INSERT INTO permittees
SELECT p.permit_number, p.company_name, p.operating_name, p.company_state, p.company_zip_code, p.permittee_type, p.listed,
       coalesce(c.n, 0), coalesce(c.approved, 0), c.last_application, c.last_approval
FROM incoming_permittees p LEFT JOIN (
    SELECT permit_number, count(*) AS n, count(*) FILTER (WHERE application_status = 'approved') AS approved,
           max(application_date) AS last_application, max(approval_date) AS last_approval
    FROM incoming_labels GROUP BY permit_number
) c USING (permit_number);

-- In the order of approval, as they come in over the years: the labels of one page, and those of a date window, lie side by
-- side, and new ones go to the end.
INSERT INTO labels (ttb_id, approval_date, abv, brand_id, image_count, has_barcode, product_type, category_root, container_type,
                    origin_name, application_status, permit_number, brand_name, product_name, class_name, company)
SELECT ttb_id, approval_date, abv, brand_id, image_count, has_barcode, product_type, split_part(category_path, ' > ', 1),
       container_type, origin_name, application_status, permit_number, brand_name, product_name, class_name,
       concat_ws(' ', address_recipient, nullif(p.company_name, address_recipient), p.operating_name)
FROM incoming_labels JOIN brands USING (brand_name) LEFT JOIN permittees p USING (permit_number)
ORDER BY approval_date NULLS FIRST, ttb_id;

INSERT INTO label_words
SELECT word, approval_date, ttb_id FROM labels, unnest(tsvector_to_array(words)) AS word WHERE approval_date IS NOT NULL;

INSERT INTO label_barcodes
SELECT DISTINCT gtin, approval_date, ttb_id FROM incoming_barcodes JOIN incoming_labels USING (ttb_id)
ORDER BY gtin, approval_date NULLS FIRST, ttb_id;

DROP TABLE incoming_labels, incoming_barcodes, incoming_permittees;

-- name: indexes
-- A label by its id, and the rest of a row whose id was found in another index.
ALTER TABLE labels ADD PRIMARY KEY (ttb_id);

-- The order of every answer: pages are ranges of it (keyset pagination). It carries what is filtered by, so that filters are
-- checked, and matches counted, in the index alone.
CREATE INDEX labels_newest ON labels (approval_date DESC NULLS LAST, ttb_id DESC)
    INCLUDE (product_type, category_root, container_type, origin_name, abv, brand_id);

-- Words. fastupdate would leave new words in a list that every search has to read. Every search asks for a date, which labels
-- without one do not have: they are left out.
CREATE INDEX labels_words ON labels USING gin (words) WITH (fastupdate = off) WHERE approval_date IS NOT NULL;

-- Words of recent labels, for the default window: an index of a tenth of the size. A job would make it anew each month.
CREATE INDEX labels_words_recent ON labels USING gin (words) WITH (fastupdate = off) WHERE approval_date >= {recent};

-- The full-text index knows neither dates nor what is visible: each match is looked up in the table to be counted or put in
-- order. This one holds the labels of a word in the order of the answer, so that pages and totals are read from it alone, and
-- two words are a merge of two ranges of it. It costs a row for every word of every label.
CREATE INDEX label_words_newest ON label_words (word, approval_date DESC, ttb_id DESC);

-- Parts of a brand: trigrams of the labels' own names, and of the distinct ones.
CREATE INDEX labels_brand ON labels USING gin (brand_plain gin_trgm_ops) WITH (fastupdate = off) WHERE approval_date IS NOT NULL;
CREATE INDEX brands_plain ON brands USING gin (brand_plain gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX labels_of_brand ON labels (brand_id, approval_date DESC NULLS LAST, ttb_id DESC);

-- The common filters, each in the order of the answer.
CREATE INDEX labels_permit ON labels (permit_number, approval_date DESC NULLS LAST, ttb_id DESC);
CREATE INDEX labels_origin ON labels (origin_name, approval_date DESC NULLS LAST, ttb_id DESC) INCLUDE (product_type);

-- Filters that are often used together.
CREATE INDEX labels_kind ON labels (origin_name, category_root, container_type, approval_date DESC NULLS LAST, ttb_id DESC);
CREATE INDEX labels_strength ON labels (container_type, abv, approval_date DESC NULLS LAST, ttb_id DESC);

CREATE INDEX label_barcodes_gtin ON label_barcodes (gtin, approval_date DESC NULLS LAST, ttb_id DESC);

CREATE INDEX permittees_names ON permittees USING gin (names_plain gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX permittees_ranked ON permittees (colas DESC, permit_number);

-- name: statistics
-- A word's frequency decides between walking the newest labels and reading the word's own list: know many words.
ALTER TABLE labels ALTER COLUMN words SET STATISTICS 2000;
ALTER TABLE labels ALTER COLUMN brand_plain SET STATISTICS 2000;
ALTER TABLE label_words ALTER COLUMN word SET STATISTICS 5000;
ALTER TABLE brands ALTER COLUMN brand_plain SET STATISTICS 2000;
ALTER TABLE labels ALTER COLUMN origin_name SET STATISTICS 1000;
ALTER TABLE labels ALTER COLUMN permit_number SET STATISTICS 1000;
-- What is bottled, where it comes from and what it is depend on one another.
CREATE STATISTICS labels_kinds (mcv, dependencies) ON product_type, category_root, container_type, origin_name FROM labels;

-- name: vacuum
-- The visibility map lets counts stay in the indexes.
VACUUM (ANALYZE, FREEZE) labels;
VACUUM (ANALYZE, FREEZE) label_words;
VACUUM (ANALYZE, FREEZE) brands;
VACUUM (ANALYZE, FREEZE) label_barcodes;
VACUUM (ANALYZE, FREEZE) permittees;
CHECKPOINT;

-- name: prewarm
-- All but the table of words, of which the index is enough.
SELECT sum(pg_prewarm(oid)) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i') AND relname <> 'label_words'
