-- Email addresses are compared by ASCII letter case alone. Earlier versions folded by Unicode, so that an address with a Kelvin sign
-- was equal to the ASCII one with a k. Whatever they folded is folded again; lower() changes ASCII letters only. Identity names are not addresses.

-- +goose Up

UPDATE accounts SET email_folded = lower(email) WHERE email_folded <> lower(email) AND email NOT LIKE '%://%#%';

UPDATE destinations SET address_folded = lower(address) WHERE kind = 'email' AND address_folded <> lower(address);
