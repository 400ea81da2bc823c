#!/bin/bash
# What a long transaction in the database, such as pg_dump or an analyst's, costs the
# writes beside it: PUTs of 16 clients to spread keys before it, after MINUTES of such
# writes beside it, and after it; then the same to one hot key, whose row gets all the
# versions. A figure is the rate in SECONDS seconds, which begin with a checkpoint: each page
# that is written first after one costs more. All keys are there before.
#
#   long_transaction.sh [MINUTES [SECONDS]]     10 minutes, 10 seconds
#
# The last lines: the rates, and how they compare. Exit status 1: spread keys keep less
# than 0.8 of the rate, beside the transaction or after it.
set -u
cd "$(dirname "$0")/../.." || exit
. deploy/postgres.sh
minutes=${1:-10}
seconds=${2:-10}
keys=200000
program=${KINDEX:-$PWD/${BUILD:-build}/kindex}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/kindex-bench.XXXXXX")
chmod 711 "$work"
server='' dump=''
trap 'end' EXIT
end() {
    # shellcheck disable=SC2086 # one or none
    [ -z "$server$dump" ] || kill -KILL $server $dump 2>/dev/null
    wait 2>/dev/null
    postgres_end "$work/a"
    rm -rf "$work"
}
fail() {
    echo "long_transaction: $*" >&2
    exit 1
}
query() {
    psql --no-psqlrc --quiet --tuples-only --no-align --host="$work/a" --username=kindex \
        --dbname=kindex --command="$1"
}

# puts KIND SECONDS: a second, in $found
start=0
puts() {
    wrk --threads 1 --connections 16 --duration "$2s" --script tests/bench/long_transaction.lua \
        "$url" -- "$1" "$keys" "$start" >"$work/wrk" || fail 'wrk has failed'
    ! grep -E 'Non-2xx|Socket errors' "$work/wrk" >&2 || fail 'not all were answered'
    found=$(awk '/^Requests\/sec/ { printf("%d", $2) }' "$work/wrk")
    start=$(((start + found * $2) % keys))
}
figure() { # KIND
    query CHECKPOINT
    puts "$1" "$seconds"
}

# The snapshot is taken by the first statement, and kept until the session ends.
transaction_begins() {
    psql --no-psqlrc --quiet --host="$work/a" --username=kindex --dbname=kindex \
        --command='BEGIN ISOLATION LEVEL REPEATABLE READ' \
        --command='SELECT count(*) FROM kindex.meta' --command='SELECT pg_sleep(1e6)' \
        >"$work/dump" 2>&1 &
    dump=$!
    until [ "$(query "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")" = 1 ]; do
        sleep 0.1
    done
}
transaction_ends() {
    query "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE wait_event = 'PgSleep'" >"$work/ended"
    wait "$dump"
    dump=''
}

# measure KIND: rates before, beside and after, in ${rates[@]}
measure() {
    figure "$1"
    rates=("$found")
    transaction_begins
    puts "$1" $((minutes * 60))
    echo "$1: $found a second on average beside it"
    figure "$1"
    rates+=("$found")
    transaction_ends
    puts "$1" 60 # until autovacuum has come by
    figure "$1"
    rates+=("$found")
}

for needed in psql curl wrk awk; do
    [ -n "$(type -P $needed)" ] || fail "$needed is missing"
done
postgres_make "$work/a" &&
    postgres_begin "$work/a" -c shared_buffers=256MB -c max_wal_size=4GB -c log_autovacuum_min_duration=0 &&
    psql --no-psqlrc --quiet --host="$work/a" --username=kindex --dbname=postgres \
        --command='CREATE DATABASE kindex' || exit 1
"$program" serve --listen 127.0.0.1:0 --port-file "$work/port" --node one \
    --engine "postgresql://kindex@/kindex?host=$work/a" >"$work/server" 2>&1 &
server=$!
until [ -s "$work/port" ]; do
    kill -0 "$server" 2>/dev/null || fail "$(cat "$work/server")"
    sleep 0.05
done
url=http://127.0.0.1:$(cat "$work/port")
until curl --silent --fail --output /dev/null --request PUT --data 1 "$url/kv/first"; do
    sleep 0.05
done
for ((loaded = 0; loaded < keys; loaded += found * 10)); do
    puts spread 10
done
measure spread
spread=("${rates[@]}")
measure hot
printf '%-7s %8s %8s %8s   beside a transaction of %s min\n' PUT/s before beside after "$minutes"
printf '%-7s %8d %8d %8d\n' spread "${spread[@]}" hot "${rates[@]}"
awk -v before="${spread[0]}" -v beside="${spread[1]}" -v after="${spread[2]}" 'BEGIN {
    printf "spread: %.2f beside it, %.2f after it\n", beside / before, after / before
    exit beside < 0.8 * before || after < 0.8 * before
}'
