#!/bin/bash
# Dropping an index: its entries are gone at once, its name is free at once.
. "$(dirname "$0")/../lib/http.sh"
start_server

for i in {0..4}; do
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(1000) | {type: "set", key: ["e", . + 1000 * $i], value: {n: (. % 10), u: (. + 1000 * $i)}}]}')"
done
request POST /indexes '{"name":"by_n","prefix":["e"],"fields":["/n"]}'
request POST /indexes '{"name":"by_u","prefix":["e"],"fields":["/u"],"unique":true,"store":"value"}'
until_field .state ready GET /indexes/by_n
until_field .state ready GET /indexes/by_u

test_case 'the entries of a dropped index are gone with the answer'
gives .count 5000 GET /count?prefix=by_n
answers 204 DELETE /indexes/by_n
gives .count 0 GET /count?prefix=by_n
gives .entries '[]' GET /list?prefix=by_n
answers 404 key-not-found GET /kv/by_n/=1/=1
answers 404 index-not-found GET /indexes/by_n
answers 404 index-not-found GET /list?index=by_n
gives .count 10000 GET /count
answers 404 index-not-found DELETE /indexes/by_n

test_case 'the keys of a dropped index can be used as any other, at once'
answers 201 PUT /kv/by_n/=1/=1 '"mine"'
gives '[.entries[].value]' '["mine"]' GET /list?prefix=by_n
request POST /atomic '{"checks":[{"key":["by_n",1,11],"versionstamp":null}],"mutations":[{"type":"sum","key":["by_n",1,11],"value":1}]}'
expect 200
gives .count 2 GET /count?prefix=by_n
gives .deleted 2 DELETE '/list?prefix=by_n'

test_case 'the name of a dropped index can be declared again, at once and differently'
answers 204 DELETE /indexes/by_u
request POST /indexes '{"name":"by_u","prefix":["e"],"fields":["/n"]}'
[ "$status" = 202 ] || expect 201
until_field .state ready GET /indexes/by_u
field '[.unique, .entries]' '[false,5000]'
gives .count 500 GET '/count?index=by_u&prefix==3'
gives '.entries[0].key' '["by_u",0,0]' GET '/list?prefix=by_u&limit=1'

test_case 'a unique value is free when the index is gone'
request POST /indexes '{"name":"only","prefix":["o"],"fields":["/v"],"unique":true}'
request PUT /kv/o/1 '{"v":1}'
answers 409 unique-violation PUT /kv/o/2 '{"v":1}'
request DELETE /indexes/only
answers 201 PUT /kv/o/2 '{"v":1}'

test_case 'rows of a dropped index do not come back after a restart'
request DELETE /indexes/by_u
stop_server
start_server
gives .count 5002 GET /count
gives .indexes '[]' GET /indexes
answers 201 POST /indexes '{"name":"by_u","prefix":["none"],"fields":["/n"]}'
gives .count 0 GET /count?prefix=by_u

finish
