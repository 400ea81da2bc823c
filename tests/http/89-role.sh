#!/bin/bash
# The role that kindex serve --engine has in the database: one as managed services give it
# (no superuser, no right to end sessions of other roles) suffices, also in a schema that
# an administrator has made. Every other story of the engine has such a role, too.
ENGINE=bdb # this story says itself which server has which database
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/nodes.sh"
have_nodes one two

# as ROLE SQL
as() {
    psql --no-psqlrc --quiet --tuples-only --no-align --host="$KX_POSTGRES" --username="$1" \
        --dbname=store --command="$2" 2>&1
}
# with_role ROLE: the address of nodes that are started from now on
with_role() {
    address=${address/\/\/*@/\/\/$1@}
}

test_case 'the role of the tests has no right beyond its own tables'
is 'its attributes' "$(postgres_query store "SELECT rolsuper, rolcreatedb, rolcreaterole,
    rolreplication, rolbypassrls FROM pg_roles WHERE rolname = 'app'")" 'f|f|f|f|f'
is 'its memberships' "$(postgres_query store "SELECT count(*) FROM pg_auth_members
    WHERE member = 'app'::regrole")" 0

test_case 'a role that may not create a schema is told so'
postgres_query store 'CREATE ROLE tenant LOGIN; GRANT CONNECT ON DATABASE store TO tenant'
with_role tenant
timeout "$longest" "$KINDEX" serve --listen 0 --engine "$address" >"$work/refused" 2>&1
is 'its exit status' $? 1
is 'what it says' "$(grep -c '^kindex: .*permission denied for database store' "$work/refused")" 1

test_case 'it needs no right to create schemas if an administrator has made its schema'
postgres_query store 'CREATE SCHEMA kindex AUTHORIZATION tenant'
is 'its right' "$(as tenant 'CREATE SCHEMA other' | grep -c 'permission denied')" 1
node_start one
at one
answers 201 PUT /kv/people/1 '{"name":"Ada"}'
request POST /indexes '{"name":"names","prefix":["people"],"fields":["/name"]}'
until_field '[.entries[].value.name]' '["Ada"]' GET '/list?index=names'

# tables_of tenant belong to deputy as well, but tenant may not end sessions of deputy.
test_case 'a node whose session another role may not end loses the store when it is frozen'
node_end one TERM
postgres_query store 'CREATE ROLE deputy LOGIN IN ROLE tenant; GRANT CONNECT ON DATABASE store TO deputy'
with_role deputy
node_start one
at one
answers 200 PUT /kv/people/1 '{"name":"Bob"}'
is 'the session' "$(as tenant "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE usename = 'deputy'" | grep -c 'permission denied\|must be a member')" 1
with_role tenant
node_start two
signal one STOP
at two
until_status 200 PUT /kv/people/1 '{"name":"Cyd"}'
header Kindex-Node two
signal one CONT
at one
until_status 200 PUT /kv/people/2 '{"name":"Dan"}'
KX_RECORD= until_field '[.entries[].value.name]' '["Cyd","Dan"]' GET '/list?prefix=people'

test_case 'with pg_monitor the metrics show transactions of other roles'
postgres_query store 'GRANT pg_monitor TO tenant, deputy'
as kindex 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM kindex.meta; SELECT pg_sleep(600)' >"$work/session" &
is_shown() {
    request GET /metrics
    awk '$1 == "kindex_database_oldest_transaction_seconds" { age = $2 } END { exit !(age > 1) }' "$answer"
}
at two
wait_until is_shown
is_shown
is 'the age of the transaction' "$?" 0
postgres_query store "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE wait_event = 'PgSleep'" >"$work/null"
wait $!

finish
