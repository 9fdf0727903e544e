-- Compare email addresses by ASCII letter case only. Earlier versions folded by Unicode, so an address with a Kelvin sign was equal
-- to the ASCII one with a k. Fold existing addresses again; lower() changes ASCII letters only. Identity names are not addresses.

-- +goose Up

UPDATE accounts SET email_folded = lower(email) WHERE email_folded <> lower(email) AND email NOT LIKE '%://%#%';

UPDATE destinations SET address_folded = lower(address) WHERE kind = 'email' AND address_folded <> lower(address);

-- Processes of an earlier version still fold by Unicode while they are replaced.

-- +goose StatementBegin
CREATE TRIGGER fold_new_accounts AFTER INSERT ON accounts WHEN new.email NOT LIKE '%://%#%' AND new.email_folded <> lower(new.email)
BEGIN
    UPDATE accounts SET email_folded = lower(email) WHERE id = new.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER fold_changed_accounts AFTER UPDATE OF email, email_folded ON accounts WHEN new.email NOT LIKE '%://%#%' AND new.email_folded <> lower(new.email)
BEGIN
    UPDATE accounts SET email_folded = lower(email) WHERE id = new.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER fold_new_destinations AFTER INSERT ON destinations WHEN new.kind = 'email' AND new.address_folded <> lower(new.address)
BEGIN
    UPDATE destinations SET address_folded = lower(address) WHERE id = new.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER fold_changed_destinations AFTER UPDATE OF address, address_folded ON destinations WHEN new.kind = 'email' AND new.address_folded <> lower(new.address)
BEGIN
    UPDATE destinations SET address_folded = lower(address) WHERE id = new.id;
END;
-- +goose StatementEnd
