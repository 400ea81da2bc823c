#!/bin/bash
# An expired entry is gone at once and for every client, also before the
# sweeper has freed it.
. "$(dirname "$0")/../lib/http.sh"
start_server

test_case 'an entry with a ttl shows when it expires'
before=$(date +%s%3N)
answers 201 PUT '/kv/session/1?ttl=1h' '"kept"'
gives ".entries[0].expiresAt - $before | . >= 3600000 and . < 7200000" true GET /list?prefix=session
request GET /kv/session/1
body_is '"kept"'

test_case 'an entry without a ttl shows no expiry'
request PUT /kv/session/2 1
gives '.entries[0] | has("expiresAt")' false GET '/list?prefix=session&start=session/2'

test_case 'a ttl has a unit from milliseconds to days'
for ttl in 60000ms 60s 5m 2h 36500d; do
    request PUT "/kv/units?ttl=$ttl" 1
    [ "$status" = 201 ] || expect 200
done
for ttl in '' 0 0s 60 60S -1s 1.5s s 60s%20 1w 36501d 99999999999999999999ms; do
    answers 400 bad-parameter PUT "/kv/units?ttl=$ttl" 2
    field .parameter ttl
done
request GET /kv/units
body_is 1

test_case 'a PUT without a ttl removes the expiry of its entry'
request PUT '/kv/session/1' '"for ever"'
gives '.entries[0] | has("expiresAt")' false GET /list?prefix=session

test_case 'a PATCH keeps the expiry of its entry unless it has a ttl'
request PUT '/kv/patched?ttl=1h' '{"a":1}'
answers 200 PATCH /kv/patched '{"b":2}'
gives ".entries[0].expiresAt - $before | . >= 3600000 and . < 7200000" true GET '/list?start=patched&end=patched/a'
request PATCH '/kv/patched?ttl=2h' '{"b":3}'
gives ".entries[0].expiresAt - $before > 7000000" true GET '/list?start=patched&end=patched/a'

test_case 'a mutation may have expiresAt, to the millisecond'
for at in 4000000000123 4000000000.123e3 9007199254740991; do
    answers 200 POST /atomic "{\"mutations\":[
        {\"type\":\"set\",\"key\":[\"at\",1],\"value\":{\"a\":1},\"expiresAt\":$at},
        {\"type\":\"sum\",\"key\":[\"at\",2],\"value\":1,\"expiresAt\":$at},
        {\"type\":\"patch\",\"key\":[\"at\",3],\"value\":{\"b\":2},\"expiresAt\":$at}]}"
    gives "[.entries[].expiresAt == $at]" '[true,true,true]' GET /list?prefix=at
done

test_case 'GET, HEAD and a 304 have Kindex-Expires-At with the expiry that lists show'
for key in at/=1 at/=2 at/=3; do
    request HEAD "/kv/$key"
    header Kindex-Expires-At 9007199254740991
    request GET "/kv/$key"
    header Kindex-Expires-At 9007199254740991
    header Kindex-Expires-At-Text ''
    answers 304 GET "/kv/$key" '' -H "If-None-Match: $(header_value ETag)"
    header Kindex-Expires-At 9007199254740991
done
request GET '/kv/at/=1?fields=a'
header Kindex-Expires-At 9007199254740991
request GET /kv/session/1
header Kindex-Expires-At ''
request HEAD /kv/session/1
header Kindex-Expires-At ''
header Kindex-Expires-At-Text ''

test_case 'a write can keep the expiry of its entry with ttl=keep, or remove it with ttl=none'
answers 200 PUT '/kv/at/=1?ttl=keep' '"other"'
request GET /kv/at/=1
body_is '"other"'
header Kindex-Expires-At 9007199254740991
answers 200 PATCH '/kv/at/=3?ttl=keep' '{"c":1}'
request GET /kv/at/=3
header Kindex-Expires-At 9007199254740991
answers 201 PUT '/kv/kept?ttl=keep' 1
request GET /kv/kept
header Kindex-Expires-At ''
answers 200 POST /atomic '{"mutations":[
    {"ttl":"keep","type":"set","key":["at",1],"value":1},
    {"type":"set","key":["kept"],"value":2,"expiresAt":4000000000123},
    {"type":"set","key":["kept"],"value":3,"ttl":"keep"},
    {"type":"set","key":["at",3],"value":{"a":1},"ttl":"none"}]}'
request GET /kv/at/=1
header Kindex-Expires-At 9007199254740991
request GET /kv/kept
body_is 3
header Kindex-Expires-At 4000000000123
header Kindex-Expires-At-Text 2096-10-02T07:06:40.123Z
request GET /kv/at/=3
header Kindex-Expires-At ''
request PUT '/kv/kept?ttl=none' 4
request GET /kv/kept
header Kindex-Expires-At ''

test_case 'sum, min, max and patch keep the expiry of their entry, and set removes it'
# kept_by MUTATION VALUE OPERAND RESULT TIME: of an entry with a time of expiry.
kept_by() {
    request POST /atomic "{\"mutations\":[{\"type\":\"set\",\"key\":[\"kept\"],\"value\":$2,\"expiresAt\":4000000000123},
        {\"type\":\"$1\",\"key\":[\"kept\"],\"value\":$3}]}"
    expect 200
    request GET /kv/kept
    body_is "$4"
    header Kindex-Expires-At "$5"
}
kept_by sum 7 5 12 4000000000123
kept_by min 7 5 5 4000000000123
kept_by max 7 9 9 4000000000123
kept_by patch '{"a":1}' '{"b":2}' '{"a":1,"b":2}' 4000000000123
kept_by set 7 8 8 ''

test_case 'ttl=keep and ttl=none apply to patches and sums, too'
request PUT '/kv/at/=3?ttl=1h' '{"a":1}'
request PATCH '/kv/at/=3?ttl=none' '{"c":1}'
request GET /kv/at/=3
header Kindex-Expires-At ''
answers 200 POST /atomic '{"mutations":[{"type":"set","key":["kept"],"value":4,"expiresAt":4000000000123},
    {"type":"sum","key":["kept"],"value":1,"ttl":"keep"}]}'
request GET /kv/kept
header Kindex-Expires-At 4000000000123
request POST /atomic '{"mutations":[{"type":"sum","key":["kept"],"value":1,"ttl":"none"}]}'
request GET /kv/kept
body_is 6
header Kindex-Expires-At ''
for mutation in '"type":"sum","ttl":"keep","ttlOf":"new","value":1' '"type":"delete","ttl":"keep"' \
    '"type":"set","ttl":"Keep","value":1'; do
    answers 400 bad-request POST /atomic "{\"mutations\":[{\"key\":[\"kept\"],$mutation}]}"
done

test_case 'a PATCH with a ttl and without a body changes only the expiry, of any kind of value'
request PUT /kv/touch/json '{"a" : 1}'
request PUT /kv/touch/bytes 'text' -H 'Content-Type: text/plain'
request PUT /kv/touch/u64 '{"type":"KvU64","value":"7"}' -H 'Content-Type: application/vnd.kindex.typed+json'
for key in json bytes u64; do
    request GET "/kv/touch/$key"
    body=$(cat "$answer") etag=$(header_value ETag) type=$(header_value Content-Type)
    answers 200 PATCH "/kv/touch/$key?ttl=1h"
    stamp=$(value .versionstamp)
    request GET "/kv/touch/$key"
    body_is "$body"
    header Content-Type "$type"
    header ETag "\"$stamp\""
    is 'another stamp' "$([ "$etag" != "\"$stamp\"" ] && echo yes)" yes
    find_header Kindex-Expires-At
    is 'the time' "$((found >= before + 3600000 && found < before + 7200000))" 1
done
request PATCH '/kv/touch/bytes?ttl=none'
request GET /kv/touch/bytes
header Kindex-Expires-At ''
answers 200 PATCH '/kv/touch/bytes?ttl=1h' '' -H 'Prefer: return=representation' -H "If-Match: $(header_value ETag)"
body_is text
find_header Kindex-Expires-At
is 'has a time' "$((found > 0))" 1

test_case 'a PATCH without a body needs an entry and a ttl'
answers 404 key-not-found PATCH '/kv/touch/none?ttl=1h'
field '[.key, .mutation]' '[["touch","none"],0]'
answers 400 bad-json PATCH /kv/touch/json
answers 412 precondition-failed PATCH '/kv/touch/json?ttl=1h' '' -H 'If-Match: "00000000000000010000"'

test_case 'an atomic commit accepts touch'
answers 200 POST /atomic '{"mutations":[{"type":"set","key":["touch","new"],"value":1},
    {"type":"touch","key":["touch","new"],"expiresAt":4000000000123,"return":"new"},
    {"type":"touch","key":["touch","u64"],"expiresAt":4000000000124},
    {"type":"touch","key":["touch","u64"],"ttl":"1h","ttlOf":"keep"},
    {"type":"touch","key":["touch","json"],"ttl":"none","return":"new"}]}'
field '.results[1] | [.value, .expiresAt]' '[1,4000000000123]'
field '.results[4] | has("expiresAt")' false
request HEAD /kv/touch/u64
header Kindex-Expires-At 4000000000124
request POST /atomic '{"mutations":[{"type":"set","key":["touch","other"],"value":1},{"type":"touch","key":["touch","none"],"ttl":"1h"}]}'
expect 404 key-not-found
field .mutation 1
answers 404 GET /kv/touch/other
for mutation in '"ttl":"1h","value":1' '"ttl":"1h","expiresAt":1' '"return":"new"'; do
    request POST /atomic "{\"mutations\":[{\"type\":\"touch\",\"key\":[\"touch\",\"new\"],$mutation}]}"
    expect 400 bad-request
    field .pointer /mutations/0
done

test_case 'an entry with an expiry in the past is gone at once'
answers 200 POST /atomic '{"mutations":[{"type":"set","key":["at",1],"value":1,"expiresAt":1},
    {"type":"delete","key":["at",2]},{"type":"delete","key":["at",3]}]}'
answers 404 GET /kv/at/=1
gives .count 0 GET /count?prefix=at

# Everything that an entry can be part of, for a short time.
request POST /indexes '{"name":"by_email","prefix":["u"],"fields":["/email"],"unique":true}'
request POST /indexes '{"name":"by_color","prefix":["u"],"fields":["/color"]}'
request POST /indexes '{"name":"by_age","prefix":["u"],"fields":["/age"],"store":"value"}'
ada='{"email":"a@x","color":"blue","age":36}'
request POST /atomic "{\"mutations\":[
    {\"type\":\"set\",\"key\":[\"u\",1],\"value\":$ada,\"ttl\":\"500ms\"},
    {\"type\":\"set\",\"key\":[\"u\",2],\"value\":{\"color\":\"blue\"}},
    {\"type\":\"set\",\"key\":[\"n\"],\"typed\":{\"type\":\"KvU64\",\"value\":\"41\"},\"ttl\":\"500ms\"}]}"

test_case 'an index entry expires with its entry'
expect 200
request PUT '/kv/u/=9?ttl=1h' '{"email":"z@x"}'
request GET '/list?prefix=by_email&start=by_email/z'
field ".entries[0].expiresAt - $before | . >= 3600000 and . < 7200000" true
request DELETE /kv/u/=9

test_case 'reads do not find an expired entry'
until_status 404 GET /kv/u/=1
field .code key-not-found
answers 404 HEAD /kv/u/=1
gives '.entries[0].versionstamp' null POST /get '{"keys":[["u",1]]}'

test_case 'lists, streams and counts leave an expired entry out'
gives '[.entries[].key[1]]' '[2]' GET /list?prefix=u
request GET /list?prefix=u '' -H 'Accept: application/x-ndjson'
is 'the stream' "$(jq -c '.key // .count' "$answer" | xargs)" '[u,2] 1'
gives .count 1 GET /count?prefix=u

test_case 'indexes, raw or resolved, leave an expired entry out'
answers 404 key-not-found GET /kv/by_email/a@x
answers 404 key-not-found GET /indexes/by_email/get/a@x
gives '[.entries[].key]' '[["by_color","blue",2]]' GET /list?prefix=by_color
gives '[.entries[].key]' '[["u",2]]' GET '/list?index=by_color&prefix=blue'
gives .count 0 GET /count?index=by_age

test_case 'a check sees an expired entry as absent, and a counter starts again'
answers 200 POST /atomic '{"checks":[{"key":["u",1],"versionstamp":null}],"mutations":[
    {"type":"sum","key":["n"],"typed":{"type":"KvU64","value":"1"}}]}'
gives .value 1 GET /kv/n
answers 412 precondition-failed PUT /kv/u/=1 1 -H 'If-Match: *'
field .versionstamp null

test_case 'the unique value of an expired entry is free for another'
answers 201 PUT /kv/u/=3 "$ada" -H 'If-None-Match: *'
request GET /indexes/by_email/get/a@x
header Content-Location /kv/u/=3
answers 409 unique-violation PUT /kv/u/=1 "$ada"
field .existingKey '["u",3]'

test_case 'an entry that has already expired when it is written needs no unique value'
answers 200 POST /atomic "{\"mutations\":[{\"type\":\"set\",\"key\":[\"u\",1],\"value\":$ada,\"expiresAt\":1}]}"
answers 404 GET /kv/u/=1
request GET /indexes/by_email/get/a@x
header Content-Location /kv/u/=3
until_field .entries 1 GET /indexes/by_email
request DELETE /kv/u/=3
answers 201 PUT /kv/u/=1 "$ada"

test_case 'a PUT and a PATCH on an expired entry create'
request PUT '/kv/u/=4?ttl=1ms' '{"color":"red"}'
until_status 404 GET /kv/u/=4
answers 201 PATCH /kv/u/=4 '{"color":"green"}'
request GET /kv/u/=4
body_is '{"color":"green"}'
gives '.entries | length' 0 GET '/list?index=by_color&prefix=red'

test_case 'the sweeper frees expired entries'
metric() { sed -n 's/^kindex_expired_total //p' "$answer"; }
answers 200 GET /metrics
before=$(metric)
for i in 1 2 3; do
    answers 201 PUT "/kv/swept/$i?ttl=1ms" '1'
done
swept() { request GET /metrics; [ "$(metric)" -ge $((before + 3)) ]; }
wait_until swept
is 'the exit status' $? 0

finish
