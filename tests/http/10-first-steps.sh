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
field .version 0.1.0

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
