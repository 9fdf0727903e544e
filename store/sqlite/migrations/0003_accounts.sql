-- Accounts and their API keys.

-- +goose Up

CREATE TABLE accounts (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- an id is never given twice, whatever is deleted by hand
    email        TEXT    NOT NULL,                  -- as given
    email_folded TEXT    NOT NULL UNIQUE,           -- lower case: what makes it unique
    tier         TEXT    NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id   INTEGER NOT NULL REFERENCES accounts,
    hash         BLOB    NOT NULL UNIQUE, -- SHA-256 of the whole key
    name         TEXT    NOT NULL,
    prefix       TEXT    NOT NULL,
    last_four    TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    expires_at   INTEGER
) STRICT;

CREATE INDEX api_keys_by_account ON api_keys (account_id);
