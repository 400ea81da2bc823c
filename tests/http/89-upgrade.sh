#!/bin/bash
# The tables of earlier programs with a PostgreSQL engine, as each left them when it was
# killed: they are refused until a command upgrades them, then they are as they were.
ENGINE=bdb # this story says itself which server has which database
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/upgrade.sh"

own_database
# upgrades VERSION FORMAT
upgrades() {
    version=$1
    postgres_database "$version" || exit 1
    address=$found
    unpack
    psql --no-psqlrc --quiet --host="$KX_POSTGRES" --username=app --dbname="$version" \
        --set=ON_ERROR_STOP=1 --file="$old/dump.sql" >"$work/null"

    test_case "tables of an earlier format are refused, $version"
    is 'the format' "$(postgres_query "$version" 'SELECT format FROM kindex.meta')" "$2"
    timeout "$longest" "$KINDEX" serve --listen 0 --engine "$address" >"$work/refused" 2>&1
    is 'its exit status' $? 1
    is 'what it says' "$(grep -c 'run kindex cluster upgrade' "$work/refused")" 1

    test_case 'kindex cluster upgrade upgrades the tables; the answers are as they were'
    "$KINDEX" cluster upgrade --engine "$address" 2>"$work/null"
    is 'its exit status' $? 0
    : >"$log"
    start_server --engine "$address"
    same_answers "$old/answers"
    is 'wrong indexes' "$(wrong)" ''
    proves 'PostgreSQL tables' "${version%-postgresql}"

    test_case 'upgraded tables change with later versionstamps, also after a kill'
    request GET /kv/users/=1
    stamp=$(header_value ETag)
    answers 200 PUT /kv/users/=1 '{"name":"Ada","email":"ada@new.org"}' -H "If-Match: $stamp"
    field ".versionstamp > $stamp" true
    stamp=$(jq .versionstamp "$answer")
    kill -KILL "$server"
    wait "$server" 2>"$work/null"
    start_server --engine "$address"
    answers 200 PUT /kv/users/=1 '{"name":"Ada","email":"ada@new.org"}'
    field ".versionstamp > $stamp" true
    request GET /indexes/by_email/get/ADA@new.org
    body_is '{"name":"Ada","email":"ada@new.org"}'
    answers 409 unique-violation PUT /kv/users/new '{"email":"FAY@example.org"}'
    is 'wrong indexes' "$(wrong)" ''
}
upgrades 0.1.0-postgresql 1
stop_server
upgrades 0.2.0-postgresql 2

test_case 'the comparison finds a changed entry'
node "$here/upgrade_data.js" compare "$url" "$old/answers" >"$work/compared"
is 'it says' "$(grep -c '^GET /kv/users/=1 /email: "Ada@Example.org" is now "ada@new.org"$' "$work/compared")" 1
finish
