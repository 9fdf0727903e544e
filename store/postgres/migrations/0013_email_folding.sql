-- Compare email addresses by ASCII letter case only. Earlier versions folded by Unicode, so an address with a Kelvin sign was equal
-- to the ASCII one with a k. Fold existing addresses again; lower() with collation "C" changes ASCII letters only. Identity names
-- are not addresses.

-- +goose Up

UPDATE accounts SET email_folded = lower(email COLLATE "C") WHERE email_folded <> lower(email COLLATE "C") AND email NOT LIKE '%://%#%';

UPDATE destinations SET address_folded = lower(address COLLATE "C") WHERE kind = 'email' AND address_folded <> lower(address COLLATE "C");

COMMENT ON COLUMN accounts.email_folded IS 'The address with ASCII letters in lower case, for comparison. Unique.';
