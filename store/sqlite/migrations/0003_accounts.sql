-- Accounts and their API keys.

-- +goose Up

CREATE TABLE accounts (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused, even if rows are deleted manually
    email        TEXT    NOT NULL,                  -- as entered
    email_folded TEXT    NOT NULL UNIQUE,           -- in lower case, for comparison
    tier         TEXT    NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id   INTEGER NOT NULL REFERENCES accounts,
    hash         BLOB    NOT NULL UNIQUE, -- SHA-256 of the complete key
    name         TEXT    NOT NULL,
    prefix       TEXT    NOT NULL,
    last_four    TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    expires_at   INTEGER
) STRICT;

CREATE INDEX api_keys_by_account ON api_keys (account_id);
