#!/bin/bash
# kindex engine copy: a store from a data directory into a PostgreSQL database and
# back is the same store. A copy that was interrupted is not taken for one.
ENGINE=bdb # this story says itself which server has which place
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
own_database
database=$found
postgres_database empty || exit 1
empty=$found

copy() { # FROM TO
    kindex engine copy --from "$1" --to "$2"
}
# refuses FROM TO PATTERN
refuses() {
    copy "$1" "$2"
    ends 1
    complains "$3"
}
# What a store shows: everything, and what it says of its indexes and tokens.
describe() { # NAME
    "$KINDEX" export --all >"$work/$1.entries" 2>"$work/null"
    "$KINDEX" index ls -o json | jq -c '[.name, .state, .entries, .unique, .store]' >"$work/$1.indexes"
    "$KINDEX" token ls -o json | jq -c 'del(.lastUsedAt?)' >"$work/$1.tokens"
}
serve() {
    start_server "$@"
    export KINDEX_URL=$url
}
same() { # NAME NAME
    local part
    for part in entries indexes tokens; do
        is "the same $part" "$(cmp "$work/$1.$part" "$work/$2.$part" && wc -l <"$work/$1.$part")" \
            "$(wc -l <"$work/$2.$part")"
    done
}

test_case 'a data directory gets entries of all kinds, indexes, expiries, tokens and an outcome'
serve
request POST /indexes '{"name":"by_age","prefix":["people"],"fields":["/age"]}'
request POST /indexes '{"name":"by_mail","prefix":["people"],"fields":["/mail"],"unique":true}'
request POST /indexes '{"name":"by_name","prefix":["people"],"fields":["/name"],"store":"value"}'
for ((n = 0; n < 12000; n++)); do
    echo "{\"key\":[\"people\",$n],\"value\":{\"name\":\"N$((n % 91))\",\"age\":$((n % 70)),\"mail\":\"m$n@x.org\"}}"
done >"$work/people"
"$KINDEX" import "$work/people" >"$work/null" 2>&1
for wanted in 'ttl=1d' 'ttl=30d'; do
    request PUT "/kv/ends/$wanted?$wanted" '"later"'
done
long=$(head -c 1420 /dev/urandom | base64 -w 0 | tr '+/=' 'abc')
request PUT "/kv/$long" "\"$long\""
request POST /indexes '{"name":"by_dup","prefix":["dup"],"fields":["/v"],"unique":true}'
request POST /atomic "{\"mutations\":[{\"type\":\"set\",\"key\":[\"big\"],\"value\":\"$(printf 'x%.0s' {1..60000})\"}]}"
expect 200
token=$("$KINDEX" token create operator all -o raw | tail -1)
export KINDEX_TOKEN=$token
bearer=(--header "Authorization: Bearer $token")
once=(--header 'Idempotency-Key: 01J000000000000000000000AA')
answers 201 POST /kv/once '1' "${once[@]}" "${bearer[@]}"
repeated=$(jq -r .versionstamp "$answer")
describe directory
is 'entries' "$(($(wc -l <"$work/directory.entries") > 48000))" 1

test_case 'a data directory in use by a server is not copied'
refuses "$work/data" "$database" 'is used by another process'
stop_server

test_case 'a data directory is copied into a database, and every index is verified'
copy "$work/data" "$database"
ends 0
complains 'copied 48'
complains '4 indexes verified'
transactions() {
    postgres_query postgres "SELECT xact_commit FROM pg_stat_database WHERE datname = 'store'"
}
transactions=$(transactions)
is "statements for copy and verification: $transactions" "$((transactions > 50 && transactions < 12000))" 1
serve --engine "$database"
describe database
same directory database

test_case 'a copied store has the outcome of a repeated write, and higher versionstamps after it'
gives .versionstamp "$repeated" POST /kv/once '1' "${once[@]}" "${bearer[@]}"
answers 201 PUT /kv/new '1' "${bearer[@]}"
is 'a higher versionstamp' "$(jq -r --arg last "$(jq -rs 'map(.versionstamp) | max' "$work/directory.entries")" \
    '.versionstamp > $last' "$answer")" true

test_case 'a database in use by a server is not copied'
refuses "$database" "$work/back" 'in use'
describe database
stop_server

test_case 'a database is copied back into a directory'
copy "$database" "$work/back"
ends 0
complains '4 indexes verified'
mv "$work/data" "$work/first"
mv "$work/back" "$work/data"
serve
describe back
same database back
stop_server

test_case 'a copy into a place with a store, or with other files, is refused, and changes nothing'
refuses "$work/first" "$database" 'there is a store in it'
refuses "$database" "$work/data" 'there is a store in it'
mkdir "$work/other"
touch "$work/other/thesis.txt"
refuses "$database" "$work/other" thesis.txt
is 'its files' "$(ls "$work/other")" thesis.txt
serve --engine "$database"
describe after
same back after
stop_server

test_case 'a copy from a place without a store, or between places of one kind, is refused'
refuses "$work/nothing" "$empty" 'there is no store in it'
is 'what was made' "$(ls -d "$work/nothing" 2>"$work/null")" ''
refuses "$empty" "$work/nothing" 'there is no store in it'
copy "$work/data" "$work/elsewhere"
ends 2
copy "$empty" "$database"
ends 2
kindex engine copy --from "$work/data"
ends 2

test_case 'a copy finds an index that lost a row on the way'
postgres_query store "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN RETURN NULL; END'"
empty_database() {
    postgres_query store 'TRUNCATE kindex.entries, kindex.expiry, kindex.facts'
}
empty_database
postgres_query store "CREATE TRIGGER forget BEFORE INSERT ON kindex.entries FOR EACH ROW
    WHEN (position('by_mail'::bytea IN NEW.k) > 0 AND position('m77@x.org'::bytea IN NEW.k) > 0)
    EXECUTE FUNCTION forget()"
copy "$work/data" "$database"
ends 1
complains 'index by_mail does not match its entries'
postgres_query store 'DROP TRIGGER forget ON kindex.entries'

# copy_and_kill FROM TO: when it waits for something in the database
copy_and_kill() {
    local copying
    "$KINDEX" engine copy --from "$1" --to "$2" >"$work/killed" 2>&1 &
    copying=$!
    wait_until waits
    kill -KILL $copying
    wait $copying 2>"$work/null"
}
waits() {
    ! kill -0 $copying 2>"$work/null" ||
        [ "$(postgres_query store "SELECT count(*) FROM pg_stat_activity
            WHERE wait_event = 'PgSleep'")" = 1 ]
}
end_sessions() {
    postgres_query store "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = 'store' AND pid <> pg_backend_pid()" >"$work/null"
}
# is_no_store PLACE OPTION...: of a server in that place
is_no_store() {
    timeout "$longest" "$KINDEX" serve --listen 0 "${@:2}" >"$work/refused" 2>&1
    is 'the exit status of a server' $? 1
    is 'what it says' "$(grep -c 'a copy into it did not end' "$work/refused")" 1
}

# Reading the table of times, which comes after that of entries, takes long.
test_case 'a directory into which a copy was killed is neither served nor copied into'
postgres_query store 'ALTER TABLE kindex.expiry RENAME TO expiry_rows'
postgres_query store 'CREATE VIEW kindex.expiry AS SELECT * FROM kindex.expiry_rows
    WHERE pg_sleep(600) IS NULL'
copy_and_kill "$database" "$work/part"
end_sessions
postgres_query store 'DROP VIEW kindex.expiry'
postgres_query store 'ALTER TABLE kindex.expiry_rows RENAME TO expiry'
is_no_store "$work/part" --data "$work/part"
refuses "$database" "$work/part" 'a copy into it did not end'

test_case 'a database into which a copy was killed is neither served nor copied into'
empty_database
postgres_query store "CREATE OR REPLACE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(600); RETURN NEW; END'"
postgres_query store "CREATE TRIGGER forget BEFORE INSERT ON kindex.expiry FOR EACH ROW
    EXECUTE FUNCTION forget()"
copy_and_kill "$work/data" "$database"
end_sessions
postgres_query store 'DROP TRIGGER forget ON kindex.expiry'
is 'that there are entries' "$(postgres_query store 'SELECT count(*) > 40000 FROM kindex.entries')" t
is_no_store "$database" --engine "$database"
refuses "$work/data" "$database" 'a copy into it did not end'
refuses "$database" "$work/part2" 'a copy into it did not end'

test_case 'a database of a killed copy without its mark would be taken for a store without its indexes'
postgres_query store "DELETE FROM kindex.facts WHERE k = 'format'"
serve --engine "$database"
answers 200 GET /kv/people/=77
answers 404 index-not-found GET /indexes/by_age
stop_server

test_case 'a database that was emptied after a killed copy is copied into'
empty_database
copy "$work/data" "$database"
ends 0

finish
