-- Email addresses are compared by ASCII letter case alone. Earlier versions folded by Unicode, so that an address with a Kelvin sign
-- was equal to the ASCII one with a k. Whatever they folded is folded again; lower() of the collation "C" changes ASCII letters only.
-- Identity names are not addresses.

-- +goose Up

UPDATE accounts SET email_folded = lower(email COLLATE "C") WHERE email_folded <> lower(email COLLATE "C") AND email NOT LIKE '%://%#%';

UPDATE destinations SET address_folded = lower(address COLLATE "C") WHERE kind = 'email' AND address_folded <> lower(address COLLATE "C");

COMMENT ON COLUMN accounts.email_folded IS 'By which the address is compared: ASCII letters in lower case. Unique.';
