-- What an API key permits: scopes and networks. Existing keys keep every scope.

-- +goose Up

ALTER TABLE api_keys ADD COLUMN scopes TEXT DEFAULT '["saved_searches:write"]'; -- besides reading; NULL for none
ALTER TABLE api_keys ADD COLUMN networks TEXT; -- CIDR blocks, separated by commas; NULL for any
