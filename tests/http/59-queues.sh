#!/bin/bash
# Queues: jobs are claimed in their order, by one client at a time, and a receipt
# is valid until its lease ends.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
start_server
export KINDEX_URL=$url

mail='{"name":"mail_due","prefix":["mail"],"fields":["/due"],"queue":{"lease":"60s","retries":["1h"],"dead":["dead","mail"]}}'
kinds='{"name":"task_due","prefix":["tasks"],"fields":["/kind","/due"],"queue":{"lease":"3s"}}'

put() { # KEY VALUE
    request PUT "/kv/$1" "$2"
    [ "$status" = 200 ] || expect 201
}
# Claims, and prints the last key parts of the jobs.
claims() { # QUEUE [QUERY]
    request POST "/queues/$1/claim?${2-}"
    expect 200
    value '[.jobs[].key[-1]] | join(" ")'
}
receipts() { value '[.jobs[].receipt]'; }
change() { # QUEUE WHAT RECEIPTS [MEMBERS]
    request POST "/queues/$1/$2" "{\"receipts\":$3${4:+,$4}}"
}

test_case 'a queue is an index with the member queue'
gives .state ready POST /indexes "$mail"
field .queue '{"lease":"1m","retries":["1h"],"dead":["dead","mail"]}'
gives '[.queues[].name]' '["mail_due"]' GET /queues
answers 200 POST /indexes "$mail"
request POST /indexes "$kinds"
expect 201
field .queue '{"lease":"3s","retries":[]}'

test_case 'a declaration that no queue can have is refused, with the place'
while IFS='|' read -r members pointer words; do
    answers 400 bad-index-definition POST /indexes "{\"name\":\"i\",$members}"
    is "the pointer for $members" "$(value '.pointer // ""')" "$pointer"
    detail=$(value .detail)
    [[ $detail != *"$words"* ]] || detail=$words
    is "the detail for $members" "$detail" "$words"
done <<'END'
"prefix":["q"],"fields":["/due"],"queue":{"lease":"1"}|/queue/lease|the lease is a whole number with a unit
"prefix":["q"],"fields":["/due"],"queue":{"retries":["1s",2]}|/queue/retries/1|the pause before a retry
"prefix":["q"],"fields":["/due"],"queue":{"retries":"1s"}|/queue/retries|array of pauses
"prefix":["q"],"fields":["/due"],"queue":{"dead":[]}|/queue/dead|at least one part
"prefix":["q"],"fields":["/due"],"queue":{"dead":["q","dead"]}|/queue/dead|outside of the queue's
"prefix":["q","a"],"fields":["/due"],"queue":{"dead":["q"]}|/queue/dead|outside of the queue's
"prefix":["q"],"fields":["/due"],"queue":{"lese":"1s"}|/queue/lese|did you mean "lease"
"prefix":["q"],"fields":["/due"],"queue":true|/queue|
"prefix":[],"fields":["/due"],"queue":{}||needs a prefix
"prefix":["q"],"fields":["/due"],"unique":true,"queue":{}||neither unique
"prefix":["q"],"fields":["/due"],"store":"value","queue":{}||stores pointers
"prefix":["q"],"fields":[{"key":1}],"queue":{}||the path of the time
"prefix":["q"],"fields":[{"path":"/due","order":"desc"}],"queue":{}||the path of the time
"prefix":["mail"],"fields":["/due"],"queue":{}|/prefix|at most one queue: the prefix overlaps that of index mail_due
"prefix":["mail","now"],"fields":["/due"],"queue":{}|/prefix|at most one queue
END

test_case 'a job is due when its value says, and at once if it says nothing'
put mail/c '{}'
put mail/a '{"due":0}'
put mail/b '{"due":"2020-01-01T00:00:00Z"}'
put mail/d '{"due":1500000000000}'
put mail/later '{"due":"2999-01-01T00:00:00+01:00"}'
put mail/null '{"due":null}'
gives '[.due, .leased, .waiting, .dead]' '[5,0,1,0]' GET /queues/mail_due
field .oldestDueAt 1500000000000
for due in '"tomorrow"' true '[1]' 1e300 '"Invalid Date"'; do
    answers 422 not-indexable PUT /kv/mail/e "{\"due\":$due}"
    field .pointer /due
done

test_case 'jobs are claimed in the order of their times and keys, each once'
is 'the first' "$(claims mail_due)" a
field '[.more, .jobs[0].attempts, (.jobs[0].value), (.jobs[0] | has("error"))]' '[true,1,{"due":0},false]'
first=$(receipts)
is 'the rest' "$(claims mail_due limit=10)" 'c null d b'
field .more false
rest=$(receipts)
is 'nothing is left' "$(claims mail_due limit=10)" ''
field .versionstamp null
gives '[.due, .leased, .waiting, .attempts]' '[0,5,1,1]' GET /queues/mail_due

test_case 'an acknowledged job is gone, and its receipt is stale'
change mail_due ack "$first"
field '[.ok, .jobs]' '[true,1]'
request GET /kv/mail/a
expect 404
answers 409 receipt-stale POST /queues/mail_due/ack "{\"receipts\":$first}"
field '[.mutation, .key]' '[0,["mail","a"]]'

test_case 'all receipts of a request are carried out, or none'
mixed=$(jq -c --argjson f "$first" '. + $f' <<<"$rest")
answers 409 receipt-stale POST /queues/mail_due/ack "{\"receipts\":$mixed}"
field .mutation 4
gives .leased 4 GET /queues/mail_due
twice=$(jq -c '[.[0], .[0]]' <<<"$rest")
answers 409 receipt-stale POST /queues/mail_due/ack "{\"receipts\":$twice}"

test_case 'a released job is due again, at once or later, as if it had not been claimed'
change mail_due release "$(jq -c '[.[0]]' <<<"$rest")"
expect 200
is 'again' "$(claims mail_due limit=10)" c
field '.jobs[0].attempts' 1
again=$(receipts)
change mail_due release "$again" '"delay":"1h"'
expect 200
is 'not yet' "$(claims mail_due limit=10)" ''
gives '[.leased, .waiting]' '[3,2]' GET /queues/mail_due
answers 409 receipt-stale POST /queues/mail_due/extend "{\"receipts\":$again}"

test_case 'an extended lease keeps its receipt'
second=$(jq -c '[.[1]]' <<<"$rest")
change mail_due extend "$second" '"lease":"2h"'
expect 200
change mail_due extend "$second"
expect 200
change mail_due ack "$second"
expect 200

test_case 'a write of a leased job by somebody else makes its receipt stale'
third=$(jq -c '[.[2]]' <<<"$rest")
put mail/d '{"due":0,"changed":true}'
answers 409 receipt-stale POST /queues/mail_due/ack "{\"receipts\":$third}"
field '.detail | contains("written")' true
is 'it is due' "$(claims mail_due)" d
field '[.jobs[0].attempts, .jobs[0].value.changed]' '[1,true]'
third=$(receipts)
request PATCH /kv/mail/d '{"more":1}' -H 'Content-Type: application/merge-patch+json'
answers 409 receipt-stale POST /queues/mail_due/fail "{\"receipts\":$third}"

test_case 'a failed job waits for its retry, and then is dead with its error'
is 'claimed' "$(claims mail_due)" d
third=$(receipts)
change mail_due fail "$third" '"error":"no \"route\""'
expect 200
is 'it waits' "$(claims mail_due)" ''
gives .attempts 1 GET /queues/mail_due
put mail/f '{"n":1}'
is 'claimed' "$(claims mail_due)" f
change mail_due fail "$(receipts)" '"error":"first","delay":"1ms"'
expect 200
until_field '.jobs[0].error' first POST '/queues/mail_due/claim'
field '.jobs[0].attempts' 2
change mail_due fail "$(receipts)" '"error":"second"'
stamp=$(value .versionstamp)
expect 200
gives '[.entries[] | [.key, .value]]' "[[[\"dead\",\"mail\",\"mail\",\"f\",\"$stamp\"],{\"n\":1}]]" GET '/list?prefix=dead'
request GET /kv/mail/f
expect 404

test_case 'GET /queues counts the jobs of each queue, and so do the metrics'
put mail/retry '{"due":1}'
is 'claimed' "$(claims mail_due)" retry
change mail_due fail "$(receipts)" '"delay":"1h"'
put mail/old '{"due":1500000000000}'
counts='[.due, .leased, .waiting, .dead, .retries, .attempts, .oldestDueAt]'
request GET /queues/mail_due
shown=$(value "$counts")
gives "[.queues[] | select(.name == \"mail_due\") | $counts]" "[$shown]" GET /queues
field '.queues[1].due' 0
figure() { sed -n "s/^kindex_queue_$1 //p" "$answer"; }
answers 200 GET /metrics
is 'the metrics' "[$(for state in due leased waiting dead; do figure "jobs{index=\"mail_due\",state=\"$state\"}"; done | paste -sd,),$(figure 'retries{index="mail_due"}'),1,1500000000000]" "$shown"
is 'the oldest' "$(figure 'oldest_due_timestamp_seconds{index="mail_due"}')" 1500000000
is 'of no due job' "$(figure 'oldest_due_timestamp_seconds{index="task_due"}')" 0
request DELETE /kv/mail/retry
request DELETE /kv/mail/old

test_case 'lists and exports show lease, attempts and error only on request'
put mail/l1 '{}'
put mail/l2 '{}'
is 'claimed' "$(claims mail_due 'limit=2')" 'l1 l2'
ends=$(value '.jobs[0].leaseEndsAt')
change mail_due fail "$(value '[.jobs[1].receipt]')" '"error":"no \"route\""'
gives '[.entries[] | select(.key[1] | test("^l[12]$")) | has("job")] | unique' '[false]' GET '/list?prefix=mail'
gives '[.entries[] | select(.key[1] | test("^l[12]$")) | .job | [.attempts, .leaseEndsAt, .notBefore > 0, .error]]' \
    "[[1,$ends,false,null],[1,null,true,\"no \\\"route\\\"\"]]" GET '/list?prefix=mail&verbose=true'
gives '[.entries[] | select(.key[1] == "l1") | .job.leaseEndsAt]' "[$ends]" POST /list '{"ranges":[{"prefix":["mail"]}],"verbose":true}'
gives '[.entries[] | [.job.attempts, .job.error, .job.notBefore]]' '[[2,"second",null]]' GET '/list?prefix=dead&verbose'
kindex export mail --leases
is 'exported' "$(jq -c 'select(.key[1] == "l1") | .job.attempts' "$work/out")" 1
kindex export mail
is 'exported' "$(jq -c 'select(has("job"))' "$work/out")" ''
kindex queue peek mail_due -o json
is 'peeked' "$(jq -c 'select(.key[1] == "l2") | .job.error' "$work/out")" '"no \"route\""'
request DELETE /kv/mail/l1
request DELETE /kv/mail/l2

test_case 'a dead job that comes into another queue has no attempts there'
request POST /indexes '{"name":"first_due","prefix":["first"],"fields":["/due"],"queue":{"dead":["second"]}}'
request POST /indexes '{"name":"second_due","prefix":["second"],"fields":["/due"],"queue":{"retries":["1h"]}}'
put first/1 '{}'
is 'claimed' "$(claims first_due)" 1
change first_due fail "$(receipts)" '"error":"lost"'
expect 200
gives '[.due, .retries, .attempts]' '[1,0,0]' GET /queues/second_due
request POST /queues/second_due/claim
field '.jobs[0] | [.attempts, .error]' '[1,"lost"]'
change second_due fail "$(receipts)"
gives '[.waiting, .dead]' '[1,0]' GET /queues/second_due

test_case 'a job whose move an index refuses stays in the queue as dead'
request POST /indexes '{"name":"dead_by_n","prefix":["dead","mail"],"fields":["/n"],"unique":true}' -H 'Prefer: wait=30'
put mail/g '{"n":1}'
is 'claimed' "$(claims mail_due)" g
change mail_due fail "$(receipts)" '"delay":"1ms"'
until_field '.jobs[0].attempts' 2 POST '/queues/mail_due/claim'
change mail_due fail "$(receipts)" '"error":"refused"'
expect 200
request GET /kv/mail/g
body_is '{"n":1}'
gives .dead 1 GET /queues/mail_due
is 'no claim finds it' "$(claims mail_due limit=10)" ''
put mail/g '{"n":2}'
is 'a write makes it due' "$(claims mail_due)" g
field '.jobs[0].attempts' 1

test_case 'dead jobs that one commit cannot move stay in the queue'
request POST /indexes '{"name":"wide_due","prefix":["wide"],"fields":["/due"],"queue":{"dead":["graves"]}}'
request POST /indexes '{"name":"graves_by_tag","prefix":["graves"],"fields":[{"path":"/tags","each":true}]}' -H 'Prefer: wait=30'
jq -nc '[range(1000) | tostring] as $tags | range(400) | {key: ["wide", .], value: {tags: $tags}}' >"$work/wide"
request POST /bulk "@$work/wide" -H 'Content-Type: application/x-ndjson'
expect 200
request POST '/queues/wide_due/claim?limit=400'
is 'the number of jobs' "$(value '.jobs | length')" 400
change wide_due fail "$(receipts)"
expect 200
gives '[.due, .leased, .dead]' '[0,0,400]' GET /queues/wide_due
gives .count 0 GET '/count?prefix=graves'

test_case 'a queue without a prefix for dead jobs keeps them'
put tasks/x '{"kind":"a"}'
is 'claimed' "$(claims task_due)" x
change task_due fail "$(receipts)" '"error":"gone"'
expect 200
gives '[.due, .dead]' '[0,1]' GET /queues/task_due
request DELETE /kv/tasks/x

test_case 'with a leading field there is a queue for each value, which is folded as declared'
for n in 1 2 3; do
    put tasks/$n '{"kind":"a"}'
    put tasks/later-$n '{"kind":"a","due":"2999-01-01T00:00:00Z"}'
    put tasks/b$n '{"kind":"b"}'
done
put tasks/none '{}'
is 'of b' "$(claims task_due 'prefix=b&limit=2')" 'b1 b2'
is 'of all' "$(claims task_due limit=10)" '1 2 3 b3'
is 'of none' "$(claims task_due prefix=c)" ''

test_case 'a lease that runs out makes the job due again, and a late receipt is refused'
until_field '.jobs[0].attempts' 2 POST '/queues/task_due/claim?prefix=b'
late=$(receipts)
until_field .leased 0 GET /queues/task_due
answers 409 receipt-stale POST /queues/task_due/ack "{\"receipts\":$late}"
field '.detail | contains("lease has run out")' true
is 'of b' "$(claims task_due 'prefix=b&limit=3')" 'b2 b3 b1'

test_case 'a commit acknowledges jobs together with their results, or does neither'
until_field .leased 0 GET /queues/task_due
put mail/once '{"due":0}'
put mail/again '{"due":0,"runs":1}'
put tasks/once '{"kind":"z","due":0}'
is 'of mail' "$(claims mail_due limit=10)" 'again once'
both=$(receipts)
is 'of tasks' "$(claims task_due 'prefix=z')" once
later=$(receipts)
change task_due extend "$later" '"lease":"1h"'
expect 200
all=$(jq -c --argjson w "$later" '. + $w' <<<"$both")
mutations='[{"type":"set","key":["done"],"value":1},{"type":"set","key":["mail","again"],"value":{"due":"2999-01-01T00:00:00Z","runs":2},"return":"new"}]'
answers 409 check-failed POST /atomic "{\"checks\":[{\"key\":[\"done\"],\"exists\":true}],\"ack\":$all,\"mutations\":$mutations}"
answers 409 receipt-stale POST /atomic "{\"mutations\":$mutations,\"ack\":$(jq -c --argjson l "$late" '. + $l' <<<"$all")}"
field '[.ack, .mutation, .key]' '[3,null,["tasks","b1"]]'
answers 409 type-mismatch POST /atomic "{\"ack\":$all,\"mutations\":[{\"type\":\"set\",\"key\":[\"done\"],\"value\":1},{\"type\":\"sum\",\"key\":[\"mail\",\"c\"],\"value\":1}]}"
field '[.ack, .mutation]' '[null,1]'
request POST /atomic "{\"ack\":$all,\"mutations\":$mutations,\"dry\":true}"
expect 200
request GET /kv/done
expect 404
gives .leased 1 GET /queues/task_due
request POST /atomic "{\"mutations\":$mutations,\"ack\":$all}"
expect 200
field '[.results[] | .value?]' '[null,{"due":"2999-01-01T00:00:00Z","runs":2}]'
for key in mail/once tasks/once; do
    request GET "/kv/$key"
    expect 404
done
gives .runs 2 GET /kv/mail/again
gives . 1 GET /kv/done
answers 409 receipt-stale POST /atomic "{\"ack\":$all}"
field .ack 0
request POST /atomic '{"ack":[]}'
expect 200

test_case 'a commit with an Idempotency-Key acknowledges once'
put mail/once '{"due":0}'
is 'claimed' "$(claims mail_due limit=10)" once
once=$(receipts)
for try in first repeated; do
    request POST /atomic "{\"ack\":$once,\"mutations\":[{\"type\":\"sum\",\"key\":[\"runs\"],\"value\":1,\"return\":\"new\"}]}" -H 'Idempotency-Key: "once"'
    is "the $try status" "$status" 200
    field '[.results[].value]' '[1]'
done

test_case 'a commit refuses malformed receipts, and more than its limit'
answers 400 bad-value POST /atomic '{"ack":["AAAA"]}'
field .pointer /ack/0
answers 400 bad-request POST /atomic '{"ack":"AAAA"}'
field .pointer /ack
many=$(jq -nc --argjson l "$late" '[range(600) | $l[0]]')
deletes=$(jq -nc '[range(401) | {type: "delete", key: ["n", .]}]')
answers 413 commit-too-large POST /atomic "{\"ack\":$many,\"mutations\":$deletes}"
field '.detail | contains("1001")' true
answers 409 receipt-stale POST /atomic "{\"ack\":$many}"

test_case 'a claim passes over more leading values without due jobs than one commit can'
request POST /indexes '{"name":"many_due","prefix":["many"],"fields":["/kind","/due"],"queue":{}}' -H 'Prefer: wait=30'
seq 120000 299999 | sed 's/.*/{"key":["many",&],"value":{"kind":"a&","due":"2999-01-01T00:00:00Z"}}/' >"$work/many"
request POST /bulk "@$work/many" -H 'Content-Type: application/x-ndjson'
expect 200
put many/last '{"kind":"z"}'
is 'the job behind them' "$(claims many_due)" last
is 'no other' "$(claims many_due)" ''
field .more false

# Claims one job in the background, and notes its last key part.
wait_claim() { # FILE QUEUE
    curl -s -X POST "$url/queues/$2/claim?wait=60" | jq -r '.jobs[0].key[-1]' >"$work/$1" &
    waiting+=("$!")
}
count_waiting() {
    curl -s "$url/metrics" | grep -qx "kindex_watch_streams $1"
}

test_case 'a claim waits for a job, and each job ends one wait'
request POST /indexes '{"name":"wait_due","prefix":["wait"],"fields":["/kind","/due"],"queue":{}}'
request POST '/queues/wait_due/claim?wait=1'
expect 200
field .jobs '[]'
waiting=()
for n in 1 2 3; do
    wait_claim "w$n" wait_due
    wait_until count_waiting "$n"
done
for n in 1 2; do
    put "wait/$n" "{\"kind\":\"k$n\"}"
    wait_until count_waiting $((3 - n))
done

test_case 'a job whose time comes ends the wait of a claim'
put wait/3 "{\"kind\":\"k3\",\"due\":$(($(date +%s%3N) + 300))}"
wait "${waiting[@]}"
is 'the jobs' "$(sort "$work"/w[123] | tr '\n' ' ')" '1 2 3 '

test_case 'a lease that runs out ends the wait of a claim'
request POST '/queues/task_due/claim?limit=100'
put tasks/left '{"kind":"left"}'
is 'the job' "$(claims task_due prefix=left)" left
is 'the same job' "$(claims task_due 'prefix=left&wait=60')" left
field '.jobs[0].attempts' 2
answers 400 bad-parameter POST '/queues/wait_due/claim?wait=61'

test_case 'receipts and queues that are not are refused'
answers 404 queue-not-found POST /queues/nothing/claim
answers 404 queue-not-found POST /queues/dead_by_n/claim
answers 404 queue-not-found GET /queues/dead_by_n
answers 404 queue-not-found POST /queues/nothing/ack "{\"receipts\":$late}"
answers 409 receipt-stale POST /queues/mail_due/ack "{\"receipts\":$late}"
field '.detail | contains("not of this queue")' true
answers 400 bad-value POST /queues/mail_due/ack '{"receipts":["AAAA"]}'
field .pointer /receipts/0
answers 400 bad-value POST /queues/mail_due/ack '{"receipts":["?"]}'
answers 400 bad-request POST /queues/mail_due/ack '{"receipts":[]}'
answers 400 bad-request POST /queues/mail_due/ack '{}'
answers 400 unknown-member POST /queues/mail_due/ack "{\"receipts\":$late,\"delay\":\"1s\"}"
answers 400 bad-request POST /queues/mail_due/fail "{\"receipts\":$late,\"error\":\"$(printf 'x%.0s' {1..1025})\"}"
answers 400 bad-parameter POST '/queues/mail_due/claim?limit=0'
answers 400 bad-request POST /queues/mail_due/fail "{\"receipts\":$late,\"delay\":\"1\"}"
field .detail 'delay is "1"; it takes a whole number with a unit: 250ms, 60s, 5m, 1h or 7d.'
answers 400 bad-request POST /queues/mail_due/extend "{\"receipts\":$late,\"lease\":5}"
field .detail 'lease is a string with a unit, such as "60s".'

test_case 'a receipt that is sent again with its Idempotency-Key has the same answer'
put tasks/twice '{"kind":"twice"}'
answers 400 bad-request POST '/queues/task_due/claim?prefix=twice' '' -H 'Idempotency-Key: "claim"'
request POST '/queues/task_due/claim?prefix=twice'
twice=$(receipts)
for try in first repeated; do
    request POST /queues/task_due/ack "{\"receipts\":$twice}" -H 'Idempotency-Key: "twice"'
    is "the $try status" "$status" 200
    field .jobs 1
done
answers 409 receipt-stale POST /queues/task_due/ack "{\"receipts\":$twice}"

test_case 'kindex queue claims jobs, and returns their receipts'
request POST /indexes '{"name":"tool_due","prefix":["tool"],"fields":["/kind","/due"],"queue":{"retries":["1h"]}}'
kindex queue claim tool_due
ends 3
prints ''
for n in 1 2 3 4; do put tool/$n "{\"kind\":\"k$((n % 2))\"}"; done
kindex queue ls -o raw
ends 0
prints $'first_due\nmail_due\nmany_due\nsecond_due\ntask_due\ntool_due\nwait_due\nwide_due'
kindex queue claim tool_due -p k1 -n 2
ends 0
is 'the jobs' "$(jq -c '[.key[1], .attempts, .value.kind]' "$work/out")" $'["1",1,"k1"]\n["3",1,"k1"]'
first=$(jq -r .receipt "$work/out" | head -1)
second=$(jq -r .receipt "$work/out" | tail -1)
kindex queue show tool_due -o json
is 'the counts' "$(jq -c '[.due, .leased]' "$work/out")" '[2,2]'
kindex queue ack tool_due "$first"
ends 0
prints 1
request GET /kv/tool/1
expect 404
kindex queue ack tool_due "$second" "$first"
ends 4
complains 'no longer valid'
kindex queue fail tool_due "$second" --delay 1ms --error 'no "route"'
ends 0
until_field '.jobs[0].error' 'no "route"' POST '/queues/tool_due/claim?prefix=k1'
kindex queue claim tool_due -o raw
ends 0
kindex queue release tool_due "$(cat "$work/out")" --delay 1h
ends 0
gives '[.due, .leased, .waiting]' '[1,1,1]' GET /queues/tool_due
kindex queue claim tool_due -o table
ends 0
is 'the columns' "$(awk '{print $1, $3}' "$work/out")" '1 tool/4'
kindex queue peek tool_due -n 1 -o raw
ends 0
prints tool/4
kindex queue claim tool_due --wait 1 -p k0
ends 3
kindex queue claim nothing
ends 3
complains 'there is no queue nothing'
kindex queue ack tool_due
ends 2

test_case 'kindex queue work runs a command for each job'
request POST /indexes '{"name":"run_due","prefix":["run"],"fields":["/due"],"queue":{"lease":"900ms","retries":["1h"]}}'
for n in 1 2 3; do put "run/$n" "{\"n\":$n}"; done
printf '%s\n' '#!/bin/bash' 'read -r job' 'echo "$job" >>"$1"' \
    '[[ $job != *"\"n\":2"* ]] || { echo "no route" >&2; exit 3; }' >"$work/command"
chmod +x "$work/command"
kindex queue work run_due --once -- "$work/command" "$work/ran"
ends 0
is 'the jobs' "$(jq -c '[.key[1], .value.n, .attempts]' "$work/ran")" $'["1",1,1]\n["2",2,1]\n["3",3,1]'
gives '[.due, .leased, .waiting, .attempts]' '[0,0,1,1]' GET /queues/run_due
kindex queue work run_due --once -- "$work/nothing"
ends 0

test_case 'kindex queue work extends the lease, and passes the end of a failure on'
put run/2 '{"n":2}'
kindex queue work run_due --once --workers 2 -- bash -c 'sleep 2; echo lost >&2; kill -9 $$'
ends 0
gives '[.due, .leased, .waiting, .attempts]' '[0,0,1,1]' GET /queues/run_due

test_case 'kindex queue work finishes its job after a signal, and releases it after a second'
put run/2 '{"n":2}'
mkfifo "$work/begun" "$work/go"
start_work() {
    "$KINDEX" queue work run_due -- bash -c 'echo $$ >"$0"; read -r _ <"$1"' "$work/begun" "$work/go" 2>/dev/null &
    worker=$!
    read -r command <"$work/begun"
}
start_work
kill -TERM "$worker"
echo >"$work/go"
wait "$worker"
is 'the exit status' $? 0
gives '[.due, .leased, .waiting]' '[0,0,0]' GET /queues/run_due
put run/2 '{"n":2}'
start_work
while kill -TERM "$worker" 2>/dev/null; do pass_a_moment; done
wait "$worker"
is 'the exit status' $? 0
kill -0 "$command" 2>/dev/null
is 'the command is gone' $? 1
gives '[.due, .leased, .waiting, .attempts]' '[1,0,0,0]' GET /queues/run_due

test_case 'lease, attempts and error outlive a restart, and verification agrees'
before=$(request GET /queues/mail_due && value '[.due, .leased, .waiting, .dead, .attempts]')
stop_server -KILL
start_server
is 'the same' "$(request GET /queues/mail_due && value '[.due, .leased, .waiting, .dead, .attempts]')" "$before"
request POST /indexes/mail_due/verify
until_field '[.state, .missing, .dangling, .stale]' '["done",0,0,0]' GET /indexes/mail_due/verify

test_case 'a queue that is declared over entries is built from them'
request DELETE /indexes/mail_due
expect 204
gives .state ready POST /indexes "$mail" -H 'Prefer: wait=30'
is 'the same' "$(request GET /queues/mail_due && value '[.due, .leased, .waiting, .dead, .attempts]')" "$before"
finish
