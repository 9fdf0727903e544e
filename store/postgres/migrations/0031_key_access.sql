-- What an API key permits: scopes and networks. Existing keys keep every scope.

-- +goose Up

ALTER TABLE api_keys ADD COLUMN scopes text[] DEFAULT '{saved_searches:write}', ADD COLUMN networks text;

COMMENT ON COLUMN api_keys.scopes IS 'Besides reading; NULL for none.';
COMMENT ON COLUMN api_keys.networks IS 'CIDR blocks, separated by commas; NULL for any.';
