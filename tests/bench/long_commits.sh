#!/bin/bash
# How long the most expensive commits keep another client from writing, by hand: one client
# sends each of them three times, while another one sends one PUT after the other, of which
# the longest must take less than 250 ms. A commit beyond the budget (api/commits/BUDGET.md)
# is refused after the writer has spent the budget on it. At the end 15 expensive commits
# are sent at once: the longest PUT may wait for one of them.
#
#   tests/bench/long_commits.sh [CASE...]
set -u
cd "$(dirname "$0")/../.." || exit
[ $# -gt 0 ] || set -- alone test-4000 test-29000 each-20 each-240 patch-1000 patch-200 rows-20 removed-20 bytes fifteen
build=${BUILD:-build}
${MAKE:-make} -s --no-print-directory "$build/kindex" || exit
work=$(mktemp -d)
trap 'server_end TERM; rm -rf "$work"' EXIT
. tests/bench/serve.sh
server_begin "${PROGRAM:-$build/kindex}" --body-max 64M

# send METHOD PATH: sends $work/body; prints status, code and milliseconds of the answer
send() {
    local said answer
    answer=$(mktemp "$work/answer.XXXXXX")
    said=$(curl --silent --output "$answer" --interface 127.0.0.2 --request "$1" \
        --write-out '%{http_code} %{time_total}' --header 'Content-Type: application/json' \
        --data-binary "@$work/body" "$url$2")
    awk -v code="$(jq -r '.code // empty' "$answer")" \
        '{ printf "%s %s%s%.0f ms\n", $1, code, code ? " " : "", $2 * 1000 }' <<<"$said"
}

# beside NAME COMMAND...: prints the longest PUT of another client during the command
beside() {
    local putter
    : >"$work/puts"
    stdbuf --output=L curl --silent --output "$work/null" --request PUT --data 1 \
        --write-out '%{time_total} %{http_code}\n' "$url/kv/probe/[1-1000000]" >"$work/puts" &
    putter=$!
    until [ "$(wc -l <"$work/puts")" -gt 20 ]; do sleep 0.01; done
    said=$("${@:2}")
    kill "$putter"
    wait "$putter" 2>"$work/null"
    sort -n "$work/puts" | awk -v name="$1" -v said="$said" '
        $2 !~ /^20/ { print "a PUT was answered " $2; exit 1 }
        { last = $1 }
        END { printf "%-12s longest of %6d PUTs %4.0f ms   %s\n", name, NR, last * 1000, said }'
}
three() { for _ in 1 2 3; do send "$@"; done | paste -sd ,; }

# mutations COUNT TEXT: prints a commit of COUNT mutations; each # in TEXT becomes a number
mutations() {
    awk -v count="$1" -v text="$2" 'BEGIN {
        printf "{\"mutations\":["
        for (i = 0; i < count; i++) {
            one = text
            gsub("#", i, one)
            printf "%s%s", i ? "," : "", one
        }
        print "]}" }'
}
# indexes COUNT PREFIX FIELD: declares COUNT indexes; each # in FIELD becomes a number
indexes() {
    local i
    for ((i = 0; i < $1; i++)); do
        echo "{\"name\":\"$2-$i\",\"prefix\":[\"$2\"],\"fields\":[${3//#/$i}]}"
    done | jq -cs '[.[] | {(.name): del(.name)}] | add' >"$work/body"
    send PUT /indexes >"$work/null"
}
# entries PREFIX COUNT BYTES: imports COUNT entries with a text of BYTES bytes
entries() {
    awk -v prefix="$1" -v count="$2" -v bytes="$3" 'BEGIN {
        for (i = 0; i < count; i++)
            printf "{\"key\":[\"%s\",%d],\"value\":{\"a\":1,\"text\":\"%0*d\"}}\n", prefix, i, bytes, i }' |
        "$build/kindex" import --url "$url" >"$work/imported" 2>&1
}
# operations COUNT: writes a JSON Patch of COUNT operations to $work/body
operations() {
    jq -nc --argjson n "$1" '[range($n) | {op: "test", path: "/a", value: 1}]' >"$work/body"
}

run() {
    case $1 in
    alone) beside alone sleep 2 ;;
    test-*)
        entries many 1000 4000
        operations "${1#test-}"
        beside "$1" three PATCH '/list?prefix=many&limit=1000' ;;
    each-*)
        indexes "${1#each-}" "$1" '{"path":"/a","each":true}'
        jq -nc '{a: [range(1000)]}' >"$work/body"
        beside "$1" three PUT "/kv/$1/1" ;;
    patch-*)
        entries large "${1#patch-}" 60000
        mutations "${1#patch-}" '{"type":"patch","key":["large",#],"value":{"b":#}}' >"$work/body"
        beside "$1" three POST /atomic ;;
    rows-20 | removed-20)
        [ -e "$work/rows" ] || indexes 20 rows '"/f#"'
        touch "$work/rows"
        mutations 1000 "{\"type\":\"set\",\"key\":[\"rows\",#],\"value\":{\"text\":\"$(printf '%0600d' 0)\",$(
            for i in {0..19}; do printf '"f%d":%d#,' "$i" "$((RANDOM % 90 + 10))"; done)\"g\":0}}" >"$work/body"
        if [ "$1" = rows-20 ]; then
            beside "$1" three POST /atomic
        else
            send POST /atomic >"$work/null"
            : >"$work/body"
            beside "$1" three DELETE '/list?prefix=rows&limit=1000'
        fi ;;
    bytes)
        jq -nc '{mutations: [range(20) | {type: "set", key: ["bytes", .], value: ("0123456789" * 100000)}]}' >"$work/body"
        beside "$1" three POST /atomic ;;
    fifteen)
        indexes 16 much '"/f#"'
        mutations 1000 "{\"type\":\"set\",\"key\":[\"much\",#],\"value\":{$(
            for i in {0..15}; do printf '"f%d":%d#,' "$i" "$((RANDOM % 90 + 10))"; done)\"g\":0}}" >"$work/body"
        beside "$1" fifteen ;;
    *) echo "no case $1"; return 1 ;;
    esac
}
fifteen() {
    local i
    for i in {1..15}; do send POST /atomic & done >"$work/fifteen"
    wait
    send POST /atomic | sed 's/^/alone /'
}

for case in "$@"; do
    run "$case" || exit
    echo '{}' >"$work/body"
    [ "$case" = rows-20 ] || send PUT '/indexes?prune=true' >"$work/null"
done
