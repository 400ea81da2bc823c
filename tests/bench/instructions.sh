#!/bin/bash
# User-space instructions per request, counted by callgrind: the same figure on
# a busy machine as on an idle one, so it can fail a test where time cannot.
#
# Three runs of the server differ only in the number of GETs or PUTs of 190
# bytes; the difference of two counts is what those requests cost. Left out is
# what is done by the clock (compaction, the checkpointer, samples of the metrics,
# the log of slow requests). Commits that come together make more or fewer batches, by chance: a
# PUT is given as if they made one, and a GET as if the commits before it had
# made as many in both runs.
#
# In one more run there are PUTs with an Idempotency-Key, another one each time:
# their outcomes are stored as well. In another one there are sums with bounds and
# a result, by POST /atomic.
#
# Four more runs say what a GET and a PUT cost together beside 2,000 watches that
# wait, and without. Only what the writer takes of that is counted: how often
# the watches show that they are alive goes by the clock, and what a function takes
# with its calls is right only for a thread without fibers, as callgrind loses its
# place at a switch of stacks.
#   BUILD=build instructions.sh [GET_GATE PUT_GATE]
set -u
build=${BUILD:-build}
get_gate=${1:-11500}
put_gate=${2:-31000}
clients=64 # of client.c, in step
batch=30000 # what a batch costs, however many commits it has
once_gate=51000 # of a PUT with a key
once_batch=41000 # what a batch of those costs: it has one more row
sum_gate=48000 # of a sum: most of it reads the JSON of its request
few=500
many=2500
keys=1000
watches=2000
beside=115 # % of what they cost without: it is 101, but batches are not all alike
work=$(mktemp -d)
server=
parked=
ulimit -n $((2 * watches + 200))
passed=0
failed=0
trap 'stop_server; rm -rf "$work"' EXIT

stop_server() {
    [ -z "$parked" ] || { kill "$parked" && wait "$parked"; }
    parked=
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
        --cache 16MiB --checkpoint-interval 1h --slow-ms 3600000 \
        --connections-per-address 4096 \
        --port-file "$work/port" >"$work/server.log" 2>&1 &
    server=$!
    until [ -s "$work/port" ]; do
        kill -0 "$server" 2>/dev/null || give_up "the server did not start"
        sleep 0.05
    done
    port=$(tr -cd '0-9' <"$work/port")
}

# Functions whose instructions are set apart: by the clock, or of the writer.
by_clock='compact_job_step|checkpointer_run|history_tend'
for_requests='run_batch'
for name in ${by_clock//|/ } ${for_requests//|/ }; do
    nm "$build/kindex" | grep -q " $name\$" || give_up "kindex has no function $name"
done

# Total of a profile without what is done by the clock, and what of it the writer
# took. Names are given once and later only by their number; a call's
# cost is on the line after it.
instructions() {
    awk '
        function name(text,    id) {
            id = text
            sub(/\).*/, ")", id)
            if (text != id) names[id] = substr(text, length(id) + 2)
            return names[id]
        }
        /^fn=/ { name(substr($0, 4)); next }
        /^cfn=/ { callee = name(substr($0, 5)); next }
        /^calls=/ { called = 1; next }
        called { called = 0
                 if (callee ~ /^('"$by_clock"')$/)
                     clock += $NF
                 if (callee ~ /^('"$for_requests"')$/)
                     requests += $NF
                 next }
        /^(totals|summary):/ { total = $2 }
        END { printf "%d %d\n", total - clock, requests }' "$1"
}

# Opens as many watches, which wait until the server is stopped.
park() {
    "$build/bench/client" "$port" WATCH "$1" >"$work/parked" &
    parked=$!
    until [ -s "$work/parked" ]; do
        kill -0 "$parked" 2>/dev/null || give_up "the watches did not begin"
        sleep 0.05
    done
}

# One run: watches, store the keys, GETs, PUTs, stop. Sets $counted to its
# instructions, $served to those of the writer, and $batches.
# run GETS PUTS [WATCHES [PUTS-WITH-A-KEY [SUMS]]]
run() {
    local profile="$work/profile.$1.$2.${3:-0}.${4:-0}.${5:-0}"
    start_server "$profile"
    [ "${3:-0}" -eq 0 ] || park "$3"
    "$build/bench/client" "$port" PUT $keys &&
        "$build/bench/client" "$port" SUM $keys &&
        "$build/bench/client" "$port" GET "$1" &&
        "$build/bench/client" "$port" PUT "$2" &&
        "$build/bench/client" "$port" ONCE "${4:-0}" &&
        "$build/bench/client" "$port" SUM "${5:-0}" ||
        give_up "a request failed"
    batches=$(curl -s "http://127.0.0.1:$port/metrics" |
        awk '$1 == "kindex_batch_commits_count" { print $2 }')
    stop_server
    read -r counted served < <(instructions "$profile")
}

# Whether a figure keeps within a gate; a malformed figure does not.
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

# Sets $get, $put, $once and $sum.
measure() {
    run $few $few
    local base=$counted base_batches=$batches extra
    run $many $few
    extra=$(((batches - base_batches) * batch))
    get=$(((counted - base - extra) / (many - few)))
    run $few $many
    extra=$(((batches - base_batches - (many - few) / clients) * batch))
    put=$(((counted - base - extra) / (many - few)))
    run $few $few 0 $((many - few))
    extra=$(((batches - base_batches - (many - few) / clients) * once_batch))
    once=$(((counted - base - extra) / (many - few)))
    run $few $few 0 0 $((many - few))
    extra=$(((batches - base_batches - (many - few) / clients) * batch))
    sum=$(((counted - base - extra) / (many - few)))
}

# Sets $writer to what the writer takes for a GET and a PUT beside so many watches.
measure_writer() {
    run $few $few "$1"
    local base=$served base_batches=$batches extra
    run $many $many "$1"
    extra=$(((batches - base_batches - (many - few) / clients) * batch))
    writer=$(((served - base - extra) / (many - few)))
}

# keep FIGURE VALUE LIMIT: the first that is within its limit stays.
declare -A figure=() limit=()
keep() {
    [ -n "${figure[$1]-}" ] && within "${figure[$1]}" "${limit[$1]}" && return
    figure[$1]=$2
    limit[$1]=$3
    within "$2" "$3"
}

# How many turns of its loop the server needs for the same requests differs, and
# how many commits share a batch. A figure above its gate is measured again, at
# most so often.
for ((round = 1; round <= 5; round++)); do
    measure
    kept=0
    keep get "$get" "$get_gate" || kept=1
    keep put "$put" "$put_gate" || kept=1
    keep once "$once" "$once_gate" || kept=1
    keep sum "$sum" "$sum_gate" || kept=1
    [ $kept = 1 ] || break
done
for ((round = 1; round <= 5; round++)); do
    measure_writer 0
    without=$writer
    measure_writer $watches
    with=$writer
    most=$((without * beside / 100))
    ! within "$with" "$most" || break
done

bounded() { # FIGURE WORDS
    check "$2 ${figure[$1]}, at most ${limit[$1]}" within "${figure[$1]}" "${limit[$1]}"
}
bounded get 'instructions of a GET:'
bounded put 'of a PUT:'
bounded once 'of a PUT with a key:'
bounded sum 'of a sum with bounds and result:'
check "beside $watches watches $with, at most $most (without: $without)" within "$with" "$most"
check "a gate of 1 would be missed by GET" eval '! within "$get" 1'
check "a gate of 1 would be missed by PUT" eval '! within "$put" 1'
check "a gate of 1 would be missed by PUT with a key" eval '! within "$once" 1'
check "a gate of 1 would be missed by a sum" eval '! within "$sum" 1'
check "a gate of 1 would be missed beside watches" eval '! within "$with" 1'
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
