-- The questions in plain SQL. A class of questions has a condition, which the frames make statements of, or statements of its own,
-- or both; a name that stands twice has two ways, and the quicker one is taken after both were measured.
-- Names with an at sign are the parameters.

-- name: frame.page
-- The page alone. One row more than a page tells whether there are more.
SELECT {summary} FROM labels WHERE {where}
ORDER BY approval_date DESC NULLS LAST, ttb_id DESC LIMIT 21

-- name: frame.page
-- The rows of the page are looked up after their ids were found in an index that has all that is filtered by.
SELECT {summary} FROM (SELECT ttb_id FROM labels WHERE {where} ORDER BY approval_date DESC NULLS LAST, ttb_id DESC LIMIT 21) page
JOIN labels USING (ttb_id) ORDER BY approval_date DESC NULLS LAST, ttb_id DESC

-- name: frame.count
-- The total, asked in the same round trip as the page.
SELECT count(*) FROM labels WHERE {where}

-- name: frame.whole
-- Page and total at once, by a window function.
SELECT {summary}, count(*) OVER () FROM labels WHERE {where}
ORDER BY approval_date DESC NULLS LAST, ttb_id DESC LIMIT 21

-- name: frame.whole
-- The same, but only ids and dates are gathered, and the rows of the page looked up after.
WITH found AS MATERIALIZED (SELECT approval_date, ttb_id FROM labels WHERE {where}),
     page AS (SELECT ttb_id FROM found ORDER BY approval_date DESC NULLS LAST, ttb_id DESC LIMIT 21)
SELECT {summary}, (SELECT count(*) FROM found) FROM page JOIN labels USING (ttb_id)
ORDER BY approval_date DESC NULLS LAST, ttb_id DESC

-- name: browse.where
approval_date >= @from

-- name: recent word.where
approval_date >= @from AND words @@ to_tsquery('simple', @words)

-- name: recent word.page
-- From the table of words.
SELECT {summary} FROM (
    SELECT ttb_id FROM label_words WHERE word = @word AND approval_date >= @from ORDER BY approval_date DESC, ttb_id DESC LIMIT 21) page
JOIN labels USING (ttb_id) ORDER BY approval_date DESC NULLS LAST, ttb_id DESC

-- name: recent word.count
SELECT count(*) FROM label_words WHERE word = @word AND approval_date >= @from

-- name: word, two words, prefix.where
-- All dates: every dated label.
approval_date IS NOT NULL AND words @@ to_tsquery('simple', @words)

-- name: word, two words, prefix.page
-- Never the walk through the newest: the plus keeps its index out.
SELECT {summary} FROM labels WHERE approval_date IS NOT NULL AND words @@ to_tsquery('simple', @words)
ORDER BY approval_date + 0 DESC NULLS LAST, ttb_id DESC LIMIT 21

-- name: word.page
-- From the table of words.
SELECT {summary} FROM (
    SELECT ttb_id FROM label_words WHERE word = @word ORDER BY approval_date DESC, ttb_id DESC LIMIT 21) page
JOIN labels USING (ttb_id) ORDER BY approval_date DESC NULLS LAST, ttb_id DESC

-- name: word, walk.count
SELECT count(*) FROM label_words WHERE word = @word

-- name: two words.page
-- From the table of words: both ranges are in the order of the answer, and are merged no further than the page.
SELECT {summary} FROM (
    SELECT ttb_id FROM label_words a JOIN label_words b USING (approval_date, ttb_id) WHERE a.word = @word AND b.word = @other_word
    ORDER BY approval_date DESC, ttb_id DESC LIMIT 21) page
JOIN labels USING (ttb_id) ORDER BY approval_date DESC NULLS LAST, ttb_id DESC

-- name: two words.count
SELECT count(*) FROM label_words a JOIN label_words b USING (approval_date, ttb_id) WHERE a.word = @word AND b.word = @other_word

-- name: prefix.page
-- From the table of words: a label may have several that begin so.
WITH page AS (
    SELECT DISTINCT approval_date AS approved, ttb_id FROM label_words WHERE word LIKE @prefix ORDER BY approved DESC, ttb_id DESC LIMIT 21)
SELECT {summary} FROM page JOIN labels USING (ttb_id) ORDER BY approval_date DESC NULLS LAST, ttb_id DESC

-- name: prefix.count
SELECT count(*) FROM (SELECT DISTINCT ttb_id FROM label_words WHERE word LIKE @prefix) found

-- name: brand.where
approval_date IS NOT NULL AND brand_plain LIKE @brand

-- name: brand.page
-- By way of the distinct brands.
SELECT {summary} FROM labels
WHERE approval_date IS NOT NULL AND brand_id = ANY (ARRAY(SELECT brand_id FROM brands WHERE brand_plain LIKE @brand))
ORDER BY approval_date + 0 DESC NULLS LAST, ttb_id DESC LIMIT 21

-- name: brand.count
-- By way of the distinct brands.
SELECT count(*) FROM labels
WHERE approval_date IS NOT NULL AND brand_id = ANY (ARRAY(SELECT brand_id FROM brands WHERE brand_plain LIKE @brand))

-- name: brand.count
-- The same as a join, which the planner may hash.
SELECT count(*) FROM labels JOIN brands USING (brand_id) WHERE approval_date IS NOT NULL AND brands.brand_plain LIKE @brand

-- name: permit.where
approval_date IS NOT NULL AND permit_number = @permit

-- name: facets.where
approval_date IS NOT NULL AND origin_name = ANY (@origins) AND category_root = ANY (@roots) AND container_type = ANY (@containers)

-- name: recent facets.where
approval_date >= @from AND origin_name = ANY (@origins) AND product_type = ANY (@types)

-- name: strength.where
approval_date >= @from AND abv BETWEEN @abv_min AND @abv_max AND container_type = ANY (@containers)

-- name: walk.page
-- Keyset pagination: what comes after the last row of the page before.
SELECT {summary} FROM labels
WHERE words @@ to_tsquery('simple', @words) AND approval_date IS NOT NULL AND (approval_date, ttb_id) < (@after_date, @after_id)
ORDER BY approval_date DESC NULLS LAST, ttb_id DESC LIMIT 21

-- name: walk.page
-- The same in the table of words.
SELECT {summary} FROM (
    SELECT ttb_id FROM label_words WHERE word = @word AND (approval_date, ttb_id) < (@after_date, @after_id)
    ORDER BY approval_date DESC, ttb_id DESC LIMIT 21) page
JOIN labels USING (ttb_id) ORDER BY approval_date DESC NULLS LAST, ttb_id DESC

-- name: walk.count
-- Of all pages, not of those that follow.
SELECT count(*) FROM labels WHERE approval_date IS NOT NULL AND words @@ to_tsquery('simple', @words)

-- name: barcode.page
-- A number that abbreviates another stands for both, so a label may be found twice.
SELECT {summary} FROM labels WHERE ttb_id IN (SELECT ttb_id FROM label_barcodes WHERE gtin = ANY (@gtins))
ORDER BY approval_date DESC NULLS LAST, ttb_id DESC LIMIT 100

-- name: barcode.page
-- In the order of the index of barcodes, a hundred of them at most, and then their labels.
SELECT {summary} FROM labels WHERE ttb_id IN (
    SELECT ttb_id FROM label_barcodes WHERE gtin = ANY (@gtins) GROUP BY approval_date, ttb_id
    ORDER BY approval_date DESC NULLS LAST, ttb_id DESC LIMIT 100)
ORDER BY approval_date DESC NULLS LAST, ttb_id DESC LIMIT 100

-- name: barcode.count
SELECT count(DISTINCT ttb_id) FROM label_barcodes WHERE gtin = ANY (@gtins)

-- name: permittee.page
SELECT {permittee} FROM permittees WHERE names_plain LIKE @name ORDER BY colas DESC, permit_number LIMIT 21

-- name: permittee.count
SELECT count(*) FROM permittees WHERE names_plain LIKE @name

-- name: permittee.whole
SELECT {permittee}, count(*) OVER () FROM permittees WHERE names_plain LIKE @name ORDER BY colas DESC, permit_number LIMIT 21
