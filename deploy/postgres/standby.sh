#!/bin/sh
# Starts a standby, the first time from a copy of the primary, after that from its own data.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE") pg_basebackup --pgdata "$PGDATA" --write-recovery-conf --slot standby --checkpoint fast \
    --dbname "host=primary user=replicator application_name=standby"
  # After a promotion, the server must not wait for another standby.
  sed -i '/^synchronous_standby_names/d' "$PGDATA/postgresql.auto.conf"
  chmod 0700 "$PGDATA"
fi
exec "$@"
