#!/bin/bash
# The story of Deno's guide to secondary indexes, with pointer indexes: what
# its functions keep by hand, the service keeps by declaration.
. "$(dirname "$0")/../lib/http.sh"
start_server

test_case 'users are unique by email, and found by their favourite colour'
request POST /indexes '{"name":"users_by_email","prefix":["users"],"fields":[{"path":"/email","fold":"lower"}],"unique":true,"store":"pointer"}'
expect 201
field .state ready
header Location /indexes/users_by_email
answers 201 POST /indexes '{"name":"users_by_favorite_color","prefix":["users"],"fields":["/favoriteColor"]}'

test_case 'insertUser of the guide is one PUT that does not replace'
request PUT /kv/users/ada '{"id":"ada","name":"Ada","email":"Ada@x.org","favoriteColor":"blue"}' -H 'If-None-Match: *'
expect 201
ada=$(value .versionstamp)
request PUT /kv/users/bob '{"id":"bob","name":"Bob","email":"bob@x.org","favoriteColor":"green"}' -H 'If-None-Match: *'
expect 201
request PUT /kv/users/carl '{"id":"carl","name":"Carl","email":"carl@x.org","favoriteColor":"blue"}' -H 'If-None-Match: *'
expect 201

test_case 'index entries are keys like any other, in the shape of the guide'
answers 200 GET /kv/users_by_email/ada@x.org
body_is '"ada"'
header ETag "\"$ada\""
request GET /list?prefix=users_by_email
field '[.entries[] | [.key[1], .value]]' '[["ada@x.org","ada"],["bob@x.org","bob"],["carl@x.org","carl"]]'
request GET /list?prefix=users_by_favorite_color
field '[.entries[] | [.key[1:][], .value]]' '[["blue","ada","ada"],["blue","carl","carl"],["green","bob","bob"]]'

test_case 'a second user with the same email is refused, with the entry that has it'
answers 409 unique-violation PUT /kv/users/eve '{"id":"eve","name":"Eve","email":"ADA@X.ORG"}'
field .index users_by_email
field .value '["ada@x.org"]'
field .existingKey '["users","ada"]'
field .attemptedKey '["users","eve"]'
field .mutation 0
answers 404 GET /kv/users/eve
request GET /kv/users_by_email/ada@x.org
body_is '"ada"'

test_case 'a unique violation in a commit names its mutation, and nothing is stored'
answers 409 unique-violation POST /atomic '{"mutations":[
    {"type":"set","key":["log"],"value":1},
    {"type":"set","key":["users","dan"],"value":{"email":"dan@x.org"}},
    {"type":"set","key":["users","eve"],"value":{"email":"bob@x.org"}}]}'
field '[.mutation, .existingKey, .attemptedKey]' '[2,["users","bob"],["users","eve"]]'
request POST /get '{"keys":[["log"],["users","dan"],["users_by_email","dan@x.org"]]}'
field '[.entries[].versionstamp]' '[null,null,null]'

test_case 'two new users with the same email in one commit violate it too'
answers 409 unique-violation POST /atomic '{"mutations":[
    {"type":"set","key":["users","x"],"value":{"email":"same@x.org"}},
    {"type":"set","key":["users","y"],"value":{"email":"SAME@x.org"}}]}'
field '.existingKey != .attemptedKey' true

test_case 'getUserByEmail of the guide is one request that returns the user'
answers 200 GET /indexes/users_by_email/get/ada@x.org
field .name Ada
header ETag "\"$ada\""
header Content-Location /kv/users/ada
answers 304 GET /indexes/users_by_email/get/ada@x.org '' -H "If-None-Match: \"$ada\""
header Content-Location /kv/users/ada
gives .name Bob GET /indexes/users_by_email/get '' --url-query 'key=["bob@x.org"]'
answers 404 key-not-found GET /indexes/users_by_email/get/zoe@x.org
field .detail 'Index users_by_email has no entry for ["zoe@x.org"].'
answers 304 GET /indexes/users_by_email/get/ada@x.org '' -H "If-None-Match: \"$ada\""
answers 200 HEAD /indexes/users_by_email/get/ada@x.org

test_case 'a look-up folds the value as the index declares'
answers 200 GET /indexes/users_by_email/get/ADA@x.org
field .name Ada

test_case 'getUsersByFavoriteColor of the guide is one list, in the order of the index'
answers 200 GET '/list?index=users_by_favorite_color&prefix=blue'
field '[.entries[] | [.key, .value.name]]' '[[["users","ada"],"Ada"],[["users","carl"],"Carl"]]'
field '.entries[0].versionstamp' "$ada"
gives '[.entries[].value.name]' '["Bob","Carl","Ada"]' GET '/list?index=users_by_favorite_color&reverse=true'
gives '[.entries[].value.name]' '["Bob"]' GET '/list?index=users_by_favorite_color&start=c'
gives '[.entries[].value.name]' '["Ada","Carl"]' GET '/list?index=users_by_favorite_color&end=c'
gives .entries '[]' GET '/list?index=users_by_favorite_color&prefix=pink'
request GET '/list?index=users_by_favorite_color&prefix=blue' '' -H 'Accept: application/x-ndjson'
is 'the names' "$(jq -r 'select(.key) | .value.name' "$answer" | xargs)" 'Ada Carl'
gives .count 2 GET '/count?index=users_by_favorite_color&prefix=blue'

test_case 'a change of the email moves its index entry'
answers 200 PATCH /kv/users/ada '{"email":"ada@y.org"}'
answers 404 GET /kv/users_by_email/ada@x.org
gives .name Ada GET /indexes/users_by_email/get/ada@y.org
answers 201 PUT /kv/users/eve '{"id":"eve","name":"Eve","email":"ada@x.org"}'
answers 204 DELETE /kv/users/eve

test_case 'a change of another field does not touch the pointer'
request GET /kv/users_by_email/ada@y.org
tag=$(header_value ETag)
answers 200 PATCH /kv/users/ada '{"name":"Ada Lovelace"}'
request GET /kv/users_by_email/ada@y.org
header ETag "$tag"
gives .name 'Ada Lovelace' GET /indexes/users_by_email/get/ada@y.org

test_case "a change of the letters' case keeps the email of its owner"
answers 200 PATCH /kv/users/ada '{"email":"Ada@Y.org"}'
request GET /kv/users_by_email/ada@y.org
header ETag "$tag"

test_case 'a check of a key of the index guards its entry'
request GET /kv/users_by_email/ada@y.org
stamp=$(tr -d '"' <<<"$tag")
request POST /atomic "{\"checks\":[{\"key\":[\"users_by_email\",\"ada@y.org\"],\"versionstamp\":\"$stamp\"},{\"key\":[\"users_by_email\",\"free@x.org\"],\"versionstamp\":null}],\"mutations\":[]}"
expect 200

test_case 'deleteUser of the guide is one DELETE: its index entries go with it'
answers 204 DELETE /kv/users/ada
answers 404 GET /kv/users_by_email/ada@y.org
answers 404 key-not-found GET /indexes/users_by_email/get/ada@y.org
gives '[.entries[].value.name]' '["Carl"]' GET '/list?index=users_by_favorite_color&prefix=blue'
answers 201 PUT /kv/users/ada2 '{"email":"ada@y.org"}'

test_case "the guide's own insertUser, which writes both keys, runs unchanged"
answers 200 POST /atomic '{
    "checks":[{"key":["users","zoe"],"versionstamp":null},{"key":["users_by_email","zoe@x.org"],"versionstamp":null}],
    "mutations":[
        {"type":"set","key":["users","zoe"],"value":{"id":"zoe","email":"Zoe@x.org","favoriteColor":"red"}},
        {"type":"set","key":["users_by_email","zoe@x.org"],"value":"zoe"},
        {"type":"set","key":["users_by_favorite_color","red","zoe"],"value":"zoe"}]}'
gives .id zoe GET /indexes/users_by_email/get/zoe@x.org

test_case "the guide's own deleteUser runs unchanged"
request GET /kv/users/zoe
stamp=$(header_value ETag | tr -d '"')
answers 200 POST /atomic "{
    \"checks\":[{\"key\":[\"users\",\"zoe\"],\"versionstamp\":\"$stamp\"}],
    \"mutations\":[{\"type\":\"delete\",\"key\":[\"users\",\"zoe\"]},{\"type\":\"delete\",\"key\":[\"users_by_email\",\"zoe@x.org\"]}]}"
gives .entries '[]' GET '/list?index=users_by_favorite_color&prefix=red'

test_case 'the indexes of the guide survive a restart'
stop_server
start_server
gives '[.state, .unique, .entries]' '["ready",true,3]' GET /indexes/users_by_email
gives .name Bob GET /indexes/users_by_email/get/bob@x.org
answers 409 unique-violation PUT /kv/users/eve '{"email":"BOB@x.org"}'

finish
