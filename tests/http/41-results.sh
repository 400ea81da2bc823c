#!/bin/bash
# Writes that return entries: "return" in /atomic, and Prefer on one entry.
. "$(dirname "$0")/../lib/http.sh"
start_server

tell=(--header 'Prefer: return=representation')

test_case 'old is before the commit and new after it, for all mutations of a key'
request PUT /kv/n 5
before=$(value .versionstamp)
request POST /atomic '{"mutations":[
    {"type":"sum","key":["n"],"value":1,"return":"old"},
    {"type":"sum","key":["n"],"value":2,"return":"new"},
    {"type":"set","key":["other"],"value":1},
    {"type":"max","key":["n"],"value":100,"return":"new"},
    {"type":"patch","key":["p"],"value":{"a":1},"return":"new"},
    {"type":"min","key":["m"],"value":3,"return":"old"},
    {"type":"delete","key":["other"],"return":"new"}]}'
expect 200
stamp=$(value .versionstamp)
field '.results | length' 7
field '.results[0]' "{\"key\":[\"n\"],\"value\":5,\"versionstamp\":\"$before\"}"
field '.results[1]' "{\"key\":[\"n\"],\"value\":100,\"versionstamp\":\"$stamp\"}"
field '.results[2]' null
field '.results[3] == .results[1]' true
field '.results[4]' "{\"key\":[\"p\"],\"value\":{\"a\":1},\"versionstamp\":\"$stamp\"}"
field '.results[5]' '{"key":["m"],"value":null,"versionstamp":null}'
field '.results[6]' '{"key":["other"],"value":null,"versionstamp":null}'

test_case 'get and delete is one request'
request POST /atomic '{"mutations":[{"type":"delete","key":["n"],"return":"old"}]}'
field '.results[0].value' 100
request GET /kv/n
expect 404

test_case 'a commit that asks for nothing has no results'
request POST /atomic '{"mutations":[{"type":"set","key":["n"],"value":1}]}'
field 'has("results")' false

test_case 'a key with the versionstamp is told, typed values and expiry as well'
request POST /atomic '{"mutations":[
    {"type":"set","key":["log"],"value":1,"suffix":"versionstamp","return":"new"},
    {"type":"set","key":["u"],"typed":{"type":"KvU64","value":"7"},"expiresAt":4000000000000,"return":"new"}]}'
stamp=$(value .versionstamp)
field '.results[0].key' "[\"log\",\"$stamp\"]"
field '.results[1]' "{\"key\":[\"u\"],\"typed\":{\"type\":\"KvU64\",\"value\":\"7\"},\"versionstamp\":\"$stamp\",\"expiresAt\":4000000000000}"

test_case 'a dry run returns what would be, with null for its versionstamp'
request POST /atomic '{"dry":true,"mutations":[{"type":"sum","key":["n"],"value":1,"return":"new"},{"type":"set","key":["log"],"value":1,"suffix":"versionstamp","return":"new"}]}'
field '.results' '[{"key":["n"],"value":2,"versionstamp":null},{"key":["log"],"value":1,"versionstamp":null}]'
request GET /kv/n
body_is 1

test_case 'an entry of an index is returned as it is shown'
request POST /indexes '{"name":"by_x","prefix":["i"],"fields":["/x"]}'
until_status 200 GET /list?index=by_x
request POST /atomic '{"mutations":[{"type":"set","key":["i","k"],"value":{"x":1}},{"type":"set","key":["by_x",1,"k"],"value":"k","return":"new"}]}'
expect 200
field '.results[1].value' k
request POST /atomic '{"mutations":[{"type":"delete","key":["i","k"]},{"type":"delete","key":["by_x",1,"k"],"return":"old"}]}'
field '.results[1].value' k

test_case 'a refused commit returns nothing but its problem'
request POST /atomic '{"mutations":[{"type":"set","key":["n"],"value":2,"return":"new"},{"type":"sum","key":["p"],"value":1}]}'
expect 409 type-mismatch
field 'has("results")' false

test_case 'return is old or new'
request POST /atomic '{"mutations":[{"type":"set","key":["n"],"value":2,"return":"both"}]}'
expect 400 bad-request
field .pointer /mutations/0/return

test_case 'results of more than 8 MiB, and one more, are refused before anything is stored'
{ printf '"'; head -c 999998 /dev/zero | tr '\0' x; printf '"'; } >"$work/large"
for i in 0 1 2 3 4 5 6 7 8 9; do
    request PUT "/kv/large/=$i" "@$work/large" -H 'Content-Type: application/json'
done
take() { # COUNT
    jq -nc --argjson n "$1" '{mutations: [range($n) | {type: "delete", key: ["large", .], return: "old"}]}'
}
request POST /atomic "$(take 10)"
expect 413 commit-too-large
request GET /count?prefix=large
field .count 10
request POST /atomic "$(take 9)"
expect 200
field '[.results[].value | length] | add' $((9 * 999998))
request GET /count?prefix=large
field .count 1

test_case 'PUT, PATCH and POST return the entry as a GET shows it'
request PUT /kv/doc '{ "a": 1 }' "${tell[@]}"
expect 201
header Preference-Applied return=representation
body_is '{ "a": 1 }'
tag=$(header_value ETag)
request GET /kv/doc
header ETag "$tag"
request PATCH /kv/doc '{"b":2}' "${tell[@]}" -H 'Content-Type: application/merge-patch+json'
expect 200
field . '{"a":1,"b":2}'
request PUT /kv/bytes 'abc' "${tell[@]}" -H 'Content-Type: text/plain'
expect 201
header Content-Type text/plain
body_is abc
request PUT /kv/typed '{"type":"bigint","value":"7"}' "${tell[@]}" -H 'Content-Type: application/vnd.kindex.typed+json'
header Content-Type application/vnd.kindex.typed+json
field .value 7
request POST /kv/events '{"e":1}' "${tell[@]}"
expect 201
body_is '{"e":1}'
request GET "$(header_value Location)"
body_is '{"e":1}'

test_case 'a condition that fails returns no entry, and one that the write makes false does not matter'
request PUT /kv/doc 1 "${tell[@]}" --header 'If-Match: "00000000000000010000"'
expect 412 precondition-failed
request PUT /kv/created 1 "${tell[@]}" --header 'If-None-Match: *'
expect 201
body_is 1
request DELETE /kv/created '' "${tell[@]}" --header 'If-Match: *'
expect 200
body_is 1
stop_server

test_case 'results need the right to read, which is asked for before anything is compared'
(umask 077 && "$KINDEX" token generate >"$work/token")
start_server --token-file "$work/token"
admin=$(<"$work/token")
request POST /tokens '{"name":"writer","grants":[{"scopes":["write"],"prefix":["doc"]}]}' --oauth2-bearer "$admin"
expect 201
writer=$(value .token)
for method in PUT DELETE; do
    body=1
    [ $method = PUT ] || body=
    request $method /kv/doc "$body" --oauth2-bearer "$writer" "${tell[@]}" --header 'If-Match: "00000000000000010000"'
    expect 403 forbidden
done
request POST /kv/doc 1 --oauth2-bearer "$writer" "${tell[@]}"
expect 403 forbidden
request POST /atomic '{"mutations":[{"type":"delete","key":["doc"],"return":"old"}]}' --oauth2-bearer "$writer"
expect 403 forbidden
request GET /kv/doc '' --oauth2-bearer "$admin"
expect 200
request PUT /kv/doc 2 --oauth2-bearer "$writer"
expect 200

finish
