#!/bin/bash
# What somebody does in the first five minutes.
. "$(dirname "$0")/../lib/http.sh"
start_server

test_case 'the service says what it is'
request GET /
expect 200
field .name kindex
request GET /version
expect 200
field .version 0.2.0

test_case 'a key that was never set is not found, with a hint about types'
request GET /kv/users/ada
expect 404 key-not-found
field .type /problems/key-not-found
field '.hint | test("=42")' true

test_case 'a first PUT creates'
request PUT /kv/users/ada '{"name":"Ada Lovelace", "born":1815}'
expect 201
header Content-Type application/json
header ETag '"[0-9a-f]*"'
field .ok true
field '.versionstamp | test("^[0-9a-f]{20}$")' true
is 'the ETag' "$(header_value ETag)" "\"$(value .versionstamp)\""
first=$(header_value ETag)

test_case 'GET gives back the same bytes, with the versionstamp as its ETag'
request GET /kv/users/ada
expect 200
body_is '{"name":"Ada Lovelace", "born":1815}'
header Content-Type application/json
header ETag "$first"

test_case 'a second PUT replaces, with a later versionstamp'
request PUT /kv/users/ada '{"name":"Ada"}'
expect 200
second=$(header_value ETag)
is 'the order of the ETags' "$([[ $second > $first ]] && echo later)" later
request GET /kv/users/ada
body_is '{"name":"Ada"}'
header ETag "$second"

test_case 'HEAD is GET without the body'
request HEAD /kv/users/ada
expect 200
header ETag "$second"
header Content-Type application/json
header Content-Length 14
body_is ''
request HEAD /kv/users/zoe
expect 404
header Content-Type application/problem+json
body_is ''

test_case 'DELETE removes, whether or not there was something'
request DELETE /kv/users/ada
expect 204
body_is ''
request GET /kv/users/ada
expect 404 key-not-found
request DELETE /kv/users/ada
expect 204

test_case 'a DELETE that prefers it returns what was there, or 404'
tell=(--header 'Prefer: return=representation')
request PUT /kv/users/ada '{ "n": 1 }'
stored=$(header_value ETag)
request DELETE /kv/users/ada '' "${tell[@]}"
expect 200
header Preference-Applied return=representation
header ETag "$stored"
body_is '{ "n": 1 }'
request DELETE /kv/users/ada '' "${tell[@]}"
expect 404 key-not-found
request DELETE /kv/users/ada '' --header 'Prefer: return=minimal'
expect 204
header Preference-Applied ''
request DELETE /kv/users/ada '' "${tell[@]}" --header 'If-Match: *'
expect 412 precondition-failed

test_case 'where a key has nothing but entries under it that is said'
request GET /kv/team
field 'has("listedAt")' false
request PUT /kv/team/ada 1
request GET /kv/team
expect 404 key-not-found
field .detail 'There is no entry ["team"], but there are entries under it: GET /list?prefix=team lists them.'
field .listedAt /list?prefix=team
request GET "$(value .listedAt)"
field '[.entries[].key]' '[["team","ada"]]'
request HEAD /kv/team
expect 404
request DELETE /kv/team '' "${tell[@]}"
expect 404 key-not-found
field .listedAt /list?prefix=team
request GET /kv/team/ada
body_is 1
request PUT /kv/team 2
request DELETE /kv/team '' "${tell[@]}"
expect 200
body_is 2

test_case 'and no longer once they are deleted'
request DELETE /kv/team/ada
request GET /kv/team
expect 404 key-not-found
field 'has("listedAt")' false
request PUT '/kv/team/bo?ttl=1ms' 1
request GET /kv/team
until [ "$(value .listedAt)" = null ]; do request GET /kv/team; done
field 'has("listedAt")' false

test_case 'the list has the entries under the key, for any key'
for key in '["a b","c"]' '["[1]"]' '["a/b"]' '[42,true]' '["="]' '["é"]' '[""]' '["+"]'; do
    encoded=$(jq -rn --argjson k "$key" '$k | tojson | @uri')
    under=$(jq -rn --argjson k "$key" '$k + ["x"] | tojson | @uri')
    request PUT "/kv?key=$under" 1
    request GET "/kv?key=$encoded"
    expect 404 key-not-found
    request GET "$(value .listedAt)"
    field '[.entries[].key]' "[$(jq -cn --argjson k "$key" '$k + ["x"]')]"
done

test_case 'a key set again after its deletion has a later versionstamp'
request PUT /kv/users/ada 1
expect 201
is 'the order of the ETags' "$([[ $(header_value ETag) > $second ]] && echo later)" later

test_case 'keys that begin alike are different keys'
request PUT /kv/users/ad 2
expect 201
request PUT /kv/users 3
expect 201
request PUT /kv/users/ada/address 4
expect 201
request GET /kv/users/ada
body_is 1
request GET /kv/users
body_is 3

finish
