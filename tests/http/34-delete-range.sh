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

test_case 'a prefix is removed, and nothing beside it'
request DELETE /list?prefix=r
expect 200
field '[.ok, .deleted, .more]' '[true,20,false]'
field '.versionstamp | test("^[0-9a-f]{20}$")' true
is 'the rest of r' "$(count prefix=r)" 0
request GET /kv/r
expect 200
request GET /kv/s
expect 200

test_case 'at most limit at a time, first ones first; more says so'
fill
request DELETE '/list?prefix=r&limit=15'
field '[.deleted, .more]' '[15,true]'
request GET /list?prefix=r
field '[.entries[].key[1]]' '[15,16,17,18,19]'
request DELETE '/list?prefix=r&limit=5'
field '[.deleted, .more]' '[5,false]'
request DELETE '/list?prefix=r'
field '[.deleted, .more]' '[0,false]'

test_case 'start and end bound it'
fill
request DELETE '/list?start=r/=5&end=r/=8'
field .deleted 3
request DELETE '/list?prefix=r&start=r/=15'
field .deleted 5
request GET /list?prefix=r
field '[.entries[].key[1]]' '[0,1,2,3,4,8,9,10,11,12,13,14]'

test_case 'without a selection nothing is removed'
for query in '' '?prefix=' '?prefix' '?limit=10' '?start=r/=1' \
    '?start=&end=' '?start=r/=1&end=' '?start=&end=z' '?start=[]&end=[]' '?prefix=r&end='; do
    request DELETE "/list$query" '' --globoff
    expect 400 bad-parameter
done
for query in 'end=' 'start=&end=[]' 'prefix=r&end='; do
    request GET "/list?$query" '' --globoff
    expect 400 bad-parameter
done
request POST /get '{"ranges":[{"start":[],"end":[]}]}'
expect 400 bad-request
request DELETE '/list?prefix=r' '' -H 'If-Match: "00000000000000010000"'
expect 400 bad-request
request DELETE '/list?prefix=r&reverse=true'
expect 400 unknown-parameter
is 'what is left' "$(count '')" 14

test_case 'index entries go with the entries'
request POST /indexes '{"name":"r_by_n","prefix":["r"],"fields":["/n"],"unique":true}'
until_field .state ready GET /indexes/r_by_n
request DELETE '/list?prefix=r&limit=10'
field '[.deleted, .more]' '[10,true]'
request GET /list?prefix=r_by_n
field '[.entries[].key[1]]' '[13,14]'
request PUT /kv/r/=100 '{"n":0}'
expect 201

test_case 'a range of index entries cannot be removed'
request DELETE /list?prefix=r_by_n
expect 409 index-owned-key
field .index r_by_n
is 'the index' "$(count prefix=r_by_n)" 3

test_case 'a range across an index removes what lies beside its entries'
request POST /atomic '{"mutations":[{"type":"set","key":["q"],"value":1},{"type":"set","key":["r_by_m"],"value":1},{"type":"set","key":["r_by_o"],"value":1}]}'
request DELETE '/list?start=r_by&end=r_c'
expect 200
field '[.deleted, .more]' '[2,false]'
is 'the index' "$(count prefix=r_by_n)" 3
request GET /kv/q
expect 200
request DELETE /kv/q

test_case 'everything can be removed if it is said: the indexes stay, empty'
request DELETE '/list?prefix=[]'
expect 200
field .deleted 5
is 'what is left' "$(count '')" 0
request GET /indexes/r_by_n
field '[.state, .entries]' '["ready",0]'

finish
