#!/bin/sh
# Runs once, when the primary's database is created. It lets the standby replicate and makes commits wait for it.
set -eu
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'password';
SELECT pg_create_physical_replication_slot('standby');
-- Takes effect at the next start, so that this setup doesn't wait for the standby.
ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (standby)';
SQL
echo "host replication replicator all scram-sha-256" >>"$PGDATA/pg_hba.conf"
