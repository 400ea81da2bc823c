#!/bin/bash
# What somebody does in the first five minutes.
. "$(dirname "$0")/../lib/http.sh"
start_server

test_case 'the service says what it is'
answers 200 GET /
field .name kindex
answers 200 GET /version
field .version 0.2.0

test_case 'a key that was never set is not found, with a hint about types'
answers 404 key-not-found GET /kv/users/ada
field .type /problems/key-not-found
field '.hint | test("=42")' true

test_case 'a first PUT creates'
answers 201 PUT /kv/users/ada '{"name":"Ada Lovelace", "born":1815}'
header Content-Type application/json
header ETag '"[0-9a-f]*"'
field .ok true
field '.versionstamp | test("^[0-9a-f]{20}$")' true
is 'the ETag' "$(header_value ETag)" "\"$(value .versionstamp)\""
first=$(header_value ETag)

test_case 'GET gives back the same bytes, with the versionstamp as its ETag'
answers 200 GET /kv/users/ada
body_is '{"name":"Ada Lovelace", "born":1815}'
header Content-Type application/json
header ETag "$first"

test_case 'a second PUT replaces, with a later versionstamp'
answers 200 PUT /kv/users/ada '{"name":"Ada"}'
second=$(header_value ETag)
is 'the order of the ETags' "$([[ $second > $first ]] && echo later)" later
request GET /kv/users/ada
body_is '{"name":"Ada"}'
header ETag "$second"

test_case 'HEAD is GET without the body'
answers 200 HEAD /kv/users/ada
header ETag "$second"
header Content-Type application/json
header Content-Length 14
body_is ''
answers 404 HEAD /kv/users/zoe
header Content-Type application/problem+json
body_is ''

test_case 'DELETE removes, whether or not there was something'
answers 204 DELETE /kv/users/ada
body_is ''
answers 404 key-not-found GET /kv/users/ada
answers 204 DELETE /kv/users/ada

test_case 'a DELETE that prefers it returns what was there, or 404'
tell=(--header 'Prefer: return=representation')
request PUT /kv/users/ada '{ "n": 1 }'
stored=$(header_value ETag)
answers 200 DELETE /kv/users/ada '' "${tell[@]}"
header Preference-Applied return=representation
header ETag "$stored"
body_is '{ "n": 1 }'
answers 404 key-not-found DELETE /kv/users/ada '' "${tell[@]}"
answers 204 DELETE /kv/users/ada '' --header 'Prefer: return=minimal'
header Preference-Applied ''
answers 412 precondition-failed DELETE /kv/users/ada '' "${tell[@]}" --header 'If-Match: *'

test_case 'a 404 names the list of the entries under the key, if it has any'
gives 'has("listedAt")' false GET /kv/team
request PUT /kv/team/ada 1
answers 404 key-not-found GET /kv/team
field .detail 'There is no entry ["team"], but there are entries under it: GET /list?prefix=team lists them.'
field .listedAt /list?prefix=team
gives '[.entries[].key]' '[["team","ada"]]' GET "$(value .listedAt)"
answers 404 HEAD /kv/team
answers 404 key-not-found DELETE /kv/team '' "${tell[@]}"
field .listedAt /list?prefix=team
request GET /kv/team/ada
body_is 1
request PUT /kv/team 2
answers 200 DELETE /kv/team '' "${tell[@]}"
body_is 2

test_case 'a 404 names no list when the entries under the key are gone'
request DELETE /kv/team/ada
answers 404 key-not-found GET /kv/team
field 'has("listedAt")' false
request PUT '/kv/team/bo?ttl=1ms' 1
request GET /kv/team
until [ "$(value .listedAt)" = null ]; do request GET /kv/team; done
field 'has("listedAt")' false

test_case 'the list that a 404 names has the entries under any key'
for key in '["a b","c"]' '["[1]"]' '["a/b"]' '[42,true]' '["="]' '["é"]' '[""]' '["+"]'; do
    encoded=$(jq -rn --argjson k "$key" '$k | tojson | @uri')
    under=$(jq -rn --argjson k "$key" '$k + ["x"] | tojson | @uri')
    request PUT "/kv?key=$under" 1
    answers 404 key-not-found GET "/kv?key=$encoded"
    request GET "$(value .listedAt)"
    field '[.entries[].key]' "[$(jq -cn --argjson k "$key" '$k + ["x"]')]"
done

test_case 'a key set again after its deletion has a later versionstamp'
answers 201 PUT /kv/users/ada 1
is 'the order of the ETags' "$([[ $(header_value ETag) > $second ]] && echo later)" later

test_case 'keys that begin alike are different keys'
answers 201 PUT /kv/users/ad 2
answers 201 PUT /kv/users 3
answers 201 PUT /kv/users/ada/address 4
request GET /kv/users/ada
body_is 1
request GET /kv/users
body_is 3

finish
