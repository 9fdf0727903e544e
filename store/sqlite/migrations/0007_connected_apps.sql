-- Identities at token issuers, apps, and the accounts that apps are connected to.

-- +goose Up

-- Identities of account holders at token issuers. An account may have several.
CREATE TABLE identities (
    issuer     TEXT    NOT NULL, -- URL, exactly as in the tokens
    subject    TEXT    NOT NULL, -- unique and never reused at the issuer; case-sensitive
    account_id INTEGER NOT NULL REFERENCES accounts,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE apps (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    issuer      TEXT    NOT NULL,
    client_id   TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    scopes      TEXT,             -- scopes that the app may have at most, in addition to reading
    created_at  INTEGER NOT NULL,
    disabled_at INTEGER,
    UNIQUE (issuer, client_id)
) STRICT;

-- Apps connected to accounts. A link is a credential. Tokens are not stored.
CREATE TABLE links (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id   INTEGER NOT NULL REFERENCES accounts,
    app_id       INTEGER NOT NULL REFERENCES apps,
    scopes       TEXT,            -- scopes of the latest token
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    UNIQUE (account_id, app_id)
) STRICT;
