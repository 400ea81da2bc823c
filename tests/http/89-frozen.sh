#!/bin/bash
# A database that does not answer any more, as when its machine is frozen or the
# network is cut: all of its processes are stopped. What needs no rows is answered
# at once all the same, what needs some 503 within the time for it, and the service is
# complete again when the database is.
ENGINE=bdb # this story says itself which server has which database
. "$(dirname "$0")/../lib/http.sh"
own_database
start_server --engine "$found" --read-workers 4

# The processes of the cluster: the first, and its children.
cluster() {
    local first
    first=$(head -1 "$KX_POSTGRES/data/postmaster.pid")
    echo "$first"
    ps -o pid= --ppid "$first"
}
is_stopped() {
    local pid
    for pid in $(cluster); do
        [ "$(ps -o stat= -p "$pid" | cut -c1)" = T ] || return 1
    done
}
# A child that began meanwhile is stopped in the next round.
freeze() {
    local pid
    until is_stopped; do
        for pid in $(cluster); do
            kill -STOP "$pid"
        done
    done
}
thaw() {
    local pid
    for pid in $(cluster); do
        kill -CONT "$pid"
    done
}
# Stopped processes could not be ended with the cluster.
trap '[ "$BASHPID" != $$ ] || thaw; leave' EXIT

# ask NAME CURL-ARGUMENT...: in the background; the status comes into $work/NAME.status
ask() {
    local name=$1
    shift
    rm -f "$work/$name.status"
    curl --silent --max-time 60 --dump-header "$work/$name.head" --output "$work/$name.body" \
        --write-out '%{http_code}' "$@" >"$work/$name.part"
    mv "$work/$name.part" "$work/$name.status"
}
is_answered() {
    [ -e "$work/$1.status" ]
}
# slow NAME: its answer is a 503 that says when to come again. Without the database the
# lease of the node ends as well.
slow() {
    is "the status of $1" "$(cat "$work/$1.status")" 503
    code=$(jq -r .code "$work/$1.body")
    [ "$code" = no-active-node ] || is "its code" "$code" database-unreachable
    is 'its Retry-After' "$(grep -ic '^retry-after: 1' "$work/$1.head")" 1
}

test_case 'entries are stored and indexed before the database freezes'
answers 201 PUT /kv/people/1 '{"name":"Ada","age":36}'
answers 201 PUT /kv/people/2 '{"name":"Bob","age":50}'
request POST /indexes '{"name":"by_age","prefix":["people"],"fields":["/age"]}'
until_field .state ready GET /indexes/by_age
gives '[.entries[].value.age]' '[36,50]' GET '/list?index=by_age'

test_case 'metrics and the checks of /readyz are complete before the database freezes'
answers 200 GET /metrics
is 'lines of the index' "$(grep -c 'kindex_index_state{index="by_age"' "$answer")" 6
answers 200 GET '/readyz?verbose=true'
field '.checks[] | select(.name == "indexes") | .state' ok

# Each of the four workers has one of the reads, and others wait for one. Which answer
# comes first tells that nothing waits for the database: no clock does. If the machine
# is so slow that the reads end before, it is tried again.
waits=yes
for attempt in 1 2 3; do
    test_case "while the database is frozen, requests without rows are answered before those with rows (attempt $attempt)"
    freeze
    is 'answers of the database' "$(timeout 2 psql --no-psqlrc --quiet --tuples-only \
        --host="$KX_POSTGRES" --username=kindex --dbname=store --command='SELECT 1')" ''
    for n in 1 2 3 4 5 6; do
        ask "entry$n" "$url/kv/none/$n" &
    done
    ask list "$url/list?index=by_age" &
    ask lines --header 'Accept: application/x-ndjson' "$url/list" &
    ask many --data '{"keys":[["none","a"],["none","b"]]}' "$url/get" &
    ask tree "$url/tree" &
    ask watch "$url/watch?key=none" &
    answers 200 GET /livez
    request GET /readyz
    [ "$status" = 200 ] || expect 503 no-active-node
    request GET /kv/people/1
    [ "$status" = 200 ] || expect 503 no-active-node
    answers 200 GET /version
    waits=yes
    is_answered list && waits=no
    [ $waits = no ] || break
    wait_until is_answered watch
    thaw
    until_status 200 GET '/list?index=by_age'
done
is 'the list waited' $waits yes

test_case 'metrics are served without the figures of indexes while the database is frozen'
answers 200 GET /metrics
is 'lines of the process' "$(grep -c '^kindex_build_info' "$answer")" 1

test_case 'reads of rows are answered 503 in time while the database is frozen'
for name in entry1 entry2 entry3 entry4 entry5 entry6 list lines many tree watch; do
    wait_until is_answered $name
    slow $name
done
answers 503 GET '/list?prefix=people'
answers 200 GET /livez

test_case 'a write is answered 503 while the database is frozen, and the process lives'
ask write --request PUT --data '{"name":"Cyd","age":20}' "$url/kv/people/3"
is 'its status' "$(cat "$work/write.status")" 503
answers 200 GET /livez

test_case 'the service recovers when the database answers again'
thaw
until_status 200 GET '/list?index=by_age'
field '[.entries[].value.age] | contains([36,50])' true
until_status 200 GET /kv/people/1
until_status 201 PUT /kv/people/4 '{"name":"Dan","age":70}'
gives '.entries[0].value.name' Dan GET '/list?index=by_age&reverse=true&limit=1'
request GET /metrics
is 'lines of the index' "$(grep -c 'kindex_index_state{index="by_age"' "$answer")" 6
stop_server
is 'its exit status' $? 0

finish
