#!/bin/bash
# What slow clients do to the others, by hand: the latencies of 64 connections
# of wrk alone, and beside 500 slow requests and 100 slow readers.
#
# All of them run on one machine, and the hostile clients take processor time of
# their own from wrk and the server. So they are measured twice: at the server,
# and at a control, a second server that is stopped (the kernel takes what comes
# for it). What they do to the server is the difference of the two. In each
# round wrk begins together with them, so that their beginning is measured, too.
#
#   tests/bench/hostile.sh [ROUNDS [SECONDS]]
set -u
cd "$(dirname "$0")/../.." || exit
rounds=${1:-3}
seconds=${2:-5}
build=${BUILD:-build}
${MAKE:-make} -s --no-print-directory "$build/kindex" "$build/bench/hostile" || exit
work=$(mktemp -d)
trap leave EXIT

leave() {
    kill -CONT "$control" && kill "$server" "$control"
    wait "$server" "$control"
    rm -rf "$work"
} 2>/dev/null

# Starts a server, whose name is its data directory's; says its process id.
serve() {
    "$build/kindex" serve --data "$work/$1" --listen 127.0.0.1:0 \
        --header-timeout 1h --body-timeout 1h --port-file "$work/$1.port" \
        >"$work/$1.out" 2>"$work/$1.log" &
    echo $!
}

server=$(serve server)
control=$(serve control)
until [ -s "$work/server.port" ] && [ -s "$work/control.port" ]; do
    sleep 0.05
done
kill -STOP "$control"
url=http://127.0.0.1:$(cat "$work/server.port")
for i in $(seq 2000); do
    printf '{"key":["rows",%d],"value":"%08000d"}\n' "$i" "$i"
done | "$build/kindex" import --url "$url" >"$work/imported" 2>&1
curl --silent --output "$work/null" --request PUT --json '{"n":1}' "$url/kv/one"

# The control lets those go that have come, and is stopped again.
empty_control() {
    kill -CONT "$control"
    curl --silent --output "$work/null" \
        "http://127.0.0.1:$(cat "$work/control.port")/livez"
    kill -STOP "$control"
}

# Milliseconds of a processor that the server has taken so far.
taken() { awk '{ print ($14 + $15) * 10 }' "/proc/$server/stat"; }

# load NAME [PORT]: with hostile clients at the port. A line of figures, which
# the table at the end is made of.
load() {
    local before after hostile=
    if [ $# -gt 1 ]; then
        "$build/bench/hostile" "$2" 500 100 $((seconds * 1000 + 2000)) \
            >"$work/hostile" &
        hostile=$!
        until grep -q ready "$work/hostile"; do
            kill -0 "$hostile" || exit 1
            sleep 0.01
        done
    fi
    before=$(taken)
    wrk --threads 1 --connections 64 --duration "${seconds}s" --latency \
        "$url/kv/one" >"$work/wrk"
    after=$(taken)
    awk -v name="$1" -v cpu=$((after - before)) '
        function ms(text) {
            return text * (text ~ /us$/ ? 0.001 : text ~ /ms$/ ? 1 : 1000) }
        /^ +50%/ { p50 = ms($2) }
        /^ +99%/ { p99 = ms($2) }
        /Non-2xx/ { name = name "(errors)" }
        /requests in/ { count = $1 }
        END { printf "%-12s p50 %6.2f ms   p99 %6.2f ms   %7d requests, " \
                     "%.1f us of the server each\n",
              name, p50, p99, count, cpu * 1000 / count }' "$work/wrk" |
        tee -a "$work/figures"
    [ -z "$hostile" ] || wait "$hostile"
}

for _ in $(seq "$rounds"); do
    load alone
    load control "$(cat "$work/control.port")"
    empty_control
    load hostile "$(cat "$work/server.port")"
done
grep sent "$work/hostile"

# The server's own part, without anybody else.
"$build/bench/hostile" "$(cat "$work/server.port")" 500 100 7000 \
    >"$work/hostile" &
hostile=$!
sleep 2
before=$(taken)
sleep 4
echo "they alone cost the server $((($(taken) - before) / 4)) ms of a" \
    "processor in a second"
wait "$hostile"
sed -n 's/VmHWM:/its memory at most:/p' "/proc/$server/status"

awk '{ sum[$1] += $6
       if (!($1 in best) || $6 < best[$1])
           best[$1] = $6 }
     END { printf "p99, hostile / alone: %.2f (means), %.2f (best rounds); " \
                  "hostile / control: %.2f, %.2f\n",
                  sum["hostile"] / sum["alone"], best["hostile"] / best["alone"],
                  sum["hostile"] / sum["control"],
                  best["hostile"] / best["control"] }' "$work/figures"
