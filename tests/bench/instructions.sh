#!/bin/bash
# User-space instructions per request, counted by callgrind: the same figure on
# a busy machine as on an idle one, so it can fail a test where time cannot.
#
# Three runs of the server differ only in the number of GETs or PUTs of 190
# bytes; the difference of two counts is what those requests cost. Left out is
# libmicrohttpd's zeroing of its connection memory, which valgrind counts as one
# instruction per byte and a processor does not, and what is done by the clock
# (packing of pages, the keeper).
#   BUILD=build instructions.sh [GET_GATE PUT_GATE]
set -u
build=${BUILD:-build}
get_gate=${1:-16000}
put_gate=${2:-35000}
few=500
many=2500
keys=1000
work=$(mktemp -d)
server=
passed=0
failed=0
trap 'stop_server; rm -rf "$work"' EXIT

stop_server() {
    [ -z "$server" ] && return
    kill "$server" && wait "$server"
    server=
} 2>/dev/null

give_up() {
    echo "$1"
    cat "$work"/server.log 2>/dev/null
    echo "0 passed, 1 failed"
    exit 1
}

# Starts the server under callgrind on a new directory; sets $port.
start_server() {
    rm -rf "$work/data" "$work/port"
    valgrind --tool=callgrind --callgrind-out-file="$1" \
        "$build/kindex" serve --data "$work/data" --listen 127.0.0.1:0 \
        --cache 16MiB --checkpoint-interval 1h --port-file "$work/port" >"$work/server.log" 2>&1 &
    server=$!
    until [ -s "$work/port" ]; do
        kill -0 "$server" 2>/dev/null || give_up "the server did not start"
        sleep 0.05
    done
    port=$(tr -cd '0-9' <"$work/port")
}

# Total of a profile without what MHD_pool_* spends in memset. Names are given
# once and later only by their number; a call's cost is on the line after it.
instructions() {
    awk '
        function name(text,    id) {
            id = text
            sub(/\).*/, ")", id)
            if (text != id) names[id] = substr(text, length(id) + 2)
            return names[id]
        }
        /^fn=/ { caller = name(substr($0, 4)); next }
        /^cfn=/ { callee = name(substr($0, 5)); next }
        /^calls=/ { called = 1; next }
        called { called = 0
                 if ((caller ~ /^MHD_pool_/ && callee ~ /memset/) ||
                     callee ~ /^(tidy_step|keeper_run)$/)
                     apart += $NF
                 next }
        /^(totals|summary):/ { total = $2 }
        END { printf "%d\n", total - apart }' "$1"
}

# One run: store the keys, GETs, PUTs, stop. Sets $counted to its instructions.
run() {
    local profile="$work/profile.$1.$2"
    start_server "$profile"
    "$build/bench/client" "$port" PUT $keys &&
        "$build/bench/client" "$port" GET "$1" &&
        "$build/bench/client" "$port" PUT "$2" ||
        give_up "a request failed"
    stop_server
    counted=$(instructions "$profile")
}

# Whether a figure keeps within a gate; a figure that is none does not.
within() {
    [ "$1" -gt 0 ] && [ "$1" -le "$2" ]
}

check() {
    if "${@:2}"; then
        passed=$((passed + 1))
        echo "ok      $1"
    else
        failed=$((failed + 1))
        echo "FAILED  $1"
    fi
}

run $few $few
base=$counted
run $many $few
get=$(((counted - base) / (many - few)))
run $few $many
put=$(((counted - base) / (many - few)))

check "GET costs $get instructions, at most $get_gate" within "$get" "$get_gate"
check "PUT costs $put instructions, at most $put_gate" within "$put" "$put_gate"
check "a gate of 1 would be missed by GET" eval '! within "$get" 1'
check "a gate of 1 would be missed by PUT" eval '! within "$put" 1'
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
