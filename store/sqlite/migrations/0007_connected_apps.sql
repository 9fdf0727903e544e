-- Who issuers of tokens say somebody is, the apps that may act for accounts, and which app acts for which account.

-- +goose Up

-- The account of everybody whom an issuer of tokens knows. An account may have several.
CREATE TABLE identities (
    issuer     TEXT    NOT NULL, -- URL, exactly as its tokens name it
    subject    TEXT    NOT NULL, -- never given to another by the issuer; letter case counts
    account_id INTEGER NOT NULL REFERENCES accounts,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE apps (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    issuer      TEXT    NOT NULL,
    client_id   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    scopes      TEXT,             -- that the app may hold at most; besides them it reads
    created_at  INTEGER NOT NULL,
    disabled_at INTEGER,
    UNIQUE (issuer, client_id)
) STRICT;

-- Which app acts for which account. A link is a credential, and keeps no token.
CREATE TABLE links (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id   INTEGER NOT NULL REFERENCES accounts,
    app_id       INTEGER NOT NULL REFERENCES apps,
    scopes       TEXT,            -- that the latest token brought
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    UNIQUE (account_id, app_id)
) STRICT;
