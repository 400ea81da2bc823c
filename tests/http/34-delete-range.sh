#!/bin/bash
# DELETE /list removes a range, a bounded number of entries in each commit.
. "$(dirname "$0")/../lib/http.sh"
start_server

fill() {
    request POST /atomic "$(jq -nc '{mutations: [range(20) | {type: "set", key: ["r", .], value: {n: .}}]}')"
}

count() {
    request GET "/count?$1"
    value .count
}

fill
request PUT /kv/r 1
request PUT /kv/s 1

test_case 'DELETE of a prefix removes its entries, and none beside it'
answers 200 DELETE /list?prefix=r
field '[.ok, .deleted, .more]' '[true,20,false]'
field '.versionstamp | test("^[0-9a-f]{20}$")' true
is 'the rest of r' "$(count prefix=r)" 0
answers 200 GET /kv/r
answers 200 GET /kv/s

test_case 'DELETE of a range removes at most limit entries, first ones first; more says so'
fill
gives '[.deleted, .more]' '[15,true]' DELETE '/list?prefix=r&limit=15'
gives '[.entries[].key[1]]' '[15,16,17,18,19]' GET /list?prefix=r
gives '[.deleted, .more]' '[5,false]' DELETE '/list?prefix=r&limit=5'
gives '[.deleted, .more]' '[0,false]' DELETE '/list?prefix=r'

test_case 'start and end bound the DELETE of a range'
fill
gives .deleted 3 DELETE '/list?start=r/=5&end=r/=8'
gives .deleted 5 DELETE '/list?prefix=r&start=r/=15'
gives '[.entries[].key[1]]' '[0,1,2,3,4,8,9,10,11,12,13,14]' GET /list?prefix=r

test_case 'DELETE without a selection removes nothing'
for query in '' '?prefix=' '?prefix' '?limit=10' '?start=r/=1' \
    '?start=&end=' '?start=r/=1&end=' '?start=&end=z' '?start=[]&end=[]' '?prefix=r&end='; do
    answers 400 bad-parameter DELETE "/list$query" '' --globoff
done
for query in 'end=' 'start=&end=[]' 'prefix=r&end='; do
    answers 400 bad-parameter GET "/list?$query" '' --globoff
done
answers 400 bad-request POST /get '{"ranges":[{"start":[],"end":[]}]}'
answers 400 bad-request DELETE '/list?prefix=r' '' -H 'If-Match: "00000000000000010000"'
answers 400 unknown-parameter DELETE '/list?prefix=r&reverse=true'
is 'what is left' "$(count '')" 14

test_case 'DELETE of a range removes the index entries of its entries'
request POST /indexes '{"name":"r_by_n","prefix":["r"],"fields":["/n"],"unique":true}'
until_field .state ready GET /indexes/r_by_n
gives '[.deleted, .more]' '[10,true]' DELETE '/list?prefix=r&limit=10'
gives '[.entries[].key[1]]' '[13,14]' GET /list?prefix=r_by_n
answers 201 PUT /kv/r/=100 '{"n":0}'

test_case 'a range of index entries cannot be removed'
answers 409 index-owned-key DELETE /list?prefix=r_by_n
field .index r_by_n
is 'the index' "$(count prefix=r_by_n)" 3

test_case 'DELETE of a range across an index removes only entries beside those of the index'
request POST /atomic '{"mutations":[{"type":"set","key":["q"],"value":1},{"type":"set","key":["r_by_m"],"value":1},{"type":"set","key":["r_by_o"],"value":1}]}'
answers 200 DELETE '/list?start=r_by&end=r_c'
field '[.deleted, .more]' '[2,false]'
is 'the index' "$(count prefix=r_by_n)" 3
answers 200 GET /kv/q
request DELETE /kv/q

test_case 'DELETE of prefix=[] removes everything, and the indexes stay, empty'
answers 200 DELETE '/list?prefix=[]'
field .deleted 5
is 'what is left' "$(count '')" 0
gives '[.state, .entries]' '["ready",0]' GET /indexes/r_by_n

finish
