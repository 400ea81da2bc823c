#!/bin/bash
# The same story with indexes that hold a copy of the value: one read finds it.
. "$(dirname "$0")/../lib/http.sh"
start_server

request POST /indexes '{"name":"users_by_email","prefix":["users"],"fields":["/email"],"unique":true,"store":"value"}'
request POST /indexes '{"name":"users_by_favorite_color","prefix":["users"],"fields":["/favoriteColor"],"store":"value"}'
ada='{"id":"ada", "name":"Ada", "email":"ada@x.org", "favoriteColor":"blue"}'
request PUT /kv/users/ada "$ada"
stamp=$(header_value ETag)
request PUT /kv/users/carl '{"id":"carl","name":"Carl","email":"carl@x.org","favoriteColor":"blue"}'

test_case 'each index entry that stores values holds the very bytes of the user'
answers 200 GET /kv/users_by_email/ada@x.org
body_is "$ada"
header ETag "$stamp"
request GET /kv/users_by_favorite_color/blue/ada
body_is "$ada"
request GET /indexes/users_by_email/get/ada@x.org
body_is "$ada"
header ETag "$stamp"
header Content-Location /kv/users/ada

test_case 'raw and resolved lists of copies give the users'
request GET /list?prefix=users_by_favorite_color/blue
field '[.entries[] | [.key[-1], .value.name]]' '[["ada","Ada"],["carl","Carl"]]'
request GET '/list?index=users_by_favorite_color&prefix=blue'
field '[.entries[] | [.key, .value.name]]' '[[["users","ada"],"Ada"],[["users","carl"],"Carl"]]'
gives '[.entries[].key]' '[["users","ada"],["users","carl"]]' GET '/list?index=users_by_favorite_color&keys=true'

test_case 'a change of any field changes the copies'
request PATCH /kv/users/ada '{"name":"Ada Lovelace"}'
new=$(header_value ETag)
request GET /kv/users_by_email/ada@x.org
header ETag "$new"
field .name 'Ada Lovelace'
request GET /kv/users_by_favorite_color/blue/ada
header ETag "$new"

test_case 'a change of the colour moves the copy'
request PATCH /kv/users/ada '{"favoriteColor":"green"}'
gives '[.entries[].key[1:]]' '[["blue","carl"],["green","ada"]]' GET /list?prefix=users_by_favorite_color

test_case 'a second user with the email is refused, and deletion frees the email'
answers 409 unique-violation PUT /kv/users/eve '{"email":"ada@x.org"}'
field '[.index, .value, .existingKey]' '["users_by_email",["ada@x.org"],["users","ada"]]'
answers 204 DELETE /kv/users/ada
answers 404 GET /kv/users_by_email/ada@x.org
answers 201 PUT /kv/users/eve '{"email":"ada@x.org"}'

test_case "the guide's own insertUser, which duplicates the value, runs unchanged"
bob='{"id":"bob","email":"bob@x.org","favoriteColor":"red"}'
answers 200 POST /atomic "{
    \"checks\":[{\"key\":[\"users\",\"bob\"],\"versionstamp\":null},{\"key\":[\"users_by_email\",\"bob@x.org\"],\"versionstamp\":null}],
    \"mutations\":[
        {\"type\":\"set\",\"key\":[\"users\",\"bob\"],\"value\":$bob},
        {\"type\":\"set\",\"key\":[\"users_by_email\",\"bob@x.org\"],\"value\": {\"favoriteColor\":\"red\", \"email\":\"bob@x.org\", \"id\":\"bob\"}},
        {\"type\":\"set\",\"key\":[\"users_by_favorite_color\",\"red\",\"bob\"],\"value\":$bob}]}"
request GET /kv/users_by_email/bob@x.org
body_is "$bob"

test_case 'a mistake in hand-kept index code is caught instead of stored'
answers 409 index-owned-key POST /atomic '{"mutations":[
    {"type":"set","key":["users","dan"],"value":{"email":"dan@x.org"}},
    {"type":"set","key":["users_by_email","dan@x.org"],"value":{"email":"DAN@x.org"}}]}'
field '[.index, .mutation, .key]' '["users_by_email",1,["users_by_email","dan@x.org"]]'
field .holds '{"email":"dan@x.org"}'
answers 404 GET /kv/users/dan

finish
