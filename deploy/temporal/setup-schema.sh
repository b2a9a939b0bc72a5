#!/bin/sh
# One-shot: creates Temporal's two databases and brings their schemas up to date. Every step may be repeated.
# Connection settings come from the tool's own SQL_* variables.
set -eu

for pair in temporal:temporal temporal_visibility:visibility; do
  database=${pair%%:*}
  schema=postgresql/v12/${pair##*:}
  echo "database ${database}, schema ${schema}"
  temporal-sql-tool --db "${database}" create-database
  temporal-sql-tool --db "${database}" setup-schema --version 0.0
  temporal-sql-tool --db "${database}" update-schema --schema-name "${schema}"
done
echo 'schemas are up to date'
