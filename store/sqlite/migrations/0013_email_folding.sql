-- Compare email addresses by ASCII letter case only. Earlier versions folded by Unicode, so an address with a Kelvin sign was equal
-- to the ASCII one with a k. Fold existing addresses again; lower() changes ASCII letters only. Identity names are not addresses.

-- +goose Up

UPDATE accounts SET email_folded = lower(email) WHERE email_folded <> lower(email) AND email NOT LIKE '%://%#%';

UPDATE destinations SET address_folded = lower(address) WHERE kind = 'email' AND address_folded <> lower(address);
