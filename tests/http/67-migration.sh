#!/bin/bash
# PATCH gives an index another declaration, while it is read and written:
# the old form stays until the new one is there, and no answer is wrong, missing
# or stale meanwhile.
. "$(dirname "$0")/../lib/http.sh"
start_server

for i in {0..4}; do
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(1000) | {type: "set", key: ["u", . + 1000 * $i],
        value: {email: "user\(. + 1000 * $i)@x.org", n: 0}}]}')"
done
request POST /indexes '{"name":"by_email","prefix":["u"],"fields":["/email"],"unique":true}'
until_field .state ready GET /indexes/by_email

# Reads two entries by way of the index until there is a file $work/stop: one
# that no client changes, and one that it has just written.
watch_answers() {
    local n=0 got stamp
    while [ ! -e "$work/stop" ]; do
        n=$((n + 1))
        stamp=$(curl -s -X PUT "$url/kv/u/=77" -d "{\"email\":\"user77@x.org\",\"n\":$n}")
        stamp=${stamp##*\"versionstamp\":\"}
        expect_answer 'prefix=user77@x.org' "{\"entries\":[{\"key\":[\"u\",77],\"value\":{\"email\":\"user77@x.org\",\"n\":$n},\"versionstamp\":\"${stamp%%\"*}\"}],\"cursor\":null}"
        got=$(curl -s "$url/list?index=by_email&prefix=user4321@x.org")
        [[ $got == '{"entries":[{"key":["u",4321],"value":{"email":"user4321@x.org","n":0},"versionstamp":"'*'"}],"cursor":null}' ]] ||
            echo "$got" >>"$work/wrong"
        echo "$n" >"$work/answers"
    done
}

expect_answer() {
    local got
    got=$(curl -s "$url/list?index=by_email&$1")
    [ "$got" = "$2" ] || echo "$got instead of $2" >>"$work/wrong"
}

# The count is rewritten each time: for a moment the file is empty.
answered() { [ "$(cat "$work/answers")" -ge "$1" ] 2>"$work/null"; }

# migrate PATCH: the answer is 202 while it runs. However short that is, some
# answers lie between it and the next one.
migrate() {
    awaited=$((awaited + 3))
    wait_until answered "$awaited"
    request PATCH /indexes/by_email "$1"
    [ "$status" = 202 ] || expect 200
    until_field .state ready GET /indexes/by_email
    field .entries 5000
}

row_is() {
    request GET '/list?start=by_email/user4321@x.org&end=by_email/user4322@x.org'
    field '[.entries[] | [.key, .value]]' "[$1]"
}

whole='{"email":"user4321@x.org","n":0}'
touch "$work/wrong"
echo 0 >"$work/answers"
awaited=0
watch_answers &
watcher=$!

test_case 'pointers become copies'
row_is '[["by_email","user4321@x.org"],4321]'
migrate '{"store":"value"}'
field .store value
row_is "[[\"by_email\",\"user4321@x.org\"],$whole]"
request GET /indexes/by_email/get/user4321@x.org
field .n 0

test_case 'copies become some of the members'
migrate '{"store":{"fields":["/n"]}}'
field .store '{"fields":["/n"]}'
row_is '[["by_email","user4321@x.org"],{"n":0}]'
request GET /indexes/by_email/get/user4321@x.org
body_is "$whole"

test_case 'an index ceases to be unique'
migrate '{"unique":false}'
row_is '[["by_email","user4321@x.org",4321],{"n":0}]'
request GET /indexes/by_email/get/user4321@x.org
expect 409 index-not-unique

test_case 'and becomes unique again, with pointers'
migrate '{"unique":true,"store":null}'
row_is '[["by_email","user4321@x.org"],4321]'
request GET /indexes/by_email/get/user4321@x.org
header Content-Location /kv/u/=4321

test_case 'every form from every other'
for patch in '{"store":"value","unique":false}' '{"store":"pointer"}' \
    '{"store":{"fields":["/email"]}}' '{"store":{"fields":["/n"]}}' \
    '{"store":"value"}' '{"store":"pointer","unique":true}'; do
    migrate "$patch"
done
row_is '[["by_email","user4321@x.org"],4321]'

test_case 'all that time no answer was wrong, missing or stale'
touch "$work/stop"
wait $watcher
is 'the wrong answers' "$(head -3 "$work/wrong")" ''
is 'many answers' "$(answered "$awaited" && echo yes)" yes

test_case 'the same again is no change'
request PATCH /indexes/by_email '{"store":"pointer","name":"by_email"}' -H 'Content-Type: application/merge-patch+json'
expect 200
field .state ready
request PATCH /indexes/by_email '{}'
expect 200

test_case 'while it migrates the index shows its old form, where it goes, and how far it is'
request POST /indexes/by_email/pause
request PATCH /indexes/by_email '{"store":"value"}'
expect 202
field '[.state, .store, .migration.state, .migration.to]' '["migrating","pointer","building",{"unique":true,"store":"value"}]'
field '.migration.build | [.done, .total]' '[0,5000]'
row_is '[["by_email","user4321@x.org"],4321]'
request PUT /kv/u/=4321 '{"email":"user4321@x.org","n":1}'
request GET /indexes/by_email/get/user4321@x.org
field .n 1
row_is '[["by_email","user4321@x.org"],4321]'
request PATCH /indexes/by_email '{"store":"value"}'
expect 202

test_case 'another migration has to wait'
request PATCH /indexes/by_email '{"unique":false}'
expect 409 index-migrating
field .index by_email

test_case 'a migration is taken back'
request DELETE /indexes/by_email/migration
expect 200
field '[.state, .store, has("migration")]' '["ready","pointer",false]'
row_is '[["by_email","user4321@x.org"],4321]'
request DELETE /indexes/by_email/migration
expect 404 no-migration
request PATCH /indexes/by_email '{"unique":false}'
expect 202
request DELETE /indexes/by_email/migration
field '[.state, .unique]' '["ready",true]'
row_is '[["by_email","user4321@x.org"],4321]'

test_case 'a migration continues after a restart'
request PATCH /indexes/by_email '{"store":"value"}'
expect 202
stop_server
start_server
request GET /indexes/by_email
field '[.state, .store]' '["migrating","pointer"]'
request POST /indexes/by_email/resume
until_field .store value GET /indexes/by_email
row_is '[["by_email","user4321@x.org"],{"email":"user4321@x.org","n":1}]'

test_case 'a client that prefers to wait gets the index in its new form'
request PATCH /indexes/by_email '{"store":"pointer"}' -H 'Prefer: wait=30'
expect 200
field '[.state, .store]' '["ready","pointer"]'

test_case 'the name cannot be changed, and the result must be a declaration'
while IFS='|' read -r patch pointer; do
    request PATCH /indexes/by_email "$patch"
    expect 400 bad-index-definition
    is "the pointer for $patch" "$(value '.pointer // ""')" "$pointer"
done <<'END'
[]|
{"prefix":["by_email","x"]}|/prefix
{"fields":[]}|
{"name":"other"}|/name
{"depth":-1}|/depth
{"where":[{"path":"/n","greater":1}]}|/where/0/greater
{"missing":"wrong"}|/missing
{"store":"copy"}|/store
{"unique":1}|/unique
{"colour":1}|/colour
END
request PATCH /indexes/by_email '{"store":'
expect 400 bad-json
for type in text/plain application/json-patch+json; do
    request PATCH /indexes/by_email '[]' -H "Content-Type: $type"
    expect 415 unsupported-media-type
    header Accept-Patch 'application/json, application/merge-patch+json'
done
request PATCH /indexes/by_email?dry=1 '{}'
expect 400 unknown-parameter
request PATCH /indexes/nothing '{"unique":true}'
expect 404 index-not-found
request DELETE /indexes/nothing/migration
expect 404 index-not-found
request GET /indexes/by_email
field '[.state, .store, .unique]' '["ready","pointer",true]'

test_case 'duplicates stop a migration to unique: they are listed, and the old form stays'
request PUT /kv/d/1 '{"v":"same"}'
request PUT /kv/d/2 '{"v":"other"}'
request PUT /kv/d/3 '{"v":"same"}'
request POST /indexes '{"name":"by_v","prefix":["d"],"fields":["/v"]}'
until_field .state ready GET /indexes/by_v
request PATCH /indexes/by_v '{"unique":true}' -H "Prefer: wait=$patience"
expect 202
field '[.state, .unique, .migration.state, .build.etaSeconds]' '["migrating",false,"conflicted",null]'
is 'the end of the events' "$(curl -sN -m "$patience" -H 'Accept: text/event-stream' "$url/indexes/by_v" |
    grep -A1 '^event: settled' | sed -n 's/^data: //p' | jq -c .migration.state)" '"conflicted"'
request GET '/readyz?verbose=true'
field '.checks[] | select(.name == "indexes") | .state' warning
request GET /list?index=by_v
field '[.entries[].key[1]]' '["2","1","3"]'
request GET /indexes/by_v/conflicts
field '.conflicts | length' 1
field '.conflicts[0] | [.value, .keys]' '[["same"],[["d","1"],["d","3"]]]'
request PUT /kv/d/4 '{"v":"same"}'
expect 409 unique-violation

test_case 'and when the last one is resolved the index becomes unique'
request PATCH /kv/d/3 '{"v":"another"}'
expect 200
until_field .unique true GET /indexes/by_v
field .state ready
request GET /indexes/by_v/get/same
header Content-Location /kv/d/1

test_case 'a dropped index takes its migration along'
request POST /indexes/by_v/pause
request PATCH /indexes/by_v '{"unique":false,"store":"value"}'
expect 202
request DELETE /indexes/by_v
expect 204
request GET /indexes/by_v
expect 404 index-not-found
request PUT /kv/by_v/same 1
expect 201

finish
