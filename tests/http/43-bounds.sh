#!/bin/bash
# Bounds of sums, and what a sum does with the time of its entry.
. "$(dirname "$0")/../lib/http.sh"
start_server

sum() { # KEY VALUE MORE: one sum that returns the entry after it
    request POST /atomic "{\"mutations\":[{\"type\":\"sum\",\"key\":[\"$1\"],\"return\":\"new\",$2}]}"
}

test_case 'a sum within its bounds is stored, the bounds included'
sum n '"value":5,"min":0,"max":5'
field '.results[0].value' 5
sum n '"value":-5,"min":0,"max":5'
field '.results[0].value' 0

test_case 'a sum beyond its bounds is refused with the present value, and nothing is stored'
request POST /atomic '{"mutations":[{"type":"set","key":["other"],"value":1},{"type":"sum","key":["n"],"value":6,"max":5}]}'
expect 409 out-of-bounds
field '[.present, .mutation, .key, .detail]' '[0,1,["n"],"the sum would be greater than max"]'
answers 404 GET /kv/other
sum none '"value":-1,"min":0,"out":"refuse"'
expect 409 out-of-bounds
field '[.present, .detail]' '[null,"the sum would be less than min"]'

test_case 'a sum beyond its bounds with out=clamp stores the bound'
sum n '"value":9,"min":0,"max":5,"out":"clamp"'
field '.results[0].value' 5
sum n '"value":-9,"min":0.5,"out":"clamp"'
field '.results[0].value' 0.5

test_case 'a sum beyond its bounds with out=skip leaves the entry and its expiry, and says so'
request PUT '/kv/s?ttl=1h' 5
stamp=$(value .versionstamp)
request POST /atomic '{"mutations":[{"type":"sum","key":["s"],"value":1,"max":5,"out":"skip","ttl":"9h","return":"new"},
    {"type":"sum","key":["s"],"value":1,"max":5,"out":"skip"},{"type":"sum","key":["t"],"value":1,"max":5,"out":"skip"}]}'
expect 200
field '.results[0] | del(.expiresAt)' "{\"key\":[\"s\"],\"value\":5,\"versionstamp\":\"$stamp\",\"skipped\":true}"
field '.results[0].expiresAt / 1000 - now < 3601' true
field '.results[1:]' '[{"skipped":true},null]'

test_case 'a sum of a KvU64 with bounds does not wrap'
request POST /atomic '{"mutations":[{"type":"set","key":["u"],"typed":{"type":"KvU64","value":"18446744073709551615"}}]}'
expect 200
sum u '"typed":{"type":"KvU64","value":"2"},"min":{"type":"KvU64","value":"0"}'
expect 409 out-of-bounds
field .present.value 18446744073709551615
sum u '"typed":{"type":"KvU64","value":"2"},"max":{"type":"KvU64","value":"100"},"out":"clamp"'
field '.results[0].typed.value' 100
sum u '"typed":{"type":"KvU64","value":"1"},"max":{"type":"KvU64","value":"100"},"out":"skip"'
field '.results[0] | [.typed.value, .skipped]' '["100",true]'

test_case 'a sum of bigints may have bounds of any size'
sum b '"typed":{"type":"bigint","value":"36893488147419103232"},"max":{"type":"bigint","value":"36893488147419103232"}'
expect 200
sum b '"typed":{"type":"bigint","value":"1"},"max":{"type":"bigint","value":"36893488147419103232"}'
expect 409 out-of-bounds
sum b '"typed":{"type":"bigint","value":"-36893488147419103233"},"min":{"type":"bigint","value":"0"},"out":"clamp"'
field '.results[0].typed.value' 0

test_case 'a sum without a ttl keeps the expiry of its entry; ttlOf says which entries get one'
request PUT '/kv/e?ttl=1h' 1
sum e '"value":1'
field '.results[0].expiresAt / 1000 - now | . > 3500 and . < 3601' true
for of in new keep; do
    sum e "\"value\":1,\"ttl\":\"9h\",\"ttlOf\":\"$of\""
    field '.results[0].expiresAt / 1000 - now < 3601' true
done
sum e '"value":1,"ttl":"9h","ttlOf":"always"'
field '.results[0].expiresAt / 1000 - now > 3601' true
request PUT /kv/e 1
sum e '"value":1,"ttl":"9h","ttlOf":"new"'
field '.results[0] | has("expiresAt")' false
sum e '"value":1,"ttl":"9h","ttlOf":"keep"'
field '.results[0] | has("expiresAt")' true
sum f '"value":1,"ttl":"9h","ttlOf":"new"'
field '.results[0] | has("expiresAt")' true

test_case 'contradictory members of a sum with bounds are refused, with a pointer'
while IFS='|' read -r mutation code pointer; do
    request POST /atomic "{\"mutations\":[{\"key\":[\"a\"],$mutation}]}"
    expect 400 "$code"
    field .pointer "$pointer"
done <<'END'
"type":"max","value":1,"max":2|bad-request|/mutations/0
"type":"sum","value":1,"out":"skip"|bad-request|/mutations/0
"type":"sum","value":1,"max":2,"out":"no"|bad-request|/mutations/0/out
"type":"sum","value":1,"max":"2"|bad-request|/mutations/0/max
"type":"sum","value":1,"max":{"type":"KvU64","value":"2"}|bad-value|/mutations/0
"type":"sum","value":1,"min":3,"max":2|bad-value|/mutations/0
"type":"sum","typed":{"type":"KvU64","value":"1"},"max":{"type":"bigint","value":"2"}|bad-value|/mutations/0
"type":"sum","typed":{"type":"bigint","value":"1"},"min":{"type":"bigint","value":"2"},"max":{"type":"bigint","value":"1"}|bad-value|/mutations/0
"type":"sum","value":1,"ttlOf":"new"|bad-request|/mutations/0
"type":"sum","value":1,"ttl":"1h","ttlOf":"no"|bad-request|/mutations/0/ttlOf
"type":"set","value":1,"ttl":"1h","ttlOf":"new"|bad-request|/mutations/0
END

# The recipes of api/commits/README.md, each from four processes at once.
recipe() { # NAME: the document of its commit
    sed -n "s#.*/atomic --json '\\(.*\\)'.*#\\1#p" "$(dirname "$0")/../../api/commits/README.md" |
        grep "\"key\":\\[\"$1\""
}
at_once() { # COMMAND: four processes call it 30 times each
    local clients=() i
    for i in 1 2 3 4; do
        for _ in $(seq 30); do "$@" "$i"; done &
        clients+=($!)
    done
    wait "${clients[@]}"
}
commit() { curl -s "$url/atomic" -d "$document" >>"$work/took.$1"; }
follow() { # NAME
    document=$(recipe "$1")
    rm -f "$work"/took.*
    at_once commit
    let_in=$(cat "$work"/took.* | grep -o '"ok":true' | wc -l)
    is 'the others' "$(cat "$work"/took.* | grep -o '"code":"out-of-bounds"' | wc -l)" $((120 - let_in))
}

test_case 'a rate limit made of sums lets 100 of 120 pass, and its minute begins with the first'
follow rate
is passed "$let_in" 100
request GET /kv/rate/ada
body_is 100
find_header Kindex-Expires-At
is 'within a minute' "$((found <= $(date +%s%3N) + 60000))" 1

test_case 'a quota of 50 is used up by ten sums of 5'
follow quota
is passed "$let_in" 10
request GET /kv/quota/ada
body_is 50

test_case 'a stock of 20 is sold in ten orders, each of which is stored'
request PUT /kv/stock/pen 20
follow stock
is passed "$let_in" 10
request GET /kv/stock/pen
body_is 0
gives .count 10 GET '/count?prefix=order'

test_case 'concurrent sums that return their result give each number once'
follow sequence
is passed "$let_in" 120
is numbers "$(cat "$work"/took.* | grep -o '"value":[0-9]*' | sort -u | wc -l)" 120
request GET /kv/sequence
body_is 120

# Each reads before any of them writes.
test_case 'reading and then writing, without a sum, gives a number twice'
request PUT /kv/lost 0
for i in 1 2 3 4; do
    seen[i]=$(curl -s "$url/kv/lost")
done
for i in 1 2 3 4; do
    request PUT /kv/lost $((seen[i] + 1))
done
request GET /kv/lost
body_is 1

finish
