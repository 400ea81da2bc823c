#!/bin/bash
# A real Prometheus scrapes the server and evaluates the alert rules; the
# dashboard and the rules ask for nothing that there is not.
. "$(dirname "$0")/../lib/http.sh"
needs prometheus promtool
here=$(dirname "$0")/..
deploy=$here/../deploy
rules=$deploy/prometheus/kindex-rules.yaml
dashboard=$deploy/grafana/kindex.json
stories=("$here"/prometheus/*-test.yaml)
prometheus='' pid=''
trap 'stop_prometheus; leave' EXIT

# Runs the server's monitor on a free port, which its log names.
start_prometheus() {
    sed "s/127.0.0.1:4512/${url#http://}/; s/interval: 15s/interval: 200ms/" \
        "$deploy/prometheus/prometheus.yaml" >"$work/prometheus.yaml"
    cp "$rules" "$work"
    : >"$work/prometheus.log"
    prometheus --config.file="$work/prometheus.yaml" \
        --storage.tsdb.path="$work/tsdb" --web.listen-address=127.0.0.1:0 \
        2>"$work/prometheus.log" >"$work/null" &
    pid=$!
    wait_until prometheus_listens
    prometheus=http://$(sed -n 's/.*msg="Listening on" address=//p' "$work/prometheus.log")
    [ "$prometheus" != http:// ] || { cat "$work/prometheus.log"; exit 1; }
}

prometheus_listens() {
    grep -q 'msg="Listening on"' "$work/prometheus.log" ||
        ! kill -0 "$pid" 2>"$work/null"
}

stop_prometheus() {
    [ -z "$pid" ] || kill "$pid" 2>"$work/null"
    [ -z "$pid" ] || wait "$pid"
    pid=''
}

# api PATH FILTER: what jq makes of an answer of Prometheus.
api() {
    curl --silent --max-time 10 "$prometheus/api/v1/$1" >"$work/api" || return 1
    jq -cr "$2" "$work/api"
}

# The tests of one alert, without the others.
tests_of() {
    awk -v name="  - name: $1" '/^  - name: / { on = $0 == name || index($0, name ",") == 1; seen = 1 }
        !seen || on' "$(grep -l "^  - name: $1" "${stories[@]}")"
}

# expressions MODE SOURCE FILE...: its findings, or "ok".
expressions() {
    if node "$here/prometheus/expressions.js" "$@" >"$work/expressions" 2>&1
    then echo ok; else cat "$work/expressions"; fi
}

is_up() { [ "$(api targets '.data.activeTargets[0].health')" = up ]; }
is_down() { [ "$(api targets '.data.activeTargets[0].health')" = down ]; }
all_evaluated() {
    [ "$(api rules '[.data.groups[].rules[] | .health] | unique')" = '["ok"]' ]
}
shows_all() { shown=$(expressions query "$prometheus" "$dashboard") && [ "$shown" = ok ]; }
alerts_of() { api alerts ".data.alerts[].labels | select(.alertname == \"$1\") | .index // \"some\""; }
conflict_is_seen() { [ "$(alerts_of KindexIndexConflicted)" = by_twice ]; }
absence_is_seen() { [ "$(alerts_of KindexDown)" = some ]; }

test_case 'the alert rules pass their tests'
is 'promtool test rules' "$(promtool test rules "${stories[@]}" >"$work/promtool" 2>&1 || cat "$work/promtool")" ''

test_case 'the test of a rule fails without it'
mkdir -p "$work/deploy/prometheus" "$work/tests/prometheus"
mapfile -t alerts < <(sed -n 's/.*- alert: //p' "$rules")
for alert in "${alerts[@]:0:$(some_of ${#alerts[@]})}"; do
    tests_of "$alert" >"$work/tests/prometheus/rules-test.yaml"
    sed "s/- alert: $alert\$/- alert: Other/" "$rules" >"$work/deploy/prometheus/kindex-rules.yaml"
    promtool test rules "$work/tests/prometheus/rules-test.yaml" >"$work/promtool" 2>&1
    is "the exit status without $alert" $? 1
    is 'what was not there' "$(grep -c "^ *exp:.*alertname=\"$alert\"" "$work/promtool")" 1
done

start_server
answers 201 POST /indexes '{"name":"by_n","prefix":["m"],"fields":["/n"]}'
answers 201 POST /indexes '{"name":"mail_due","prefix":["mail"],"fields":["/due"],"queue":{}}'
request PUT /kv/m/1 '{"n":1,"twice":1}'
request PUT /kv/m/2 '{"n":2,"twice":1}'
request PUT '/kv/m/3?ttl=1ms' '{"n":3}'
request GET /kv/m/1
request GET '/list?index=by_n'
request POST '/indexes/by_n/verify'
request POST /indexes '{"name":"by_twice","prefix":["m"],"fields":["/twice"],"unique":true}'
until_field .state conflicted GET /indexes/by_twice

test_case 'every metric of dashboard and rules is one that the server shows'
curl --silent "$url/metrics" >"$work/metrics"
is 'what promtool says of /metrics' "$(promtool check metrics <"$work/metrics" 2>&1)" ''
is 'the names' "$(expressions names "$work/metrics" "$dashboard" "$rules")" ok

test_case 'a rule or panel that names an unknown metric is found'
sed '0,/kindex_txn_total/s//kindex_txns_total/' "$rules" >"$work/wrong.yaml"
is 'the finding' "$(expressions names "$work/metrics" "$work/wrong.yaml" | head -1)" \
    'KindexCommitErrors: there is no metric kindex_txns_total'
sed '0,/kindex_http_request_duration_seconds_bucket/s//kindex_http_request_duration_seconds/' "$dashboard" >"$work/wrong.json"
is 'the finding' "$(expressions names "$work/metrics" "$work/wrong.json" | head -1)" \
    'Latency, p99 by route: there is no metric kindex_http_request_duration_seconds'

test_case 'Prometheus scrapes the server'
start_prometheus
wait_until is_up
is 'the target' "$(api targets '.data.activeTargets[0] | [.health, .lastError]')" '["up",""]'
is 'its version' "$(api 'query?query=kindex_build_info' '.data.result[0].metric.version')" \
    "$("$KINDEX" --version | cut -d' ' -f2)"

test_case 'Prometheus understands all rules'
wait_until all_evaluated
is 'their health' "$(api rules '[.data.groups[].rules[] | .health] | unique')" '["ok"]'
is 'their number' "$(api rules '[.data.groups[].rules[]] | length')" "$(grep -c -- '- alert:' "$rules")"

test_case 'every panel of the dashboard has data'
wait_until shows_all
is 'the panels' "$shown" ok
sed '0,/sum by (method, route) (rate/s//sum by (method, route) (rat/' "$dashboard" >"$work/wrong.json"
is 'a wrong expression' "$(expressions query "$prometheus" "$work/wrong.json" | grep -c 'unknown function')" 1

test_case 'an alert names an index with conflicts'
wait_until conflict_is_seen
is 'the index of the alert' "$(alerts_of KindexIndexConflicted)" by_twice
is 'alerts that did not wait' "$(api alerts '[.data.alerts[] | select(.state == "firing") | .labels.alertname]')" '[]'

test_case 'an alert fires when the server is gone'
stop_server
wait_until is_down
wait_until absence_is_seen
is 'the alert' "$(alerts_of KindexDown)" some

finish
