#!/bin/bash
# Writes that return entries: "return" in /atomic, and Prefer on one entry.
. "$(dirname "$0")/../lib/http.sh"
start_server

tell=(--header 'Prefer: return=representation')

test_case 'results have old from before the commit and new from after it, for all mutations of a key'
request PUT /kv/n 5
before=$(value .versionstamp)
answers 200 POST /atomic '{"mutations":[
    {"type":"sum","key":["n"],"value":1,"return":"old"},
    {"type":"sum","key":["n"],"value":2,"return":"new"},
    {"type":"set","key":["other"],"value":1},
    {"type":"max","key":["n"],"value":100,"return":"new"},
    {"type":"patch","key":["p"],"value":{"a":1},"return":"new"},
    {"type":"min","key":["m"],"value":3,"return":"old"},
    {"type":"delete","key":["other"],"return":"new"}]}'
stamp=$(value .versionstamp)
field '.results | length' 7
field '.results[0]' "{\"key\":[\"n\"],\"value\":5,\"versionstamp\":\"$before\"}"
field '.results[1]' "{\"key\":[\"n\"],\"value\":100,\"versionstamp\":\"$stamp\"}"
field '.results[2]' null
field '.results[3] == .results[1]' true
field '.results[4]' "{\"key\":[\"p\"],\"value\":{\"a\":1},\"versionstamp\":\"$stamp\"}"
field '.results[5]' '{"key":["m"],"value":null,"versionstamp":null}'
field '.results[6]' '{"key":["other"],"value":null,"versionstamp":null}'

test_case 'one commit returns an entry and deletes it'
gives '.results[0].value' 100 POST /atomic '{"mutations":[{"type":"delete","key":["n"],"return":"old"}]}'
answers 404 GET /kv/n

test_case 'a commit without return has no results'
gives 'has("results")' false POST /atomic '{"mutations":[{"type":"set","key":["n"],"value":1}]}'

test_case 'a result has the generated key, the typed value and the expiry'
request POST /atomic '{"mutations":[
    {"type":"set","key":["log"],"value":1,"suffix":"versionstamp","return":"new"},
    {"type":"set","key":["u"],"typed":{"type":"KvU64","value":"7"},"expiresAt":4000000000000,"return":"new"}]}'
stamp=$(value .versionstamp)
field '.results[0].key' "[\"log\",\"$stamp\"]"
field '.results[1]' "{\"key\":[\"u\"],\"typed\":{\"type\":\"KvU64\",\"value\":\"7\"},\"versionstamp\":\"$stamp\",\"expiresAt\":4000000000000}"

test_case 'a dry commit returns the new values, with null for the versionstamp'
request POST /atomic '{"dry":true,"mutations":[{"type":"sum","key":["n"],"value":1,"return":"new"},{"type":"set","key":["log"],"value":1,"suffix":"versionstamp","return":"new"}]}'
field '.results' '[{"key":["n"],"value":2,"versionstamp":null},{"key":["log"],"value":1,"versionstamp":null}]'
request GET /kv/n
body_is 1

test_case 'a result of an index entry has the form in which it is shown'
request POST /indexes '{"name":"by_x","prefix":["i"],"fields":["/x"]}'
until_status 200 GET /list?index=by_x
request POST /atomic '{"mutations":[{"type":"set","key":["i","k"],"value":{"x":1}},{"type":"set","key":["by_x",1,"k"],"value":"k","return":"new"}]}'
expect 200
field '.results[1].value' k
request POST /atomic '{"mutations":[{"type":"delete","key":["i","k"]},{"type":"delete","key":["by_x",1,"k"],"return":"old"}]}'
field '.results[1].value' k

test_case 'a refused commit has no results'
request POST /atomic '{"mutations":[{"type":"set","key":["n"],"value":2,"return":"new"},{"type":"sum","key":["p"],"value":1}]}'
expect 409 type-mismatch
field 'has("results")' false

test_case 'return is refused unless it is old or new'
answers 400 bad-request POST /atomic '{"mutations":[{"type":"set","key":["n"],"value":2,"return":"both"}]}'
field .pointer /mutations/0/return

test_case 'a commit with results of more than 8 MiB is refused before anything is stored'
{ printf '"'; head -c 999998 /dev/zero | tr '\0' x; printf '"'; } >"$work/large"
for i in 0 1 2 3 4 5 6 7 8 9; do
    request PUT "/kv/large/=$i" "@$work/large" -H 'Content-Type: application/json'
done
take() { # COUNT
    jq -nc --argjson n "$1" '{mutations: [range($n) | {type: "delete", key: ["large", .], return: "old"}]}'
}
answers 413 commit-too-large POST /atomic "$(take 10)"
gives .count 10 GET /count?prefix=large
answers 200 POST /atomic "$(take 9)"
field '[.results[].value | length] | add' $((9 * 999998))
gives .count 1 GET /count?prefix=large

test_case 'PUT, PATCH and POST with return=representation return the entry as GET shows it'
answers 201 PUT /kv/doc '{ "a": 1 }' "${tell[@]}"
header Preference-Applied return=representation
body_is '{ "a": 1 }'
tag=$(header_value ETag)
request GET /kv/doc
header ETag "$tag"
answers 200 PATCH /kv/doc '{"b":2}' "${tell[@]}" -H 'Content-Type: application/merge-patch+json'
field . '{"a":1,"b":2}'
answers 201 PUT /kv/bytes 'abc' "${tell[@]}" -H 'Content-Type: text/plain'
header Content-Type text/plain
body_is abc
request PUT /kv/typed '{"type":"bigint","value":"7"}' "${tell[@]}" -H 'Content-Type: application/vnd.kindex.typed+json'
header Content-Type application/vnd.kindex.typed+json
field .value 7
answers 201 POST /kv/events '{"e":1}' "${tell[@]}"
body_is '{"e":1}'
request GET "$(header_value Location)"
body_is '{"e":1}'

test_case 'a refused condition returns no entry, and a condition that only the write breaks does not matter'
answers 412 precondition-failed PUT /kv/doc 1 "${tell[@]}" --header 'If-Match: "00000000000000010000"'
answers 201 PUT /kv/created 1 "${tell[@]}" --header 'If-None-Match: *'
body_is 1
answers 200 DELETE /kv/created '' "${tell[@]}" --header 'If-Match: *'
body_is 1
stop_server

test_case 'results need the right to read, which is checked before anything is compared'
(umask 077 && "$KINDEX" token generate >"$work/token")
start_server --token-file "$work/token"
admin=$(<"$work/token")
answers 201 POST /tokens '{"name":"writer","grants":[{"scopes":["write"],"prefix":["doc"]}]}' --oauth2-bearer "$admin"
writer=$(value .token)
for method in PUT DELETE; do
    body=1
    [ $method = PUT ] || body=
    request $method /kv/doc "$body" --oauth2-bearer "$writer" "${tell[@]}" --header 'If-Match: "00000000000000010000"'
    expect 403 forbidden
done
answers 403 forbidden POST /kv/doc 1 --oauth2-bearer "$writer" "${tell[@]}"
request POST /atomic '{"mutations":[{"type":"delete","key":["doc"],"return":"old"}]}' --oauth2-bearer "$writer"
expect 403 forbidden
answers 200 GET /kv/doc '' --oauth2-bearer "$admin"
answers 200 PUT /kv/doc 2 --oauth2-bearer "$writer"

finish
