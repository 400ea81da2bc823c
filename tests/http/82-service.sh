#!/bin/bash
# What an operator, a monitor or a program asks about the service itself.
. "$(dirname "$0")/../lib/http.sh"
start_server

test_case 'GET / names the parts of the service, which are there'
answers 200 GET /
for link in $(value '.links[]'); do
    request OPTIONS "$link"
    is "the status of OPTIONS $link" "$status" 204
done
request GET /
named=$(value '.links[] | split("/")[1]' | sort)
is 'what it has' "$("$KINDEX" serve --print-routes | awk '{ print $2 }' | cut -d / -f 2 | sort -u |
    grep -vx 'v2\|problems\|openapi.yaml\|')" "$named"

test_case 'the service is alive, ready and has a version'
answers 200 GET /livez
field .ok true
answers 200 GET /readyz
field . '{"ok":true}'
request GET '/readyz?verbose'
checks='storage accepting disk queue indexes'
[ "$ENGINE" = bdb ] || checks="$checks role"
field '[.checks[].name] | join(" ")' "$checks"
field '[.checks[].state] | unique' '["ok"]'
request GET '/readyz?verbose' '' -H 'Accept: text/plain'
header Content-Type 'text/plain*'
# shellcheck disable=SC2086 # a list of words
is 'the checks as lines' "$(cat "$answer")" "$(printf '[+]%s ok\n' $checks)"
answers 200 HEAD /livez
request GET /version
is 'it was started just now' "$(($(date +%s) - $(value .startedAt) / 1000 < 600))" 1
field '[.name, .version]' "[\"kindex\",\"$("$KINDEX" --version | cut -d' ' -f2)\"]"

test_case '/openapi.yaml and /openapi.json are served as they were built'
answers 200 GET /openapi.yaml
header Content-Type application/yaml
is 'the difference' "$(cmp "$answer" "$(dirname "$0")/../../openapi.yaml" 2>&1)" ''
answers 200 GET /openapi.json
header Content-Type application/json
is 'the difference' "$(cmp "$answer" "$(dirname "$KINDEX")/openapi.json" 2>&1)" ''
field .openapi 3.1.0

test_case 'each operation of the document is a route, and each route is in it'
value '.paths | to_entries[] | .key as $path | .value | to_entries[] | select(.value.operationId) | select(.value["x-alias-of"] == null) | .value.operationId' |
    grep -v ByQuery | sort >"$work/documented"
"$KINDEX" serve --print-routes | awk '{ print $3 }' | sort >"$work/routes"
is 'the difference' "$(diff "$work/documented" "$work/routes")" ''

test_case 'HEAD works wherever GET does, with the same headers and no body'
for path in / /livez /readyz /version /openapi.json /openapi.yaml /metrics /problems/internal \
    /list /count /indexes /kv/none /nowhere; do
    request GET "$path"
    got="$status $(header_value Content-Type)"
    request HEAD "$path"
    is "the answer to HEAD $path" "$status $(header_value Content-Type)" "$got"
    body_is ''
done
answers 200 HEAD /list '' -H 'Accept: application/x-ndjson'
header Content-Type application/x-ndjson

# Some figures to look at.
request POST /indexes '{"name":"by_n","prefix":["m"],"fields":["/n"],"unique":true}'
request PUT /kv/m/1 '{"n":1}'
request PUT /kv/m/2 '{"n":1}'
request GET /kv/m/none
request GET /list

test_case 'the history of metrics has a column for each series, and grows'
begun() { request GET /metrics/history; [ "$(value '.series.entries[-1]')" = 1 ]; }
wait_until begun
expect 200
field '[.stepMs, (.series | length), ([.series[] | length] | unique | length)]' '[10000,24,1]'
field '.from % 10000' 0
field '[.series.entries[-1], (.series.residentBytes[-1] > 1000000)]' '[1,true]'
last=$(value '.from + .stepMs * ((.series.entries | length) - 1)')
is 'its end is now' "$(($(date +%s) * 1000 - last < 60000))" 1
gives '.from' "$last" GET "/metrics/history?since=$((last - 1))"
gives '[.series[] | length] | unique' '[0]' GET '/metrics/history?since=8640000000000000'
gives .stepMs 60000 GET '/metrics/history?step=1m'
for query in step=5s step= since=x since=-1 since=8640000000000001 limit=1; do
    answers 400 GET "/metrics/history?$query"
done
"$KINDEX" history entries requestsPerSecond -n 1 --url "$url" >"$work/said"
is 'the command has a heading and a line' "$(head -1 "$work/said" | tr -s ' ') $(wc -l <"$work/said")" \
    'TIME entries requestsPerSecond 2'
is 'with the value' "$(tail -1 "$work/said" | awk '{ print $2 }')" 1
"$KINDEX" history nothing --url "$url" >"$work/said" 2>"$work/complaint"
is 'a series that is not there' "$? $(grep -c 'no such series' "$work/complaint")" '2 1'
is 'its document' "$("$KINDEX" history --step 1m -o json --url "$url" | jq .stepMs)" 60000

test_case 'metrics are in the text format of Prometheus'
answers 200 GET /metrics
header Content-Type 'text/plain; version=0.0.4*'
is 'lines that are neither comment nor sample' \
    "$(grep -vE '^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z_]+="([^"\\]|\\.)*",?)+\})? ([-+]?[0-9.]+(e[-+]?[0-9]+)?|NaN|[-+]Inf))$' "$answer")" ''
is 'the last byte' "$(tail -c 1 "$answer" | od -An -tx1 | tr -d ' ')" 0a

test_case 'each metric has one type and one help text, before its samples'
is 'types given twice' "$(grep '^# TYPE' "$answer" | cut -d' ' -f3 | sort | uniq -d)" ''
is 'samples without a type before them' \
    "$(awk '/^# TYPE/ { known[$3] = 1; next } /^#/ { next } { name = $1; sub(/\{.*/, "", name); sub(/_(bucket|sum|count)$/, "", name); if (!known[name]) print name }' "$answer" | sort -u)" ''
is 'the same sample twice' "$(grep -v '^#' "$answer" | sed 's/ [^ ]*$//' | sort | uniq -d)" ''

# The value of one sample.
sample() {
    grep -F "$1 " "$answer" | grep -v '^#' | sed 's/.* //'
}

test_case 'the metrics count the requests that were made'
is 'commits' "$(sample 'kindex_txn_total{result="commit"}')" 2
is 'refused for a unique index' "$(sample 'kindex_txn_total{result="unique"}')" 1
is 'refused otherwise' "$(sample 'kindex_txn_total{result="refused"}')" 0
is 'PUTs that were stored' "$(sample 'kindex_http_requests_total{route="/kv/...",method="PUT",status="2xx"}')" 1
is 'PUTs that were refused' "$(sample 'kindex_http_requests_total{route="/kv/...",method="PUT",status="4xx"}')" 1
is 'entries of the index' "$(sample 'kindex_index_entries{index="by_n"}')" 1
is 'this request is in flight' "$(sample kindex_http_requests_in_flight)" 1

test_case 'no metric names a key'
is 'lines with a key' "$(grep -c 'm/1' "$answer")" 0

finish
