#!/bin/bash
# Figures: histograms that agree with the counters beside them, everything that
# the service counts, and kindex top, which shows them.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
start_server
export KINDEX_URL=$url

sample() {
    grep -F "$1 " "$answer" | grep -v '^#' | sed 's/.* //'
}
metrics() {
    answers 200 GET /metrics
}

request POST /indexes '{"name":"by_n","prefix":["m"],"fields":["/n"]}'
for n in {1..8}; do
    request PUT "/kv/m/$n" "{\"n\":$n}"
done
for n in {1..4}; do
    request GET "/kv/m/$n"
done
request GET /kv/m/none
request PUT /kv/m/1 '1' -H 'If-None-Match: *'
request GET '/list?index=by_n'
request POST /atomic '{"mutations":[{"type":"set","key":["m",20],"value":1},{"type":"set","key":["m",21],"value":1}]}'

test_case 'histograms count what the counters count'
metrics
get='route="/kv/...",method="GET"'
is 'GETs that found' "$(sample "kindex_http_request_duration_seconds_count{$get,status=\"2xx\"}")" 4
is 'in the last bucket' "$(sample "kindex_http_request_duration_seconds_bucket{$get,status=\"2xx\",le=\"+Inf\"}")" 4
is 'and that did not' "$(sample "kindex_http_requests_total{$get,status=\"4xx\"}")" 1
is 'commits with a time' "$(sample kindex_txn_duration_seconds_count)" 10
is 'commits' "$(sample 'kindex_txn_total{result="commit"}')" 10
is 'refused by a check' "$(sample 'kindex_txn_total{result="check_failed"}')" 1
is 'batches, with the refused commit, without the declaration' "$(sample kindex_batch_commits_count)" 10
is 'commits in them' "$(sample kindex_batch_commits_sum)" 10
is 'flushes with a time are all' "$(($(sample kindex_flush_duration_seconds_count) == $(sample kindex_flushes_total)))" 1

# Buckets that shrink, counts that are not the last bucket, sums over it.
histograms() {
    awk '
        /^#/ { next }
        { name = $1; sub(/\{.*/, "", name); key = $1 }
        name ~ /_bucket$/ {
            sub(/,?le="[^"]*"/, "", key); sub(/_bucket/, "", key); sub(/\{\}$/, "", key)
            if ($2 + 0 < last[key] + 0) print key " shrinks"
            last[key] = $2; buckets[key]++
        }
        name ~ /_count$/ { sub(/_count/, "", key)
            if (buckets[key] && last[key] != $2) print key " counts " $2 " and not " last[key]
            seen += buckets[key] > 0 }
        END { print seen " histograms" }' "$1"
}

test_case 'every histogram has rising buckets, a sum and a count'
is 'the findings' "$(histograms "$answer" | grep -v ' histograms$')" ''
is 'there are many' "$(($(histograms "$answer" | sed -n 's/ histograms$//p') > 8))" 1
sed '0,/_bucket{le="0.001"} .*/s//_bucket{le="0.001"} 99/' "$answer" >"$work/shrinks"
is 'one that shrinks is found' "$(histograms "$work/shrinks" | grep -c shrinks)" 1

test_case 'each metric is in deploy/README.md, and no other'
grep '^# TYPE kindex_' "$answer" | cut -d' ' -f3 | sort >"$work/shown"
grep -oE '`kindex_[a-z_]+(\{[a-z,]*\})?`' "$(dirname "$0")/../../deploy/README.md" | tr -d '`' | sed 's/{.*//' | sort -u >"$work/described"
is 'the difference' "$(diff "$work/shown" "$work/described")" ''

# Its files may grow between a look at them and the answer.
measured() {
    sizes() { stat -c %s "$work/data/entries.db"; find "$work/data" -name 'log.*' | sort; }
    local before
    before=$(sizes)
    metrics
    [ "$(sizes)" = "$before" ]
}

test_case 'metrics show the store'
wait_until measured
is 'keys' "$(sample kindex_keys)" 10
is 'bytes of the entries' "$(sample 'kindex_store_bytes{file="entries"}')" "$(stat -c %s "$work/data/entries.db")"
is 'log files' "$(sample kindex_log_files)" "$(find "$work/data" -name 'log.*' | grep -c .)"
is 'the disk is not full' "$(sample kindex_disk_full)" 0
is 'it has room' "$(($(sample kindex_disk_free_bytes) > 0))" 1
is 'the queue has a limit' "$(sample kindex_commits_queued_max)" 4096
is 'pages in the cache' "$(($(sample kindex_page_cache_bytes) >= 8388608))" 1
is 'descriptors' "$(($(sample process_open_fds) < $(sample process_max_fds)))" 1

test_case 'metrics show watches, connections and indexes'
curl --silent --no-buffer "$url/watch?key=m/1" >"$work/events" &
watcher=$!
watched() {
    request GET /metrics # connections of former requests may just be ending
    [ "$(sample kindex_watch_streams) $(sample kindex_http_connections)" = '1 2' ]
}
wait_until watched
is 'watches' "$(sample kindex_watch_streams)" 1
is 'connections: the watch and this one' "$(sample kindex_http_connections)" 2
kill $watcher
wait $watcher
is 'progress' "$(sample 'kindex_index_build_progress_ratio{index="by_n"}')" 1
is 'conflicts' "$(sample 'kindex_index_conflicts{index="by_n"}')" 0
is 'no verification, no findings' "$(grep -c '^kindex_index_verify_problems{' "$answer")" 0
request POST /indexes/by_n/verify
until_field .state done GET /indexes/by_n/verify
metrics
is 'findings of a verification' "$(sample 'kindex_index_verify_problems{index="by_n",kind="missing"}')" 0

test_case 'metrics show the time of a backup'
is 'before' "$(sample kindex_backup_last_success_timestamp_seconds)" 0
before=$(date +%s)
curl --silent --output "$work/backup" "$url/backup"
metrics
after=$(sample kindex_backup_last_success_timestamp_seconds)
is 'after' "$((after >= before))" 1

test_case 'the metrics are those that deploy/README.md lists, each with help and type'
names() { sed -nE "s/^# $1 (kindex_[a-z_]*) .*/\1/p" "$answer" | sort; }
names TYPE >"$work/types"
names HELP >"$work/helps"
is 'names without the one or the other' "$(diff "$work/types" "$work/helps")" ''
is 'names given twice' "$(uniq -d "$work/types")" ''
grep -oE '^\| `kindex_.*' "$(dirname "$0")/../../deploy/README.md" | sed 's/ | .*//' |
    grep -oE 'kindex_[a-z_]+' | sort -u >"$work/listed"
is 'what is served and not listed, or the other way round' \
    "$(comm -3 "$work/types" "$work/listed" | tr -d '\t')" ''

test_case 'labels of metrics name no key'
is 'lines with a key' "$(grep -vE '^#' "$answer" | grep -cE '"(m|none|20|21)"|m/')" 0

# ---- kindex top --------------------------------------------------------------

test_case 'kindex top prints one report where there is no terminal'
kindex top
ends 0
is 'lines that go together' "$(grep -cE '^(requests|commits|batches|cache|disk|process)  ' <<<"$out")" 6
is 'escape sequences' "$(grep -c $'\033' <<<"$out")" 0
is 'routes' "$(grep -cE '^(GET|PUT) +/kv/\.\.\. ' <<<"$out")" 2
is 'the index' "$(grep -cE '^by_n +ready +8 ' <<<"$out")" 1

test_case 'kindex top prints its report as JSON'
kindex top -o json
ends 0
is 'commits, with the verification' "$(jq -c '[.commits, .queued]' <<<"$out")" '[11,0]'
is 'requests of a route' "$(jq -c '.routes[] | select(.route == "/kv/..." and .method == "GET") | .requests' <<<"$out")" 5
is 'latencies' "$(jq -c '[.routes[] | .p50Ms <= .p99Ms] | all' <<<"$out")" true
is 'the index' "$(jq -c '.indexes' <<<"$out")" '[{"name":"by_n","state":"ready","entries":8,"progress":1}]'

test_case 'kindex top shows how far an index is that is being built'
request POST '/indexes?paused=true' '{"name":"by_rest","prefix":["m"],"fields":["/n"]}'
kindex top --once
ends 0
is 'its line' "$(grep -cE '^by_rest +building .* [0-9.]+ %$' <<<"$out")" 1

test_case 'kindex top on a terminal redraws its report, of the time in between'
drawn() { [ "$(grep -c 'the last' "$work/screen")" -ge 3 ]; }
: >"$work/screen"
script -qfc "exec '$KINDEX' top --every 100ms" "$work/screen" >"$work/null" 2>&1 </dev/null &
typist=$!
wait_until drawn
is 'it was drawn' $? 0
is 'it begins at the top' "$(($(grep -c $'\033\[H' "$work/screen") >= 3))" 1
is 'the last picture shows only its own requests' \
    "$(tac "$work/screen" | sed '/the last/q' | grep -cE '^(PUT|POST) ')" 0
kill $typist
wait $typist 2>"$work/null"

test_case 'kindex top does not round few requests in many minutes to none'
curl -s "$url/metrics" | awk '$1 == "process_start_time_seconds" { $2 = sprintf("%.3f", $2 - 1000) }
    $1 ~ /^kindex_http_requests_total.*"GET"/ { $2 = 10 } { print }' >"$work/earlier"
node -e 'const fs = require("fs");
const listener = require("http").createServer((request, reply) => {
    reply.end(fs.readFileSync(process.argv[2]));
    listener.close();
}).listen(0, "127.0.0.1", () => fs.writeFileSync(process.argv[1], `${listener.address().port}\n`))' \
    "$work/listener" "$work/earlier" &
listener=$!
wait_until test -s "$work/listener"
kindex top --once --url "http://127.0.0.1:$(cat "$work/listener")"
ends 0
is 'their rate' "$(awk '$1 == "GET" && $2 == "/kv/..." { print ($3 > 0 && $3 < 0.1) }' <<<"$out")" 1
wait $listener

test_case 'kindex top without a server reports that no server answers'
stop_server
kindex top --once
ends 5
complains 'no server answers'
kindex top --every 1ms
ends 2

test_case 'the time of a backup survives a restart and a crash; a torn note is ignored'
start_server
metrics
is 'after a restart' "$(sample kindex_backup_last_success_timestamp_seconds)" "$after"
kill -KILL "$server"
wait "$server" 2>"$work/null"
start_server
metrics
is 'after a crash' "$(sample kindex_backup_last_success_timestamp_seconds)" "$after"
stop_server
printf '123' >"$work/data/backed-up"
start_server
metrics
is 'after a torn note' "$(sample kindex_backup_last_success_timestamp_seconds)" 0
finish
