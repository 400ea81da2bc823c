#!/bin/bash
# References: what an entry refers to exists, and what becomes of the entry when
# the other one is deleted.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/rules.sh"
start_server

declare_rule() { # NAME DECLARATION
    request PUT "/rules/$1" "$2"
    [ "$status" = 200 ] || expect 201
    wait_until rule_is "$1" ready
}
is_gone() { # KEY
    request GET "/kv/$1"
    [ "$status" = 404 ]
}
reference() { # PATH TO ON-DELETE
    printf '{"path":"%s","to":["%s"],"onDelete":"%s"}' "$@"
}

metric() { # NAME
    request GET /metrics
    awk -v name="$1" '$1 == name { print $2 }' "$answer"
}
has_expired() { # COUNT
    [ "$(metric kindex_expired_total)" -ge "$1" ]
}

test_case 'an entry that expires together with the one to which it refers is counted once'
declare_rule later "{\"prefix\":[\"later\"],\"references\":[$(reference /on first cascade)]}"
request PUT '/kv/first/1?ttl=1s' 1
request PUT '/kv/later/1?ttl=1001ms' '{"on":"1"}'
put stays 1
stop_server
sleep 1.1 # both have expired when the server starts
start_server
wait_until has_expired 1
removed() {
    [ "$(metric kindex_keys)" -le 1 ]
}
wait_until removed
is 'the number of keys' "$(metric kindex_keys)" 1
answers 204 DELETE /kv/stays
answers 204 DELETE /rules/later
export KINDEX_URL=$url

test_case 'a reference is declared, with its defaults and an index'
answers 201 PUT /rules/orders '{"prefix":["orders"],"references":[{"path":"/user","to":["users"]}]}'
field .references '[{"path":"/user","to":["users"],"as":"part","onDelete":"restrict"}]'
gives '[.indexes[] | [.name, .fields[0].path]]' '[["orders.user","/user"]]' GET /indexes
while IFS='|' read -r reference pointer words; do
    answers 400 bad-rule-definition PUT /rules/r "{\"prefix\":[\"r\"],\"references\":$reference}"
    is "the pointer for $reference" "$(value '.pointer // ""')" "$pointer"
    detail=$(value .detail)
    [[ $detail != *"$words"* ]] || detail=$words
    is "the detail for $reference" "$detail" "$words"
done <<'END'
{}|/references|an array of objects
[{"path":"/user"}]|/references/0|has a path
[{"to":["users"]}]|/references/0|has a path
[{"path":"","to":["users"]}]|/references/0|has a path
[{"path":"user","to":["users"]}]|/references/0/path|JSON Pointer
[{"path":"/user","to":"users"}]|/references/0/to|an array of key parts
[{"path":"/user","to":["users"],"onDelete":"ignore"}]|/references/0/onDelete|only "restrict" or "cascade" or "clear"
[{"path":"/user","to":["users"],"as":"text"}]|/references/0/as|only "part" or "key"
[{"path":"/user","to":["users"],"ondelete":"clear"}]|/references/0/ondelete|did you mean "onDelete"
[{"path":"/user","to":["users"]},{"path":"/user","to":["people"]}]|/references/1|another reference
[]||demands something
END

test_case 'a reference needs a target that exists after the commit'
answers 422 rule-violated PUT /kv/orders/1 '{"user":"ada"}'
field '[.rule, .pointer, .found, .expected]' '["orders","/user","ada","the last part of the key of an entry under [\"users\"]"]'
answers 422 rule-violated PUT /kv/orders/1 '{"user":["ada"]}'
put orders/2 '{"user":null}'
put orders/3 '{}'
request POST /atomic '{"mutations":[{"type":"set","key":["orders","1"],"value":{"user":"ada"}},{"type":"set","key":["users","ada"],"value":{}}]}'
expect 200
answers 422 rule-violated PATCH /kv/orders/2 '{"user":"bob"}'
answers 201 PUT '/kv/users/=7' '{}'
put orders/2 '{"user":7}'
put orders/1 '{"user":"ada","total":1}'
printf '%s\n' '{"key":["users","bob"],"value":1}' '{"key":["orders","4"],"value":{"user":"bob"}}' '{"key":["orders","5"],"value":{"user":"eve"}}' >"$work/lines"
request POST /bulk "@$work/lines" -H 'Content-Type: application/x-ndjson'
is 'the line that is refused' "$(tail -n 1 "$answer" | jq -c '[.error.code, .error.line, .stored]')" '["rule-violated",3,2]'

test_case 'an entry to which others refer is not deleted'
for _ in first again; do
    request POST /atomic '{"mutations":[{"type":"delete","key":["users","ada"]}]}' -H 'Idempotency-Key: "a"'
    expect 409 referenced
    field '[.rule, .pointer, .existingKey, .attemptedKey, .mutation]' '["orders","/user",["orders","1"],["users","ada"],0]'
done
answers 409 referenced DELETE '/list?prefix=users'
request POST /atomic '{"mutations":[{"type":"set","key":["x"],"value":1},{"type":"delete","key":["users","ada"]}]}'
expect 409 referenced
field '[.mutation, .existingKey]' '[1,["orders","1"]]'
answers 404 key-not-found GET /kv/x
request POST /atomic '{"mutations":[{"type":"delete","key":["users","bob"]},{"type":"delete","key":["orders","4"]}]}'
expect 200
request POST /atomic '{"mutations":[{"type":"delete","key":["users","=7"]},{"type":"delete","key":["users",7]},{"type":"set","key":["orders","2"],"value":{"user":"ada"}}]}'
expect 200
request POST /atomic '{"mutations":[{"type":"delete","key":["users","ada"]},{"type":"set","key":["orders","2"],"value":{"user":"ada","x":1}},{"type":"delete","key":["orders","1"]}]}'
expect 422 rule-violated
field '[.mutation, .attemptedKey]' '[1,["orders","2"]]'
for same in '"type":"set","value":{"user":"ada","total":1}' '"type":"touch","ttl":"1h"'; do
    request POST /atomic "{\"mutations\":[{\"type\":\"delete\",\"key\":[\"users\",\"ada\"]},{$same,\"key\":[\"orders\",\"1\"]},{\"type\":\"delete\",\"key\":[\"orders\",\"2\"]}]}"
    expect 422 rule-violated
    field '[.mutation, .attemptedKey]' '[1,["orders","1"]]'
done
"$KINDEX" del users/ada >"$work/out" 2>&1
is 'the status of the command' $? 4
is 'its hint' "$(grep -c 'kindex rule show NAME' "$work/out")" 1

test_case 'an index that a rule needs cannot be dropped'
answers 409 referenced DELETE /indexes/orders.user
field '[.rule, has("existingKey")]' '["orders",false]'
answers 409 referenced PATCH /indexes/orders.user '{"fields":["/total"]}'
answers 409 referenced PUT '/indexes?prune=1' '{}'
answers 202 POST /indexes '{"name":"by_user","prefix":["orders"],"fields":["/user"]}'
answers 204 DELETE /indexes/orders.user
answers 409 referenced DELETE /indexes/by_user
answers 409 referenced DELETE /kv/users/ada

test_case 'deletions cascade to the entries that refer to the deleted one'
declare_rule orders "{\"prefix\":[\"orders\"],\"references\":[$(reference /user users cascade)]}"
gives '[.indexes[].name]' '["by_user"]' GET /indexes
declare_rule lines "{\"prefix\":[\"lines\"],\"references\":[$(reference /order orders cascade)]}"
put lines/1 '{"order":"1"}'
put lines/2 '{"order":"3"}'
answers 204 DELETE /kv/users/ada
for key in orders/1 orders/2 lines/1; do answers 404 key-not-found GET "/kv/$key"; done
gives .order 3 GET /kv/lines/2

test_case 'a cascade that meets a reference that restricts is refused, and changes nothing'
declare_rule lines "{\"prefix\":[\"lines\"],\"references\":[$(reference /order orders restrict)]}"
put users/ada '{}'
put orders/1 '{"user":"ada"}'
put lines/1 '{"order":"1"}'
answers 409 referenced DELETE /kv/users/ada
field '[.rule, .existingKey, .attemptedKey]' '["lines",["lines","1"],["orders","1"]]'
gives .user ada GET /kv/orders/1
answers 204 DELETE /kv/lines/1
answers 204 DELETE /kv/users/ada

test_case 'references may be cleared'
declare_rule orders "{\"prefix\":[\"orders\"],\"references\":[$(reference /user users clear)]}"
put users/ada '{}'
request PUT '/kv/orders/1?ttl=1h' '{"user":"ada","total":2}'
answers 204 DELETE /kv/users/ada
gives . '{"user":null,"total":2}' GET /kv/orders/1
find_header Kindex-Expires-At
is 'the expiry stays' "$([ -n "$found" ] && echo yes)" yes

test_case 'a cascade around a cycle ends where it began'
declare_rule tree "{\"prefix\":[\"tree\"],\"references\":[$(reference /parent tree cascade)]}"
request POST /atomic '{"mutations":[{"type":"set","key":["tree","a"],"value":{"parent":"c"}},{"type":"set","key":["tree","b"],"value":{"parent":"a"}},{"type":"set","key":["tree","c"],"value":{"parent":"b"}},{"type":"set","key":["tree","d"],"value":{"parent":"d"}}]}'
expect 200
answers 204 DELETE /kv/tree/b
answers 204 DELETE /kv/tree/d
gives '[.entries[].key]' '[]' GET '/list?prefix=tree'
declare_rule tree "{\"prefix\":[\"tree\"],\"references\":[$(reference /parent tree restrict)]}"
request POST /atomic '{"mutations":[{"type":"set","key":["tree","a"],"value":{"parent":"b"}},{"type":"set","key":["tree","b"],"value":{"parent":"a"}}]}'
expect 200
answers 409 referenced DELETE /kv/tree/a
answers 200 DELETE '/list?prefix=tree'

test_case 'the value may be a whole key'
answers 201 PUT /rules/notes '{"prefix":["notes"],"references":[{"path":"/on","to":["x","y"],"as":"key","onDelete":"cascade"}]}'
gives '[.indexes[] | select(.name == "notes.on") | .fields[0].path]' '["/on/2"]' GET /indexes
put x/y/1 1
answers 422 rule-violated PUT /kv/notes/1 '{"on":["x","y","2"]}'
answers 422 rule-violated PUT /kv/notes/1 '{"on":["x","z","1"]}'
answers 422 rule-violated PUT /kv/notes/1 '{"on":"1"}'
put notes/1 '{"on":["x","y","1"]}'
answers 204 DELETE /kv/x/y/1
answers 404 key-not-found GET /kv/notes/1
answers 204 DELETE /rules/notes
gives '[.indexes[].name] | index("notes.on")' null GET /indexes

test_case 'a deletion that would change too many entries is refused with their number'
node -e 'for (let i = 0; i < 1200; i++) console.log(JSON.stringify({ key: ["orders", "m" + i], value: { user: "max" } }))' >"$work/lines"
put users/max 1
request POST /bulk "@$work/lines" -H 'Content-Type: application/x-ndjson'
expect 200
answers 409 referenced DELETE /kv/users/max
field '[.rule, .referring]' '["orders",1200]'

test_case 'an expired entry is hidden, and the entries that refer to it follow in steps'
request PUT '/kv/users/max?ttl=1ms' 1
expect 200
cleared() {
    request GET '/list?prefix=orders&limit=1000'
    [ "$(value '[.entries[] | select(.value.user == "max")] | length')" = 0 ]
}
wait_until cleared
answers 422 rule-violated PUT /kv/orders/m0 '{"user":"max"}'
request PUT '/kv/tree/a?ttl=300ms' '{}'
put tree/b '{"parent":"a"}'
wait_until is_gone tree/a
put tree/b '{"parent":"a","x":1}'
answers 422 rule-violated PUT /kv/tree/c '{"parent":"a"}'
answers 204 DELETE /kv/tree/b

test_case 'entries that a rule keeps do not keep others that expire later'
declare_rule kept "{\"prefix\":[\"kept\"],\"references\":[$(reference /user users restrict)]}"
node -e 'process.stdout.write(JSON.stringify("x".repeat(900000)))' >"$work/large"
for n in 1 2 3 4 5 6; do
    put "users/k$n" 1
    put "kept/$n" "{\"user\":\"k$n\"}"
    request PUT "/kv/users/k$n?ttl=1ms" "@$work/large"
    expect 200
done
before=$(metric kindex_expired_total)
request PUT '/kv/short?ttl=1ms' 1
expect 201
wait_until has_expired $((before + 1))
for n in 1 2 3 4 5 6; do answers 422 rule-violated PUT /kv/kept/7 "{\"user\":\"k$n\"}"; done

test_case 'the first entry that restricts a deletion is found at once, however many there are'
declare_rule many "{\"prefix\":[\"many\"],\"references\":[$(reference /user users restrict)]}"
put users/lou 1
node -e 'for (let i = 0; i < 80000; i++) console.log(JSON.stringify({ key: ["many", i], value: { user: "lou" } }))' >"$work/lines"
request POST /bulk "@$work/lines" -H 'Content-Type: application/x-ndjson'
expect 200
request POST /atomic '{"mutations":[{"type":"delete","key":["users","lou"]},{"type":"set","key":["x"],"value":1}]}'
expect 409 referenced
field .existingKey '["many",0]'

test_case 'entries that expire are followed in steps, however large these are'
declare_rule large "{\"prefix\":[\"large\"],\"references\":[$(reference /user users clear)]}"
put users/ann 1
node -e 'const pad = "x".repeat(900000); process.stdout.write(JSON.stringify({ user: "ann", pad }))' >"$work/large"
for n in $(seq 40); do put "large/$n" "@$work/large"; done
request PUT '/kv/users/ann?ttl=1ms' 1
expect 200
followed() {
    request GET '/list?prefix=large&fields=user&limit=1000'
    [ "$(value '[.entries[] | select(.value.user == "ann")] | length')" = 0 ]
}
wait_until followed

test_case 'a rule over entries that refer to nothing is conflicted until these have come'
for n in 1 2 3; do put "old/$n" '{"user":"zed"}'; done
put old/4 '{"user":"yan"}'
answers 200 PUT '/rules/old?dry=1' "{\"prefix\":[\"old\"],\"references\":[$(reference /user users restrict)]}"
field '[.violations, .examples[0].member, .examples[0].found]' '[4,"references","zed"]'
answers 201 PUT /rules/old "{\"prefix\":[\"old\"],\"references\":[$(reference /user users restrict)]}"
wait_until rule_is old conflicted
field .violations 4
put old/1 '{"user":"zed","x":1}'
answers 422 rule-violated PUT /kv/old/1 '{"user":"yan"}'
put users/zed 1
request GET /rules/old
field .violations 1
gives '[.violations[] | [.key[1], .member, .pointer, .found]]' '[["4","references","/user","yan"]]' GET /rules/old/violations
answers 409 referenced DELETE /kv/users/zed
put users/yan 1
request GET /rules/old
field '[.state, .violations]' '["ready",0]'

test_case 'references hold after a kill'
kill -KILL "$server"
wait "$server" 2>"$work/null"
start_server
answers 409 referenced DELETE /kv/users/zed
answers 422 rule-violated PUT /kv/old/9 '{"user":"xi"}'
answers 204 DELETE /rules/old
answers 204 DELETE /kv/users/zed
finish
