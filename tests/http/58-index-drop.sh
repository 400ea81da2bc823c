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

test_case 'what a dropped index held is gone with the answer'
request GET /count?prefix=by_n
field .count 5000
request DELETE /indexes/by_n
expect 204
request GET /count?prefix=by_n
field .count 0
request GET /list?prefix=by_n
field .entries '[]'
request GET /kv/by_n/=1/=1
expect 404 key-not-found
request GET /indexes/by_n
expect 404 index-not-found
request GET /list?index=by_n
expect 404 index-not-found
request GET /count
field .count 10000
request DELETE /indexes/by_n
expect 404 index-not-found

test_case 'its keys can be used as any other, at once'
request PUT /kv/by_n/=1/=1 '"mine"'
expect 201
request GET /list?prefix=by_n
field '[.entries[].value]' '["mine"]'
request POST /atomic '{"checks":[{"key":["by_n",1,11],"versionstamp":null}],"mutations":[{"type":"sum","key":["by_n",1,11],"value":1}]}'
expect 200
request GET /count?prefix=by_n
field .count 2
request DELETE '/list?prefix=by_n'
field .deleted 2

test_case 'its name can be declared again, at once and differently'
request DELETE /indexes/by_u
expect 204
request POST /indexes '{"name":"by_u","prefix":["e"],"fields":["/n"]}'
[ "$status" = 202 ] || expect 201
until_field .state ready GET /indexes/by_u
field '[.unique, .entries]' '[false,5000]'
request GET '/count?index=by_u&prefix==3'
field .count 500
request GET '/list?prefix=by_u&limit=1'
field '.entries[0].key' '["by_u",0,0]'

test_case 'a unique value is free when the index is gone'
request POST /indexes '{"name":"only","prefix":["o"],"fields":["/v"],"unique":true}'
request PUT /kv/o/1 '{"v":1}'
request PUT /kv/o/2 '{"v":1}'
expect 409 unique-violation
request DELETE /indexes/only
request PUT /kv/o/2 '{"v":1}'
expect 201

test_case 'nothing of it comes back after a restart'
request DELETE /indexes/by_u
stop_server
start_server
request GET /count
field .count 5002
request GET /indexes
field .indexes '[]'
request POST /indexes '{"name":"by_u","prefix":["none"],"fields":["/n"]}'
expect 201
request GET /count?prefix=by_u
field .count 0

finish
