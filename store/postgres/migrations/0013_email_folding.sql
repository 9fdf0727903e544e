-- Compare email addresses by ASCII letter case only. Earlier versions folded by Unicode, so an address with a Kelvin sign was equal
-- to the ASCII one with a k. Fold existing addresses again; lower() with collation "C" changes ASCII letters only. Identity names
-- are not addresses.

-- +goose Up

UPDATE accounts SET email_folded = lower(email COLLATE "C") WHERE email_folded <> lower(email COLLATE "C") AND email NOT LIKE '%://%#%';

UPDATE destinations SET address_folded = lower(address COLLATE "C") WHERE kind = 'email' AND address_folded <> lower(address COLLATE "C");

COMMENT ON COLUMN accounts.email_folded IS 'The address with ASCII letters in lower case, for comparison. Unique.';

-- Processes of an earlier version still fold by Unicode while they are replaced.
-- +goose StatementBegin
CREATE FUNCTION fold_email() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.email NOT LIKE '%://%#%' THEN
        NEW.email_folded = lower(NEW.email COLLATE "C");
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION fold_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.kind = 'email' THEN
        NEW.address_folded = lower(NEW.address COLLATE "C");
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER fold_accounts BEFORE INSERT OR UPDATE OF email, email_folded ON accounts FOR EACH ROW EXECUTE FUNCTION fold_email();
CREATE TRIGGER fold_destinations BEFORE INSERT OR UPDATE OF address, address_folded ON destinations FOR EACH ROW EXECUTE FUNCTION fold_address();
