#!/bin/bash
# A database is restored by pgBackRest to a point before the last commits: nodes that have
# seen them stop until the loss is accepted, and then serve the restored state.
ENGINE=bdb # this story says itself which server has which database
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/nodes.sh"
needs pgbackrest
have_nodes one two

backups=$KX_POSTGRES/backups
rest() { # WORD...
    as_postgres pgbackrest --config="$backups/settings" --stanza=store "$@" \
        >>"$work/pgbackrest" 2>&1 || { cat "$work/pgbackrest" && exit 1; }
}
as_postgres mkdir "$backups" || exit 1
cat >"$backups/settings" <<END
[global]
repo1-path=$backups
repo1-retention-full=1
lock-path=$backups/lock
spool-path=$backups/spool
log-level-file=off
log-level-console=warn
[store]
pg1-path=$KX_POSTGRES/data
pg1-socket-path=$KX_POSTGRES
pg1-user=kindex
END
postgres_query postgres 'ALTER SYSTEM SET archive_mode = on' >"$work/null"
postgres_query postgres "ALTER SYSTEM SET archive_command = 'pgbackrest --config=$backups/settings --stanza=store archive-push %p'"
postgres_stop fast && postgres_resume || exit 1
rest stanza-create

test_case 'a backup is taken while nodes serve'
node_start one
node_start two
at one
answers 201 PUT /kv/people/1 '{"name":"Ada"}'
request POST /indexes '{"name":"names","prefix":["people"],"fields":["/name"],"unique":true}'
until_field '[.entries[].value.name]' '["Ada"]' GET '/list?index=names'
rest --type=full backup
answers 201 PUT /kv/people/2 '{"name":"Bob"}'
kept=$(jq -c .versionstamp "$answer")
postgres_query postgres "SELECT pg_create_restore_point('before')" >"$work/null"
answers 201 PUT /kv/people/3 '{"name":"Cyd"}'
lost=$(jq .versionstamp "$answer")
at two
until_field '[.nodes[].batch] | unique | length' 1 GET /cluster

test_case 'after a restore to an earlier point, no node is active, and all say why'
postgres_query postgres 'SELECT pg_switch_wal()' >"$work/null"
postgres_stop fast
rest --delta --type=name --target=before --target-action=promote restore
postgres_resume || exit 1
for name in one two; do
    at $name
    until_status 503 GET /kv/people/1
    until_field '.detail | contains("accept-loss")' true GET /kv/people/1
done

test_case 'when the loss is accepted, a node serves the restored entries and indexes'
kindex cluster accept-loss --engine "$address"
ends 0
KX_RECORD= until_status 200 GET /kv/people/2
field .name Bob
answers 404 key-not-found GET /kv/people/3
gives '[.entries[].value.name]' '["Ada","Bob"]' GET '/list?prefix=people'
gives '[.entries[].value.name]' '["Ada","Bob"]' GET '/list?index=names'
request GET /kv/people/2
header ETag "$kept"

test_case 'new versionstamps are above those that were lost'
answers 201 PUT /kv/people/3 '{"name":"Dan"}'
field ".versionstamp > $lost" true

finish
