#!/bin/bash
# The embedded store and PostgreSQL in one run, in turn: writes and reads of 64 clients
# and of one, lists of 100, and the time until another node acknowledges a write after
# the active one was killed. The database has a synchronous standby on the same disk, and
# syncs; two nodes are in front of it, of which the active one is asked.
#
#   postgresql.sh [ROUNDS] [SECONDS]     prints a table: medians, and the ranges
set -u
cd "$(dirname "$0")/../.." || exit
. deploy/postgres.sh
rounds=${1:-5}
seconds=${2:-3}
program=${KINDEX:-$PWD/${BUILD:-build}/kindex}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/kindex-bench.XXXXXX")
chmod 711 "$work"
results=$work/results
declare -A pids=()
trap 'end' EXIT
end() {
    [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null
    wait 2>/dev/null
    postgres_end "$work/a"
    postgres_end "$work/b"
    rm -rf "$work"
}
fail() {
    echo "bench: $*" >&2
    exit 1
}

# serve NAME OPTION...: its URL comes into $work/NAME.url
serve() {
    local name=$1
    shift
    rm -f "$work/$name.port"
    "$program" serve --listen 127.0.0.1:0 --port-file "$work/$name.port" "$@" \
        >"$work/$name.out" 2>&1 &
    pids[$name]=$!
    until [ -s "$work/$name.port" ]; do
        kill -0 "${pids[$name]}" || fail "$name has ended"
        sleep 0.05
    done
    echo "http://127.0.0.1:$(cat "$work/$name.port")" >"$work/$name.url"
}
url() {
    cat "$work/$1.url"
}
node() {
    serve "$1" --node "$1" --engine "$database"
}

start_databases() {
    local options=(-c max_connections=200 -c synchronous_standby_names=walreceiver)
    postgres_make "$work/a" && postgres_begin "$work/a" -c max_connections=200 || exit 1
    psql --no-psqlrc --quiet --host="$work/a" --username=kindex --dbname=postgres \
        --command='CREATE DATABASE kindex' || exit 1
    psql --no-psqlrc --quiet --host="$work/a" --username=kindex --dbname=kindex \
        --command='CREATE TABLE rows (k serial PRIMARY KEY, v text NOT NULL)' || exit 1
    echo "INSERT INTO rows (v) VALUES (repeat('x', 200));" >"$work/commit.sql"
    postgres_copy "$work/a" "$work/b" && postgres_end "$work/a" fast || exit 1
    postgres_begin "$work/a" "${options[@]}" && postgres_begin "$work/b" "${options[@]}" || exit 1
    database="postgresql://kindex@/kindex?host=$work/a"
}

# note SCENARIO SERVER NUMBER
note() {
    echo "$1;$2;$3" >>"$results"
}
# measure SCENARIO SERVER FILTER OPTION...: by kindex bench
measure() {
    local scenario=$1 server=$2 filter=$3
    shift 3
    note "$scenario" "$server" "$("$program" bench --url "$(url "$server")" \
        --seconds "$seconds" -o json "$@" | jq -r "$filter")"
}
lists() { # SERVER
    note 'list of 100, a second' "$1" "$(command node tests/bench/lists.js "$(url "$1")" "$seconds")"
}

# What a write takes at least: pgbench commits rows of the same size, a client at a time.
commits() {
    note 'COMMIT of the database c=1, ms' one "$("$(postgres_programs)/pgbench" --no-vacuum \
        --host="$work/a" --username=kindex --time="$seconds" --file="$work/commit.sql" kindex 2>/dev/null |
        sed -n 's/^latency average = \([0-9.]*\) ms/\1/p')"
}

round() {
    local server
    commits
    for server in embedded one; do
        measure 'PUT c=64, a second' "$server" .perSecond --reads 0 --clients 64
        measure 'PUT c=1 p50, ms' "$server" .milliseconds.p50 --reads 0 --clients 1
        measure 'GET c=64, a second' "$server" .perSecond --reads 100 --clients 64
        lists "$server"
    done
}

# By kill -9 of the active node, until another one acknowledges.
failover() {
    local begun
    begun=$(date +%s%N)
    kill -KILL "${pids[one]}"
    wait "${pids[one]}" 2>/dev/null
    until curl --silent --fail --max-time 1 --output /dev/null --request PUT --data 1 "$(url two)/kv/after"; do
        sleep 0.01
    done
    note 'failover, ms' two "$((($(date +%s%N) - begun) / 1000000))"
    kill -TERM "${pids[two]}"
    wait "${pids[two]}" 2>/dev/null
    node one
    until curl --silent --fail --output /dev/null --request PUT --data 1 "$(url one)/kv/after"; do
        sleep 0.05
    done
    node two
}

table() {
    awk -F ';' '
        function number(list, n) { return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2 }
        { key = $1 ";" ($2 == "embedded" ? "embedded" : "PostgreSQL"); all[key] = all[key] " " $3 }
        END {
            for (key in all) {
                n = split(substr(all[key], 2), list, " ")
                for (i = 2; i <= n; i++)
                    for (j = i; j > 1 && list[j] + 0 < list[j - 1] + 0; j--) {
                        kept = list[j]; list[j] = list[j - 1]; list[j - 1] = kept
                    }
                split(key, part, ";")
                printf "%-31s %-10s %10.4g   %.4g..%.4g\n", part[1], part[2], number(list, n), list[1], list[n]
            }
        }' "$results" | sort
}

for needed in jq curl psql; do
    [ -n "$(type -P $needed)" ] || fail "$needed is missing"
done
start_databases
serve embedded --data "$work/data"
node one
until curl --silent --fail --output /dev/null --request PUT --data 1 "$(url one)/kv/first"; do
    sleep 0.05
done
node two
for server in embedded one; do
    command node tests/bench/lists.js "$(url "$server")" load || fail "$server cannot be loaded"
done
for ((n = 0; n < rounds; n++)); do
    round
    failover
done
table
