#!/bin/bash
# Rules: what entries under a prefix must be, whichever way they are written.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/rules.sh"
. "$(dirname "$0")/../lib/cli.sh"
start_server
export KINDEX_URL=$url

order='{"type":"object","required":["status","total"],"properties":{"status":{"enum":["open","paid"]},"total":{"type":"number","minimum":0}}}'

test_case 'a rule is declared for a prefix, and its text has one form'
answers 201 PUT /rules/orders '{"prefix":["orders"],"schema":{ "type": "object",
    "required": ["status","total"], "properties": {"status":{"enum":["open","paid"]},"total":{"type":"number","minimum":0}} }}'
field '[.name, .prefix, .state, .violations]' '["orders",["orders"],"ready",0]'
field .schema "$order"
answers 200 PUT /rules/orders "{\"name\":\"orders\",\"prefix\":[\"orders\"],\"schema\":$order}"
gives '[.rules[].name]' '["orders"]' GET /rules
gives '[.code, .rule]' '["rule-not-found","order"]' GET /rules/order

test_case 'a declaration that is no rule is refused, with the place'
while IFS='|' read -r members pointer words; do
    answers 400 bad-rule-definition PUT /rules/r "{$members}"
    is "the pointer for $members" "$(value '.pointer // ""')" "$pointer"
    detail=$(value .detail)
    [[ $detail != *"$words"* ]] || detail=$words
    is "the detail for $members" "$detail" "$words"
done <<'END'
"bounds":{"min":0}||needs a prefix
"prefix":["r"]||demands something
"prefix":["r"],"bounds":{}|/bounds|a min, a max or both
"prefix":["r"],"bounds":{"min":2,"max":1}|/bounds|greater than the max
"prefix":["r"],"bounds":{"min":"0"}|/bounds/min|a bound is a number
"prefix":["r"],"bound":{"min":0}|/bound|did you mean "bounds"
"prefix":["r"],"schema":{"type":"strng"}|/schema/type|
"prefix":["r"],"schema":{"properties":{"a":{"minimun":1}}}|/schema/properties/a/minimun|
"prefix":["r"],"ttl":{}|/ttl|a default, a max or a from
"prefix":["r"],"ttl":{"default":"2d","max":"1d"}|/ttl|longer than the max
"prefix":["r"],"ttl":{"default":"soon"}|/ttl/default|a whole number with a unit
"prefix":["r"],"ttl":{"from":""}|/ttl/from|a path in the value
"prefix":["r"],"name":"s","bounds":{"min":0}||can be left out
END
answers 400 bad-rule-definition PUT /rules/r '[]'
answers 400 bad-rule-definition PUT /rules/4x '{"prefix":["r"],"bounds":{"min":0}}'

test_case 'an entry that violates a rule is refused, with what would be right'
answers 422 rule-violated PUT /kv/orders/1 '{"status":"open","total":-1}'
field '[.rule, .pointer, .found, .attemptedKey, .mutation]' '["orders","/total",-1,["orders","1"],0]'
field .expected 'at least 0'
answers 422 rule-violated PUT /kv/orders/1 '{"status":"late","total":1}'
field '[.pointer, .found]' '["/status","late"]'
answers 422 rule-violated PUT /kv/orders/1 '{"total":1}'
answers 422 rule-violated PUT /kv/orders/1 'text' -H 'Content-Type: text/plain'
field '[.pointer, has("found"), .expected]' '["",false,"a JSON value"]'
answers 404 key-not-found GET /kv/orders/1
put orders/1 '{"status":"open","total":1}'
put order/1 '{}'

test_case 'a rule holds in every way to write'
answers 422 rule-violated PATCH /kv/orders/1 '{"total":-2}'
field '[.pointer, .found]' '["/total",-2]'
answers 422 rule-violated POST /kv/orders '{}'
request POST /atomic '{"mutations":[{"type":"set","key":["x"],"value":1},{"type":"set","key":["orders","2"],"value":{"status":"paid"}}]}'
expect 422 rule-violated
field '[.mutation, .attemptedKey]' '[1,["orders","2"]]'
answers 404 key-not-found GET /kv/x
request POST /atomic '{"mutations":[{"type":"set","key":["orders","2"],"value":{}},{"type":"set","key":["orders","2"],"value":{"status":"paid","total":2}}]}'
expect 200
answers 422 rule-violated PATCH '/list?prefix=orders' '{"status":"gone"}'
field .attemptedKey '["orders","1"]'
printf '%s\n' '{"key":["orders","3"],"value":{"status":"open","total":3}}' '{"key":["orders","4"],"value":{}}' >"$work/lines"
request POST /bulk "@$work/lines" -H 'Content-Type: application/x-ndjson'
is 'the line that a rule refuses' "$(tail -n 1 "$answer" | jq -c '[.error.code, .error.line, .stored]')" '["rule-violated",2,1]'
"$KINDEX" set orders/5 '{"status":"paid"}' >"$work/out" 2>&1
is 'the status of the command' $? 1
is 'what the command says' "$(grep -c 'rule orders needs a member "total"' "$work/out")" 1
sed -i 's/"open"/"due"/' "$work/lines"
"$KINDEX" import "$work/lines" --overwrite >"$work/out" 2>&1
is 'the status of an import' $? 1
is 'what the import says' "$(grep -c 'rule orders needs' "$work/out")" 1
gives .status paid GET /kv/orders/2

test_case 'the answer that a rule has refused comes again under the same key'
for _ in first again; do
    answers 422 rule-violated PUT /kv/orders/1 '{"total":5}' -H 'Idempotency-Key: "a"'
    field '[.rule, .attemptedKey, .expected]' '["orders",["orders","1"],"a member \"status\""]'
done

test_case 'a job that fails stays in its queue if a rule refuses it among the dead'
answers 201 POST /indexes '{"name":"due","prefix":["jobs"],"fields":["/due"],"queue":{"dead":["orders"]}}'
put jobs/a '{}'
request POST /queues/due/claim
request POST /queues/due/fail "{\"receipts\":$(value '[.jobs[].receipt]')}"
expect 200
gives .dead 1 GET /queues/due
answers 204 DELETE /kv/jobs/a

test_case 'counters stay within the bounds of a rule, whoever writes them'
answers 201 PUT /rules/stock '{"prefix":["stock"],"depth":1,"bounds":{"min":0,"max":18446744073709551614}}'
put stock/a 5
request POST /atomic '{"mutations":[{"type":"sum","key":["stock","a"],"value":-6}]}'
expect 409 out-of-bounds
field '[.present, .mutation]' '[5,0]'
request POST /atomic '{"mutations":[{"type":"sum","key":["stock","new"],"value":-6}]}'
expect 409 out-of-bounds
field .present null
typed='Content-Type: application/vnd.kindex.typed+json'
for number in '{"type":"KvU64","value":"18446744073709551615"}' '{"type":"bigint","value":"-1"}' '{"type":"number","value":"NaN"}'; do
    answers 422 rule-violated PUT /kv/stock/t "$number" -H "$typed"
done
for number in '{"type":"KvU64","value":"18446744073709551614"}' '{"type":"bigint","value":"18446744073709551614"}' '{"type":"bigint","value":"0"}'; do
    request PUT /kv/stock/t "$number" -H "$typed"
    [ "$status" = 200 ] || expect 201
done
answers 422 rule-violated PUT /kv/stock/s '"5"'
put stock/a/deeper '"5"'

test_case 'a dry declaration counts what would violate it, and shows some'
for n in 1 2 3; do put "old/$n" "$n"; done
answers 200 PUT '/rules/old?dry=1' '{"prefix":["old"],"bounds":{"min":3}}'
field '[.dry, .read, .violations, [.examples[] | [.key[1], .found]]]' '[true,3,2,[["1",1],["2",2]]]'
gives .code rule-not-found GET /rules/old
answers 400 bad-rule-definition PUT '/rules/old?dry=1' '{"prefix":["old"]}'

test_case 'a rule over entries that violate it is checked, and then conflicted'
answers 201 PUT /rules/old '{"prefix":["old"],"bounds":{"min":3}}'
wait_until rule_is old conflicted
field .violations 2
gives '[[.violations[] | [.key[1], .member, .found]], .cursor]' '[[["1","bounds",1],["2","bounds",2]],null]' GET /rules/old/violations
request GET '/rules/old/violations?limit=1'
field '[.violations[].key[1]]' '["1"]'
request GET "/rules/old/violations?limit=1&cursor=$(value .cursor)"
field '[.violations[].key[1]]' '["2"]'
answers 400 cursor-mismatch GET "/rules/orders/violations?cursor=$(value .cursor)"

test_case 'an entry that violates a rule may be written again if it gets no worse'
answers 422 rule-violated PUT /kv/old/1 0
answers 422 rule-violated PUT /kv/old/1 '"x"'
answers 422 rule-violated PUT /kv/old/4 2
put old/1 1.5
request GET /rules/old
field .violations 2
put old/1 3
answers 204 DELETE /kv/old/2
request GET /rules/old
field '[.state, .violations]' '["ready",0]'

test_case 'a rule with another declaration takes the place of the former'
answers 200 PUT /rules/old '{"prefix":["old"],"bounds":{"max":2}}'
wait_until rule_is old conflicted
put old/4 0

test_case 'the command line declares rules, and lists what violates them'
is 'the list' "$("$KINDEX" rule ls -o raw | tr '\n' ' ')" 'old orders stock '
is 'the table' "$("$KINDEX" rule ls -o table | sed -n 2p | tr -s ' ')" 'old conflicted 2 ["old"]'
"$KINDEX" rule violations old -o table >"$work/out"
is 'the status with violations' $? 4
is 'the violations' "$(cat "$work/out")" $'old/1  needs a number of at most 2\nold/3  needs a number of at most 2'
"$KINDEX" rule violations orders >"$work/out"
is 'the status without' $? 0
is 'a dry run' "$("$KINDEX" rule put old2 --dry-run '{"prefix":["old"],"bounds":{"max":2}}' -o json | jq -c '[.dry, .violations]')" '[true,2]'
echo '{"prefix":["old"],"bounds":{"max":3}}' >"$work/rule"
is 'a rule of a file' "$("$KINDEX" rule put old3 -f "$work/rule" -o json | jq -r .name)" old3
is 'one rule' "$("$KINDEX" rule show old3 -o json | jq -c .bounds)" '{"max":3}'
"$KINDEX" rule rm old3
is 'the status of rm' $? 0
"$KINDEX" rule rm old3 2>"$work/out"
is 'the status of rm without a rule' $? 3

test_case 'entries expire as a rule says'
answers 201 PUT /rules/sessions '{"prefix":["sessions"],"ttl":{"default":"30m","max":"1h","from":"/until"}}'
minutes_left() { # WHAT MINUTES
    request GET /kv/sessions/a
    find_header Kindex-Expires-At
    is "$1" "$(node -p 'Math.round((process.argv[1] - Date.now()) / 60000)' "$found")" "$2"
}
put sessions/a 1
minutes_left 'the default' 30
request PUT '/kv/sessions/a?ttl=50m' 1
minutes_left 'what the write says' 50
answers 422 rule-violated PUT '/kv/sessions/a?ttl=2h' 1
field '[.rule, .expected]' '["sessions","an expiry within 1h"]'
at=$(node -p 'Date.now() + 600000')
put sessions/a "{\"until\":$at}"
minutes_left 'milliseconds in the value' 10
put sessions/a "{\"until\":\"$(node -p 'new Date(Date.now() + 1200000).toISOString()')\"}"
minutes_left 'a time of RFC 3339 in the value' 20
request PATCH /kv/sessions/a "{\"until\":$at}"
minutes_left 'the changed field' 10
answers 422 rule-violated PUT /kv/sessions/a '{"until":"soon"}'
field '[.pointer, .found]' '["/until","soon"]'
put sessions/a '{"until":null}'
minutes_left 'null says nothing' 30
put sessions/gone '{"until":1000}'
answers 404 key-not-found GET /kv/sessions/gone

test_case 'a quota bounds the entries and bytes under each child, with what was there'
for n in 1 2 3; do put "files/a/$n" "$n"; done
answers 201 PUT /rules/files '{"prefix":["files"],"quota":{"entries":3,"bytes":"1KiB","depth":1}}'
field .quota '{"entries":3,"bytes":1024,"depth":1,"over":"refuse"}'
wait_until rule_is files ready
usage() { # PREFIX
    request GET "/usage?prefix=$1"
    value '[.usage[] | [.rule, .prefix[-1], .entries, .bytes]]'
}
size=$((7 + 3 + 3 + 1)) # of the key files/a/1 and its value
is 'the totals' "$(usage files)" "[[\"files\",\"a\",3,$((3 * size))]]"
answers 422 rule-violated PUT /kv/files/a/4 4
field '[.rule, .expected, .attemptedKey]' '["files","at most 3 entries under [\"files\",\"a\"]",["files","a","4"]]'
put files/b/1 1
put files/a/3 33
answers 204 DELETE /kv/files/a/1
put files/a/4 4
request POST /atomic '{"mutations":[{"type":"delete","key":["files","a","4"]},{"type":"set","key":["files","a","5"],"value":5}]}'
expect 200
request POST /atomic '{"mutations":[{"type":"set","key":["files","c","1"],"value":1},{"type":"set","key":["files","a","6"],"value":6}]}'
expect 422 rule-violated
field .mutation 1
answers 422 rule-violated PUT /kv/files/b/2 "\"$(printf '%01000d' 0)\""
field .expected 'at most 1024 bytes under ["files","b"]'
is 'the totals' "$(usage files)" "[[\"files\",\"a\",3,$((3 * size + 1))],[\"files\",\"b\",1,$size]]"
is 'the totals of one child' "$(usage files/b)" "[[\"files\",\"b\",1,$size]]"
is 'no totals' "$(usage file)" '[]'
request GET '/usage?limit=1'
field '[(.usage | length), .more, .usage[0].limit]' '[1,true,{"entries":3,"bytes":1024}]'
is 'the totals of the command line' "$("$KINDEX" usage files/b | tr -s ' ' | tail -n 1)" "files 1 $size [\"files\",\"b\"]"
request DELETE '/list?prefix=files/a'
expect 200
is 'the totals that are left' "$(usage files)" "[[\"files\",\"b\",1,$size]]"

test_case 'an entry that expires leaves its total'
request PUT '/kv/files/b/2?ttl=1ms' 2
expect 201
left() {
    [ "$(usage files)" = "[[\"files\",\"b\",1,$size]]" ]
}
wait_until left
is 'the total has shrunk' $? 0

test_case 'a quota may only warn, and a replaced one counts again'
answers 200 PUT /rules/files '{"prefix":["files"],"quota":{"entries":1,"over":"warn"}}'
wait_until rule_is files ready
put files/c/1 1
is 'the total' "$(usage files)" "[[\"files\",\"files\",2,$((2 * size))]]"
is 'the warning' "$(grep -c 'event=quota-exceeded rule=files needs="at most 1 entries under \[.*files.*\]"' "$log")" 1
while IFS='|' read -r quota words; do
    answers 400 bad-rule-definition PUT /rules/r "{\"prefix\":[\"r\"],\"quota\":$quota}"
    detail=$(value .detail)
    [[ $detail != *"$words"* ]] || detail=$words
    is "the detail for $quota" "$detail" "$words"
done <<'END'
{}|a quota has entries, bytes or both
{"entries":0}|entries are a whole number from 1
{"bytes":1.5}|bytes are a whole number from 1
{"bytes":"10 GB"}|bytes are a number, or a size
{"entries":1,"over":"ignore"}|only "refuse" or "warn"
{"entries":1,"depth":17}|at most 16
END
answers 204 DELETE /rules/files
is 'no totals' "$(usage files)" '[]'

test_case 'rules stay after a kill, and are gone when they are dropped'
kill -KILL "$server"
wait "$server" 2>"$work/null"
start_server
gives '[.rules[] | [.name, .state]]' '[["old","conflicted"],["orders","ready"],["sessions","ready"],["stock","ready"]]' GET /rules
request GET /rules/old
violations=$(value .violations)
export KINDEX_URL=$url
kindex doctor
ends 1
is 'the rules of kindex doctor' "$(awk '$2 ~ /^(old|stock)$/' "$work/out" | tr -s ' ')" \
    "FAIL old conflicted: \"kindex rule violations old\" lists $violations entries
ok stock ready"
answers 422 rule-violated PUT /kv/orders/1 '{}'
answers 204 DELETE /rules/orders
answers 404 rule-not-found DELETE /rules/orders
put orders/1 '{}'
stop_server
start_server
gives '[.rules[].name]' '["old","sessions","stock"]' GET /rules

test_case 'a store has at most 64 rules'
for n in {4..64}; do
    answers 201 PUT "/rules/n$n" "{\"prefix\":[\"n\",$n],\"bounds\":{\"min\":0}}"
done
answers 409 too-many-rules PUT /rules/n65 '{"prefix":["n",65],"bounds":{"min":0}}'
answers 204 DELETE /rules/n4
answers 201 PUT /rules/n65 '{"prefix":["n",65],"bounds":{"min":0}}'
finish
